/** The frame of run, watch, status and batch: opens what they use, closes it however they end, and writes the reports. */
import type { LoadedCredentials } from '../../config/credentials.js';
import type { ServiceSettings } from '../../config/service.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfError, exitOfSeveral } from '../../exit-code.js';
import { History, HistoryTimeoutError } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue, type StdoutQueue } from '../../platform/stdout-queue.js';
import { describeSystemError } from '../../platform/system-error.js';
import { setV8Flags } from '../../platform/v8-flags.js';
import { VERSION } from '../../platform/version.js';
import type { ReportedRun } from '../../report/reported-run.js';
import type { Service } from '../../service/service.js';
import { sanitize } from '../../text/sanitize.js';
import type { CommandEnding, ErrorData, RowsEnding } from '../../view/error-data/error-data.js';
import { errorText, requestIdOfError } from '../../view/errors/describe-error.js';
import { type Layout, openLayout } from '../../view/layout.js';
import type { Presentation, PresentationFlags } from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import type { Period } from './reported-rows.js';
import { type ReportFlags, type ReportSubject, RequestedReports } from './reports.js';

/** What a command has validated before it opens a session. */
interface SessionPlan {
  settings: ServiceSettings;
  credentials: LoadedCredentials;
  presentation: Presentation;
  /** Printed before anything is sent. */
  warnings: readonly string[];
  /** Printed after the warnings, even with --quiet. */
  notes?: readonly string[];
  /** The runs to report if the command fails before any of them was seen. */
  subjects: readonly ReportSubject[];
}

export interface Session {
  readonly context: Context;
  readonly interruption: Interruption;
  readonly reporter: Reporter;
  readonly service: Service;
  readonly stdout: StdoutQueue;
  /** How results are shown on stdout. */
  readonly layout: Layout;
  readonly history: History;
}

/** Where results go, how they are shown there, and where warnings about them go. */
export type ResultOutput = Pick<Session, 'stdout' | 'layout' | 'reporter'>;

/** How a command ended; `exit` is that of its runs unless given. */
export interface CommandOutcome {
  runs: readonly ReportedRun[];
  exit?: Exit;
  /** When the runs were sent and watched, if not by this command alone. */
  period?: Period | undefined;
  /** The error that ended it before its runs. */
  failure?: unknown;
  rows?: RowsEnding;
  /** The command that continues with the runs. */
  resume?: string | undefined;
}

interface CommandFrame {
  /** What is reported if the command fails before any run was seen. */
  subjects: readonly ReportSubject[];
  /** Whether the same command would trigger another run if one exists. */
  triggersAgain?: boolean;
  /** Whether nothing but a report may be on stdout. */
  isStdoutFree?: boolean;
}

/**
 * Runs `work`, which validates the command line, opens the session and uses it. Closes what was opened, writes the
 * reports, and returns the exit. Throws what `work` throws, unless a report was requested or errors are data: then prints
 * and reports it.
 */
export async function runCommand(
  flags: ReportFlags & PresentationFlags,
  { subjects, triggersAgain = false, isStdoutFree = false }: CommandFrame,
  context: Context,
  work: (resources: CommandResources) => Promise<CommandOutcome>,
): Promise<Exit> {
  const startedAt = context.clock.now();
  const started = context.clock.monotonic();
  const elapsed = () => context.clock.monotonic() - started;
  const resources = new CommandResources(flags, subjects, isStdoutFree, context);
  try {
    const outcome = await work(resources)
      .finally(() => resources.closeSession())
      .catch((error) => {
        if (flags.report === undefined && !context.errorsAsData) throw error;
        const ended = { startedAt, durationMs: elapsed() };
        return failedOutcome(error, resources.subjects, ended, flags, context);
      });
    const { exit = exitOfRuns(outcome.runs), period = { startedAt, durationMs: elapsed() } } = outcome;
    const { mayHaveSent } = resources;
    const ending = { ...outcome, exit, failures: [], triggersAgain, mayHaveSent };
    const error = flags.report === undefined ? undefined : await describe(ending, context);
    const unwritten = await resources.reports.write({ runs: outcome.runs, exit, ...period, error });
    const finalExit = exitOfSeveral([exit, ...unwritten.map(exitOfError)]);
    await printEnding({ ...ending, exit: finalExit, failures: unwritten }, flags, context);
    return finalExit;
  } finally {
    resources.interruption.release();
    await resources.reports.close();
  }
}

/** Prints the error that ended a command, and returns it as the outcome of each run that was planned. */
async function failedOutcome(
  failure: unknown,
  subjects: readonly ReportSubject[],
  { startedAt: started, durationMs: duration }: { startedAt: number; durationMs: number },
  { color }: PresentationFlags,
  context: Context,
): Promise<CommandOutcome> {
  if (!context.errorsAsData) {
    const { printError } = await import('../../view/errors/print-error.js');
    await printError(failure, color, context);
  }
  const exit = exitOfError(failure);
  // Nothing was planned.
  if (failure instanceof UsageError) return { runs: [], exit, failure };
  const ended = {
    run: undefined,
    exit,
    started,
    duration,
    error: errorText(failure),
    requestId: requestIdOfError(failure),
  };
  return { runs: subjects.map((subject) => ({ ...subject, ...ended })), exit, failure };
}

/** Returns what ended a command as data; undefined if its exit code is 0. */
async function describe(ending: CommandEnding, { secrets }: Context): Promise<ErrorData | undefined> {
  if (ending.exit === ExitCode.ok) return undefined;
  const { describeEnding, maskErrorData } = await import('../../view/error-data/error-data.js');
  return maskErrorData(describeEnding(ending), secrets);
}

/** Prints what ended a command as data; as text, only the errors that were not printed yet. */
async function printEnding(
  ending: CommandEnding,
  { color }: PresentationFlags,
  context: Context,
): Promise<void> {
  const { stderr, errorsAsData } = context;
  if (errorsAsData) {
    const data = await describe(ending, context);
    if (data === undefined) return;
    const { errorLine } = await import('../../view/error-data/error-data.js');
    return stderr.write(errorLine(data));
  }
  if (ending.failures.length === 0) return;
  const { printError } = await import('../../view/errors/print-error.js');
  for (const failure of ending.failures) await printError(failure, color, context);
}

const exitOfRuns = (runs: readonly ReportedRun[]) => exitOfSeveral(runs.map(({ exit }) => exit));

/** What a command holds open until it ends. */
class CommandResources {
  readonly interruption: Interruption;
  readonly reports: RequestedReports;
  #closeSession = async () => {};
  #isOpen = false;

  constructor(
    flags: ReportFlags,
    public subjects: readonly ReportSubject[],
    isStdoutFree: boolean,
    private readonly context: Context,
  ) {
    this.interruption = new Interruption(context);
    this.reports = new RequestedReports(flags, isStdoutFree, context);
  }

  /** Prints the plan's warnings and opens the session. Opens no connection yet. */
  async openSession(plan: SessionPlan): Promise<Session> {
    const { context, interruption } = this;
    this.subjects = plan.subjects;
    this.#isOpen = true;
    const reporter = await Reporter.open(plan.presentation, context);
    for (const warning of [...plan.settings.warnings, ...plan.warnings]) reporter.warn(warning);
    for (const note of plan.settings.notes) reporter.debug(note);
    for (const note of plan.notes ?? []) reporter.block([sanitize(note)]);
    const { service, close } = await openService(plan, reporter, context);
    const stdout = openStdoutQueue(context, interruption);
    const layout = await openLayout(plan.presentation.colorFlag, context);
    const history = History.open(context);
    this.#closeSession = async () => {
      reporter.stopProgress();
      await flushHistory(history, reporter);
      await close();
    };
    return { context, interruption, reporter, service, stdout, layout, history };
  }

  /** Whether a trigger may have been sent: the session was opened for runs without an id. */
  get mayHaveSent(): boolean {
    return this.#isOpen && this.subjects.some(({ id }) => id === undefined);
  }

  async closeSession(): Promise<void> {
    await this.#closeSession();
  }
}

export type { CommandResources };

/** Waits a moment for the history to be written, and warns where it could not be. Never throws. */
async function flushHistory(history: History, reporter: Reporter): Promise<void> {
  const error = await history.flush();
  if (error === undefined) return;
  const isHanging = error instanceof HistoryTimeoutError;
  // A person may rely on @last; a pipeline without a home folder does not.
  if (!reporter.presentation.live && !isHanging) {
    reporter.debug(`no history is kept: ${sanitize(describeSystemError(error))}`);
    return;
  }
  // Node does not end a process while a file operation hangs.
  const effect = isHanging
    ? 'wfr cannot exit before it does, except by a signal'
    : '@last does not refer to this run';
  reporter.warn(
    `the history cannot be written: ${describeSystemError(error)}; ${effect} (WFR_HISTORY=0 turns it off)`,
  );
}

/** Loads the HTTP client, which is imported nowhere else. */
async function openService({ settings, credentials }: SessionPlan, reporter: Reporter, context: Context) {
  const { Transport } = await import('../../service/transport.js');
  await setV8Flags(context.nodeVersion);
  const { clock, limits } = context;
  const { baseUrl, proxy, tls, headers } = settings;
  const transport = new Transport({ origin: baseUrl, proxy, tls }, clock, limits);
  const events = serviceLogger(reporter);
  const userAgent = `wfr/${VERSION}`;
  const service = { baseUrl, transport, credentials, headers, userAgent, clock, limits, events };
  return { service, close: () => transport.close() };
}
