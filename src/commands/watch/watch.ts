/** `wfr watch`: waits for runs that already exist. */
import { findSources } from '../../config/profile.js';
import { resolveWaitSettings } from '../../config/resolve-setting.js';
import { collectUsageErrors } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { createUniqueNames, nameRun } from '../../output-documents/save-folder.js';
import type { Context } from '../../platform/context.js';
import { withoutJson } from '../../service/run.js';
import { toArgs } from '../../text/shell-quote.js';
import { countsText } from '../../view/summary.js';
import type { ShowFlags } from '../shared/output-flags.js';
import { openFolders } from '../shared/output-folders.js';
import { canResume, endWith, printMissing, printRunSteps } from '../shared/print-outcome.js';
import { printTable } from '../shared/print-run.js';
import type { RequestedReports } from '../shared/reports.js';
import { listRuns, planRuns, shortenKnown } from '../shared/run-ids.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { type WatchOutcome, watchAndShow } from '../shared/watch-run.js';

type WatchPlan = Awaited<ReturnType<typeof planWatch>>;

/** Runs the command. */
export function execute(rawIds: readonly string[], flags: ShowFlags, context: Context): Promise<Exit> {
  return runCommand(flags, [], context, async (resources) => {
    const plan = await planWatch(rawIds, flags, resources.reports, context);
    return watchAll(plan, await resources.openSession(plan));
  });
}

/** Validates a command line. Throws UsageError with every problem. */
async function planWatch(
  rawIds: readonly string[],
  flags: ShowFlags,
  reports: RequestedReports,
  context: Context,
) {
  const sources = await findSources(flags, context);
  const { runs, wait, folders } = await collectUsageErrors({
    runs: () => planRuns(rawIds, sources),
    wait: () => resolveWaitSettings(sources),
    folders: () => openFolders(flags, context),
    reports: reports.open,
  });
  const { ids, severalRuns } = runs;
  const { documents, outputs } = folders;
  const unique = createUniqueNames();
  // Runs end in any order; each gets the same folder and file whenever the command is repeated.
  const names = new Map(ids.map((id) => [id, unique(nameRun(id))]));
  const nameOf = (id: string) => names.get(id) ?? '';
  const folderOf = severalRuns ? nameOf : undefined;
  const savedFlags = (some: readonly string[]) => [
    ...toArgs({ saveOutputs: flags.saveOutputs }),
    ...(documents?.flagsFor(some, folderOf) ?? toArgs({ force: flags.force })),
  ];
  const saveOutput = outputs && ((id: string, output: Uint8Array) => outputs.saveOutput(nameOf(id), output));
  const subjects = ids.map((id) => ({ id }));
  return { ...runs, wait, documents, folderOf, savedFlags, saveOutput, subjects };
}

/** Watches all runs at the same time, and prints how each ended; of several also how all did. */
async function watchAll(plan: WatchPlan, session: Session): Promise<CommandOutcome> {
  const { ids, severalRuns, flags } = plan;
  const { reporter, interruption } = session;
  const listed = await listRuns(plan, session, severalRuns);
  await reporter.startProgress(listed);
  let runs: readonly WatchOutcome[] = await Promise.all(
    ids.map(async (id) => {
      const outcome = await watchAndShow({ id }, plan, session);
      if (flags.report) return outcome;
      return { ...outcome, run: outcome.run && withoutJson(outcome.run) };
    }),
  );
  if (severalRuns) {
    reporter.stopProgress();
    if (plan.format === 'text') runs = await printTable(listed, runs, session);
    if (!reporter.quiet) reporter.block([countsText(runs, reporter.style)]);
    printMissing(runs, reporter);
    const open = runs.filter(canResume);
    if (reporter.showsErrors) {
      const isLate = open.some(({ error }) => !error);
      const why = interruption.received ? 'Interrupted' : isLate && 'Timed out';
      if (why) reporter.block([`${why}; ${open.length} of ${ids.length} runs may still be running.`]);
    }
    printRunSteps(plan.saveOutput ? [] : runs, open, { ...plan, shorten: shortenKnown(listed) }, reporter);
  }
  return endWith(runs, plan);
}
