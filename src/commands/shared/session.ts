/** The frame of run, watch, status and batch: opens what they use, closes it however they end, and writes the reports. */
import { type Facts, type StepResults, stateOfError } from '../../errors.js';
import { ERROR_CODES, type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { HISTORY_TIMEOUT, type History, openHistory } from '../../history/history.js';
import { factsOf } from '../../outcome/describe-error.js';
import {
  type CommandResult,
  describeEnding,
  errorLine,
  maskErrorData,
  type WorkEnding,
} from '../../outcome/error-data.js';
import { exitOf, exitOfError, type Subject } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { type Interruption, listenForSignals, openStdoutQueue } from '../../platform/signals.js';
import { describeSystemError } from '../../platform/system-error.js';
import { createResponseMemory } from '../../service/response-memory.js';
import type { Service } from '../../service/service.js';
import { printErrors } from '../../view/errors/print-error.js';
import { openLayout, type PresentationFlags } from '../../view/presentation.js';
import { openReporter, serviceLogger } from '../../view/reporter.js';
import type { ReportFlags } from './output-flags.js';
import { type RequestedReports, requestedReports } from './reports.js';
import type { sessionSteps } from './session-steps.js';

/** What a command has validated before it opens a session. */
interface SessionPlan extends StepResults<ReturnType<typeof sessionSteps>> {
  /** Printed before anything is sent. */
  warnings: readonly string[];
  /** The runs to report if the command fails before any of them was seen; by default the unplanned ones. */
  subjects?: readonly Subject[];
  /** Whether the same command would trigger another run if one exists. */
  triggersAgain?: boolean;
  /** Whether nothing is sent, so that no token is needed. */
  isDry?: boolean | undefined;
  /** The history that planning has read. */
  history?: History;
}

export type Session = Awaited<ReturnType<typeof open>>;

/** How a command ended; `exit` is that of its runs unless given. */
export interface CommandOutcome extends WorkEnding {
  exit?: Exit;
  /** When the runs were sent and watched, if not by this command alone. */
  period?: Pick<CommandResult, 'startedAt' | 'durationMs'> | undefined;
}

/** What `work` opens. */
export interface CommandResources {
  readonly interruption: Interruption;
  readonly reports: RequestedReports;
  /** Requires a token, prints the plan's warnings, and opens the session. Opens no connection yet. */
  openSession(plan: SessionPlan): Promise<Session>;
}

/**
 * Runs `work`, which validates the command line, opens the session and uses it. Closes what was opened, prints the error that
 * it throws, writes the reports, and returns the exit. The reports have the runs of the plan, and before there is one those
 * `unplanned`.
 */
export async function runCommand(
  flags: ReportFlags & PresentationFlags,
  unplanned: readonly Subject[],
  context: Context,
  work: (resources: CommandResources) => Promise<CommandOutcome>,
): Promise<Exit> {
  const { clock, errorsAsData, stderr, secrets } = context;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const periodSoFar = () => ({ startedAt, durationMs: clock.monotonic() - started });
  const interruption = listenForSignals(context);
  const reports = requestedReports(flags, context);
  let plan: SessionPlan | undefined;
  let session: Session | undefined;
  const openSession = async (opened: SessionPlan) => {
    plan = opened;
    session = await open(opened, flags, interruption, context);
    return session;
  };
  const run = async () => {
    const ended = await work({ interruption, reports, openSession })
      .finally(() => session && close(session))
      .catch(async (thrown): Promise<CommandOutcome> => {
        const error = factsOf(thrown);
        await printErrors([error], flags.color, context);
        // After a usage error, the plan does not count.
        const planned = error.code === 'usage' ? [] : (plan?.subjects ?? unplanned);
        const facts = { state: stateOfError(error), error, ...periodSoFar() };
        const runs = planned.map((subject) => ({ ...subject, ...facts }));
        return { runs, exit: exitOfError(error), failure: error };
      });
    const { exit = exitOfSeveral(ended.runs.map(exitOf)), period = periodSoFar() } = ended;
    const runs = ended.runs.map((one) => ({
      ...one,
      page: one.id && plan?.settings.pageOf(one.id),
      workflowName: one.workflowId && plan?.settings.workflowNameOf(one.workflowId),
    }));
    const { subjects = [], triggersAgain = false } = plan ?? {};
    const mayHaveSent = Boolean(session) && subjects.some(({ id }) => id === undefined);
    const describe = (finalExit: Exit, failures: readonly Facts[]) => {
      if (finalExit === ExitCode.ok) return undefined;
      const ending = { ...ended, runs, exit: finalExit, failures, triggersAgain, mayHaveSent };
      return maskErrorData(describeEnding(ending), secrets);
    };
    const thrown = await reports.write({ runs, exit, ...period, error: describe(exit, []) });
    const failures = thrown.map(factsOf);
    await printErrors(failures, flags.color, context);
    const finalExit = exitOfSeveral([exit, ...failures.map(exitOfError)]);
    const data = errorsAsData ? describe(finalExit, failures) : undefined;
    if (data) await stderr.write(errorLine(data));
    return finalExit;
  };
  try {
    return await interruption.raceToEnd(run().finally(reports.close));
  } finally {
    interruption.release();
  }
}

/** Opens a session as CommandResources says, and loads the HTTP client, which is imported nowhere else. */
async function open(
  plan: SessionPlan,
  flags: PresentationFlags,
  interruption: Interruption,
  context: Context,
) {
  const { settings, credentials, presentation, subjects = [], isDry, history = openHistory(context) } = plan;
  const { clock, limits, nodeVersion } = context;
  // The first time, this runs a token command; it throws if a token is missing.
  if (!isDry) await credentials.token(interruption.signal);
  keepOwnWords(flags, subjects, context);
  const reporter = await openReporter(presentation, context);
  for (const warning of [...settings.warnings, ...credentials.warnings, ...plan.warnings])
    reporter.warn(warning);
  for (const note of settings.notes) reporter.debug(note);
  const { openTransport } = await import('../../service/transport.js');
  // Node 20 would spend about 60 ms of a short process on the optimization of the HTTP parser, which is WebAssembly.
  if (nodeVersion.startsWith('20.')) (await import('node:v8')).setFlagsFromString('--liftoff-only');
  const { baseUrl, headers } = settings;
  const transport = openTransport(settings, clock, limits);
  const events = serviceLogger(reporter);
  const openPlace = createResponseMemory();
  const service: Service = { baseUrl, transport, credentials, headers, clock, limits, events, openPlace };
  const stdout = openStdoutQueue(context, interruption);
  /** How results are shown on stdout. */
  const layout = await openLayout(flags.color, context);
  return { context, interruption, reporter, service, stdout, layout, history };
}

/** Waits a moment for the history to be written, warns where it could not be, and closes all connections. Never throws. */
async function close({ reporter, history, service }: Session): Promise<void> {
  reporter.stopProgress();
  const error = await history.flush();
  if (error !== undefined) {
    const text = `the history cannot be written: ${describeSystemError(error)}; WFR_HISTORY=0 turns it off`;
    // A person may rely on @last; a pipeline without a home folder does not.
    if (error === HISTORY_TIMEOUT || reporter.live) reporter.warn(text);
    else reporter.debug(text);
  }
  await service.transport.close();
}

/** Keeps ids, codes and the values of flags as they are, also if a header has the same value. */
function keepOwnWords(flags: object, subjects: readonly Subject[], { secrets }: Context): void {
  // The values of two may be secrets, and are no part of a command that continues.
  const { header, input, ...others }: { header?: unknown; input?: unknown } = flags;
  const ids = subjects.flatMap(({ id, workflowId }) => [id, workflowId]);
  for (const word of [...Object.values(others).flat(), ...ids, ...Object.keys(ERROR_CODES)])
    if (typeof word === 'string') secrets.keep(word);
}
