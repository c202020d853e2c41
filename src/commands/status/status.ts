/** `wfr status`: shows the current state of runs. */
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import type { ServiceFlags } from '../../config/resolve-setting.js';
import { workflowNames } from '../../config/workflow.js';
import { collectUsageErrors } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { History, type ListedNames, namesInList, type PastRun } from '../../history/history.js';
import { type Outcome, stateOfRun, statusText } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { hasEnded, type Run, withoutJson } from '../../service/run.js';
import { parseTime } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import {
  type GetFlags,
  type OutputFlags,
  type OutputFormat,
  parseGet,
  parseOutputFormat,
  type ValuePointer,
} from '../shared/output-flags.js';
import { resumeCommands, resumeOf } from '../shared/print-outcome.js';
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

/** Polls all runs concurrently, and prints them in the order of the command line; each is then forgotten. */
async function pollAll(plan: StatusPlan, session: Session): Promise<CommandOutcome> {
  const polls = plan.ids.map((id) => {
    const place = session.service.memory.place();
    place.enter();
    return { place, outcome: pollOnce(id, plan.ids.length > 1 ? id : undefined, session, place) };
  });
  const cancelNotice = scheduleNotice(session);
  const past =
    plan.format === 'text'
      ? session.history.runsById(session.service.baseUrl)
      : Promise.resolve(new Map<string, PastRun>());
  const namesOf = past.then((known) => namesInList(plan.ids, known, plan.nameOf));
  const runs: Outcome[] = [];
  try {
    for (let poll = polls[0]; poll !== undefined; poll = polls[0]) {
      const outcome = await poll.outcome;
      if (polls.length === 1) cancelNotice();
      const names = plan.ids.length > 1 ? (await namesOf)(outcome.id) : undefined;
      const printed = await print(outcome, (await past).get(outcome.id), names, plan, session);
      polls.shift()?.place.end();
      runs.push({ ...printed, run: printed.run && withoutJson(printed.run) });
    }
  } finally {
    // None waits for what is no longer printed.
    for (const { place } of polls) place.end();
  }
  return { runs, ...resumeOf(runs, plan) };
}

type StatusPlan = Awaited<ReturnType<typeof planStatus>>;

/** Validates a command line. Throws UsageError with every problem. */
async function planStatus(rawIds: readonly string[], flags: StatusFlags, context: Context) {
  const profile = await chooseProfile(flags, context);
  const sources = { flags, profile, context };
  const plan = await collectUsageErrors({
    ids: () => parseRunIds(rawIds),
    format: () => parseOutputFormat(flags),
    pointer: () => parseGet(flags, new Set(rawIds).size > 1),
    presentation: () => decidePresentation(flags, context),
    credentials: () => loadCredentials(sources),
    settings: () => resolveServiceOfRuns(rawIds, sources),
  });
  const history = History.open(context);
  const { ids, notes } = await resolvePastRuns(plan.ids, plan.settings.baseUrl, history, profile);
  const nameOf = workflowNames(profile);
  const exitStatus = flags.exitStatus === true;
  return { ...plan, flags, ids, notes, history, nameOf, exitStatus, warnings: [], subjects: [] };
}

/** Prints one run, or why it could not be read; returns its outcome. Throws OutputError, and internal errors. */
async function print(
  outcome: WatchOutcome,
  past: PastRun | undefined,
  names: ListedNames | undefined,
  { format, pointer, exitStatus, settings, nameOf }: StatusPlan,
  session: Session,
): Promise<Outcome> {
  const { reporter, history, service } = session;
  const { id, run, error, thrown } = outcome;
  const severalRuns = names !== undefined;
  if (run !== undefined) {
    history.recordStatus({ ...run, baseUrl: service.baseUrl.href });
    if (pointer === undefined) {
      const { isCut } = await printStatus(session, format, run, {
        names,
        label: past?.label,
        workflow: past && (nameOf(past.workflow) ?? past.workflow),
        page: settings.pageOf(id),
        now: service.clock.now(),
      });
      // A script that asks again and again needs no advice.
      const isOpen = format === 'text' && !severalRuns && !hasEnded(run) && reporter.presentation.live;
      if (isCut || isOpen) {
        const goal = isCut ? 'To print the whole output' : 'To watch it';
        reporter.continuation(`${goal}: ${resumeCommands([id], settings, undefined).watch}`, { isDim: true });
      }
    }
    const hasValue = pointer === undefined || (await printValueNow(run, format, pointer, session));
    // It was read, which is what was asked for.
    const age = service.clock.now() - parseTime(run.createdAt ?? '');
    const durationMs = age >= 0 ? age : outcome.durationMs;
    return { ...outcome, durationMs, state: exitStatus || !hasValue ? stateOfRun(run) : 'accepted' };
  }
  if (error === undefined || error.code === 'internal') throw thrown;
  reporter.error(error);
  // Other errors include the id.
  const isHttpError = ['rejected', 'unauthorized', 'forbidden'].includes(error.code);
  if (severalRuns && isHttpError && reporter.presentation.showsErrors)
    reporter.notice(`Run ${sanitize(id)} could not be read.`);
  return outcome;
}

/** Prints the value of --get. Returns false, and says why on stderr, where the run does not have it yet. */
async function printValueNow(run: Run, format: OutputFormat, pointer: ValuePointer, session: Session) {
  const { printValue } = await import('../shared/print-value.js');
  const hasValue = await printValue(run, format, pointer, session);
  if (!hasValue) {
    const status = statusText(run);
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
