/** `wfr status`: shows the current state of runs. */
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import type { ServiceFlags } from '../../config/service.js';
import { workflowNames } from '../../config/workflow.js';
import { collectUsageErrors, HttpError } from '../../errors.js';
import { type Exit, ExitCode, exitOfError } from '../../exit-code.js';
import { History } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import type { ReportedRun } from '../../report/reported-run.js';
import type { Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import { isSameId } from '../shared/adopt-runs.js';
import {
  type GetFlags,
  type OutputFlags,
  type OutputFormat,
  parseGet,
  parseOutputFormat,
  type ValuePointer,
} from '../shared/output-flags.js';
import { exitOfRun, reportedRun, resumeOf } from '../shared/print-outcome.js';
import { printStatus } from '../shared/print-run.js';
import { parseRunIds, resolvePastRuns, resolveServiceOfRuns } from '../shared/run-ids.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { pollOnce, type WatchOutcome } from '../shared/watch-run.js';

export interface StatusFlags extends ServiceFlags, OutputFlags, GetFlags, PresentationFlags {
  exitStatus?: boolean;
}

/** Runs the command. */
export function status(rawIds: readonly string[], flags: StatusFlags, context: Context): Promise<Exit> {
  return runCommand(flags, { subjects: [] }, context, async (resources) => {
    const plan = await planStatus(rawIds, flags, context);
    await requireToken(plan.credentials, plan.settings.baseUrl, resources.interruption.signal);
    return pollAll(plan, await resources.openSession(plan));
  });
}

/** Polls all runs concurrently, and prints them in the order of the command line. */
async function pollAll(plan: StatusPlan, session: Session): Promise<CommandOutcome> {
  const polls = plan.ids.map((id) => pollOnce(id, plan.ids.length > 1 ? id : undefined, session));
  const cancelNotice = scheduleNotice(session);
  void Promise.all(polls).finally(cancelNotice);
  const workflow = plan.format === 'text' ? findWorkflow(plan, session) : Promise.resolve(undefined);
  const runs: ReportedRun[] = [];
  for (const poll of polls) {
    const outcome = await poll;
    const exit = await print(outcome, await workflow, plan, session);
    runs.push(reportedRun(outcome, outcome.error, exit));
  }
  return { runs, ...resumeOf(runs, plan) };
}

/** Returns the name or id of the only run's workflow; undefined for several runs, or where the history does not know it. */
async function findWorkflow({ ids, nameOf }: StatusPlan, { history, service }: Session) {
  const [id, another] = ids;
  if (id === undefined || another !== undefined) return undefined;
  const run = (await history.runsAt(service.baseUrl)).find((past) => isSameId(past.id, id));
  return run && (nameOf(run.workflow) ?? run.workflow);
}

type StatusPlan = Awaited<ReturnType<typeof planStatus>>;

/** Validates a command line. Throws UsageError with every problem. */
async function planStatus(rawIds: readonly string[], flags: StatusFlags, context: Context) {
  const profile = await chooseProfile(flags, context);
  const plan = await collectUsageErrors({
    ids: () => parseRunIds(rawIds),
    format: () => parseOutputFormat(flags),
    pointer: () => parseGet(flags, new Set(rawIds).size > 1),
    presentation: () => decidePresentation(flags, context),
    credentials: () => loadCredentials(flags, profile, context),
    settings: () => resolveServiceOfRuns(rawIds, flags, profile, context),
  });
  const { ids, notes } = await resolvePastRuns(
    plan.ids,
    plan.settings.baseUrl,
    History.open(context),
    profile,
  );
  const nameOf = workflowNames(profile);
  return { ...plan, ids, notes, nameOf, exitStatus: flags.exitStatus === true, warnings: [], subjects: [] };
}

/** Prints one run, or why it could not be read. Throws OutputError, and internal errors. */
async function print(
  { id, run, error }: WatchOutcome,
  workflow: string | undefined,
  { ids, format, pointer, exitStatus }: StatusPlan,
  session: Session,
): Promise<Exit> {
  const { reporter, history, service } = session;
  const severalRuns = ids.length > 1;
  if (run !== undefined) {
    history.recordStatus({ ...run, baseUrl: service.baseUrl.href });
    if (pointer === undefined)
      await printStatus(session, format, run, { severalRuns, workflow, now: service.clock.now() });
    const hasValue = pointer === undefined || (await printValueNow(run, format, pointer, session));
    return exitStatus || !hasValue ? exitOfRun(run) : ExitCode.ok;
  }
  if (!reporter.error(error)) throw error;
  // Other errors include the id.
  if (severalRuns && error instanceof HttpError && reporter.presentation.showsErrors)
    reporter.notice(`Run ${sanitize(id)} could not be read.`);
  return exitOfError(error);
}

/** Prints the value of --get. Returns false, and says why on stderr, where the run does not have it yet. */
async function printValueNow(
  run: Run,
  format: OutputFormat,
  pointer: ValuePointer,
  session: Session,
): Promise<boolean> {
  const { printValue } = await import('../shared/print-value.js');
  const hasValue = await printValue(run, format, pointer, session);
  if (!hasValue) {
    const status = sanitize(run.status ?? 'accepted');
    session.reporter.notice(
      `Run ${sanitize(run.id)} is ${status} and has no value at ${sanitize(pointer.text)}.`,
    );
  }
  return hasValue;
}

/** Time without a response after which stderr says what is being waited for (ms). */
const NOTICE_DELAY = 3_000;

function scheduleNotice({ service, reporter }: Session): () => void {
  return service.clock.after(NOTICE_DELAY, () =>
    reporter.info(`Waiting for a response from ${service.baseUrl.host}`),
  );
}
