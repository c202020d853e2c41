/** `wfr status`: shows the current state of runs. */
import { findSources } from '../../config/profile.js';
import type { Exit } from '../../exit-code.js';
import { stateOfRun, statusText } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { hasEnded, isFinished, outputOf, type Run, withoutJson } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { sanitize } from '../../text/sanitize.js';
import { joinChunks } from '../../text/utf8.js';
import { countsText, durationText, LABEL_WIDTH, runSummary } from '../../view/summary.js';
import type { ListedRun } from '../../view/table.js';
import type { ShowFlags } from '../shared/output-flags.js';
import { endWith, printMissing, printRunSteps, watchCommand } from '../shared/print-outcome.js';
import { printRun, printTable } from '../shared/print-run.js';
import { printValue } from '../shared/print-value.js';
import { listRuns, planRuns, shortenKnown } from '../shared/run-ids.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { type WatchOutcome, watchRun, withRunTimes } from '../shared/watch-run.js';

export interface StatusFlags extends ShowFlags {
  exitStatus?: boolean;
}

type StatusPlan = Awaited<ReturnType<typeof planRuns<StatusFlags>>>;

/** Runs the command. */
export function execute(rawIds: readonly string[], flags: StatusFlags, context: Context): Promise<Exit> {
  return runCommand(flags, [], context, async (resources) => {
    const plan = await planRuns(rawIds, await findSources(flags, context));
    return pollAll(plan, await resources.openSession(plan));
  });
}

/** Time without a response after which stderr says what is being waited for (ms). */
const NOTICE_DELAY = 3_000;

/** Polls all runs concurrently, and prints them in the order of the command line; each is then forgotten. */
async function pollAll(plan: StatusPlan, session: Session): Promise<CommandOutcome> {
  const { service, reporter, history, stdout, layout } = session;
  const { pointer, format, flags, severalRuns } = plan;
  const polls = plan.ids.map((id) => {
    const place = service.openPlace();
    place.enter();
    const label = severalRuns ? id : undefined;
    return { place, outcome: watchRun({ id, label, place }, session) };
  });
  const cancelNotice = service.clock.after(NOTICE_DELAY, () => reporter.waitingFor(service.baseUrl.host));
  const listed = await listRuns(plan, session, format === 'text');
  const view = { ...plan, shorten: shortenKnown(listed) };
  const runs: WatchOutcome[] = [];
  try {
    while (polls[0]) {
      const outcome = await polls[0].outcome;
      if (polls.length === 1) cancelNotice();
      const shown = await show(outcome, listed[runs.length]);
      polls.shift()?.place.end();
      runs.push({ ...shown, run: shown.run && withoutJson(shown.run) });
    }
  } finally {
    // None waits for what is no longer printed.
    for (const { place } of polls) place.end();
  }
  const isTable = severalRuns && format === 'text';
  const shown = isTable ? await printTable(listed, runs, session) : runs;
  // A script that asks again and again needs no counts.
  if (isTable && reporter.live) reporter.block([countsText(runs, reporter.style)]);
  // Below the table, so that they are not in its way.
  for (const { id, error } of runs) {
    if (!error || error.code === 'no-such-run') continue;
    reporter.error(error, severalRuns);
    if (severalRuns && reporter.showsErrors) reporter.notice(`Run ${sanitize(id)} could not be read.`);
  }
  printMissing(runs, reporter);
  const open = runs.filter(({ run }) => run && !hasEnded(run));
  if (isTable && reporter.live) printRunSteps(runs, open, view, reporter);
  return endWith(shown, plan);

  /** Shows one run, and returns its outcome. Of several, `-o text` shows them later. Throws OutputError, and internal errors. */
  async function show(outcome: WatchOutcome, known: ListedRun | undefined): Promise<WatchOutcome> {
    const { id, run, error, thrown } = outcome;
    if (!run) {
      if (error?.code === 'internal') throw thrown;
      return outcome;
    }
    history.recordStatus({ ...run, baseUrl: service.baseUrl.href });
    let hasValue = true;
    if (pointer) {
      hasValue = await printValue(run, format, pointer, session);
      const problem = `is ${statusText(run)} and has no value at ${sanitize(pointer.text)}`;
      if (!hasValue) reporter.notice(`Run ${sanitize(id)} ${problem}.`);
    } else if (format !== 'text') await printRun(run, format, severalRuns, session);
    else if (!severalRuns) await printSummary(run, known);
    // It was read, which is what was asked for.
    const state = flags.exitStatus || !hasValue ? stateOfRun(run) : 'accepted';
    return { ...withRunTimes(outcome, service), state };
  }

  /** Prints all that is known of a run, with the beginning of its output, and how to see more. */
  async function printSummary(run: Run, { past, workflow }: Partial<ListedRun> = {}): Promise<void> {
    const [output, isCut] = isFinished(run) ? beginningOf(outputOf(run), layout.width) : [];
    const name = workflow ?? run.versionName;
    const detail = name === run.versionName ? past?.workflow : run.versionName;
    const more = {
      duration: durationText(past),
      label: past?.label,
      workflow: name && detail ? `${name} (${detail})` : (name ?? detail),
      output,
      page: plan.settings.pageOf(run.id),
    };
    await stdout.writeSummary(runSummary(run, more, service.clock.now(), layout));
    // A script that asks again and again needs no advice.
    const text = isCut ? 'To print the whole output' : !hasEnded(run) && reporter.live && 'To watch it';
    if (text) reporter.continuation({ text, command: watchCommand([run.id], view) }, { isDim: true });
  }
}

/** Characters of a line of an output in a summary where its width is not limited, and where a window is very small. */
const PREVIEW_LENGTH = 60;
const MIN_PREVIEW = 20;
/** Lines of an output in a summary. */
const MAX_LINES = 15;

/** Returns the beginning of an output, and whether that is not all: one line, or several where it is longer than the window. */
function beginningOf(output: Uint8Array, width: number): [text: string, isCut: boolean] {
  const room = width === 0 ? PREVIEW_LENGTH : Math.max(MIN_PREVIEW, width - LABEL_WIDTH);
  const textOf = (layOut: typeof formatJson) => joinChunks(layOut(output), MAX_LINES * room).trimEnd();
  const line = textOf(compactJson);
  const whole = width > 0 && line.length > room ? textOf(formatJson) : line;
  const lines = whole.replace(new RegExp(`^(.{${room - 1}}).{2,}`, 'gmu'), '$1…').split('\n');
  if (lines.length > MAX_LINES) lines.splice(MAX_LINES - 1, lines.length, '…');
  const text = lines.join('\n');
  return [text, text !== whole];
}
