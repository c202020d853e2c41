/** The frame of run, watch, status and batch: opens what they use, closes it however they end, and writes the reports. */

import type { LoadedCredentials } from '../../config/credentials.js';
import type { ServiceSettings } from '../../config/service.js';
import type { Facts } from '../../errors.js';
import { ERROR_CODES, type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { History, HistoryTimeoutError } from '../../history/history.js';
import { factsOf } from '../../outcome/describe-error.js';
import type { CommandEnding, CommandResult, ErrorData, RowsEnding } from '../../outcome/error-data.js';
import { exitOf, exitOfError, type Outcome, type Subject, stateOfError } from '../../outcome/outcome.js';
import { type Context, setV8Flags, VERSION } from '../../platform/context.js';
import { Interruption, openStdoutQueue, type StdoutQueue } from '../../platform/signals.js';
import { describeSystemError } from '../../platform/system-error.js';
import { ResponseMemory } from '../../service/response-memory.js';
import type { Service } from '../../service/service.js';
import { sanitize } from '../../text/sanitize.js';
import {
  isInCi,
  type Layout,
  openLayout,
  type Presentation,
  type PresentationFlags,
} from '../../view/presentation.js';
import { Reporter, serviceLogger } from '../../view/reporter.js';
import { type ReportFlags, RequestedReports } from './reports.js';

/** What a command has validated before it opens a session. */
interface SessionPlan {
  settings: ServiceSettings;
  credentials: LoadedCredentials;
  presentation: Presentation;
  /** Printed before anything is sent. */
  warnings: readonly string[];
  /** Printed before the warnings, even with --quiet. */
  notes?: readonly string[];
  /** The runs to report if the command fails before any of them was seen. */
  subjects: readonly Subject[];
  /** The history that planning has read. */
  history?: History;
}

export interface Session {
  readonly context: Context;
  readonly interruption: Interruption;
  readonly reporter: Reporter;
  readonly service: Service;
  readonly stdout: StdoutQueue;
  /** How results are shown on stdout. */
  readonly layout: Layout;
  /** Whether stdout may be the log of a CI job, which acts on some lines. */
  readonly isLogged: boolean;
  readonly history: History;
}

/** Where results go, how they are shown there, and where warnings about them go. */
export type ResultOutput = Pick<Session, 'stdout' | 'layout' | 'reporter' | 'isLogged'>;

/** How a command ended; `exit` is that of its runs unless given. */
export interface CommandOutcome {
  runs: readonly Outcome[];
  exit?: Exit;
  /** When the runs were sent and watched, if not by this command alone. */
  period?: Pick<CommandResult, 'startedAt' | 'durationMs'> | undefined;
  /** The error that ended it before its runs. */
  failure?: Facts | undefined;
  /** Whether that error is still to be printed. */
  isUnprinted?: boolean;
  rows?: RowsEnding;
  /** The command that continues with the runs, and what to add to it. */
  resume?: string | undefined;
  resumeHints?: readonly string[] | undefined;
}

interface CommandFrame {
  /** What is reported if the command fails before any run was seen. */
  subjects: readonly Subject[];
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
  const { interruption } = resources;
  const run = async () => {
    const outcome = await work(resources)
      .finally(() => resources.closeSession())
      .catch((error) => {
        if (flags.report === undefined && !context.errorsAsData) throw error;
        return failedOutcome(error, resources.subjects, startedAt, elapsed());
      });
    const { exit = exitOfRuns(outcome.runs), period = { startedAt, durationMs: elapsed() } } = outcome;
    const { mayHaveSent, pageOf } = resources;
    const runs = outcome.runs.map((run) => ({
      ...run,
      page: run.id === undefined ? undefined : pageOf(run.id),
    }));
    const ending = { ...outcome, outcomes: runs, exit, failures: [], triggersAgain, mayHaveSent };
    if (outcome.isUnprinted && outcome.failure !== undefined && !context.errorsAsData)
      await print([outcome.failure], flags, context);
    const error = flags.report === undefined ? undefined : await describe(ending, context);
    const unwritten = await resources.reports.write({ runs, exit, ...period, error });
    const failures = unwritten.map(factsOf);
    const finalExit = exitOfSeveral([exit, ...failures.map(exitOfError)]);
    if (context.errorsAsData) await printData({ ...ending, exit: finalExit, failures }, context);
    else await print(failures, flags, context);
    return finalExit;
  };
  try {
    return await interruption.raceToEnd(run().finally(() => resources.reports.close()));
  } finally {
    interruption.release();
  }
}

/** Returns the error that ended a command as the outcome of each run that was planned. */
function failedOutcome(
  error: unknown,
  subjects: readonly Subject[],
  startedAt: number,
  durationMs: number,
): CommandOutcome {
  const facts = factsOf(error);
  const ended = { run: undefined, state: stateOfError(facts), error: facts, startedAt, durationMs };
  // After a usage error, nothing was planned.
  const runs = facts.code === 'usage' ? [] : subjects.map((subject) => ({ ...subject, ...ended }));
  return { runs, exit: exitOf(ended), failure: facts, isUnprinted: true };
}

/** Returns what ended a command as data; undefined if its exit code is 0. */
async function describe(ending: CommandEnding, { secrets }: Context): Promise<ErrorData | undefined> {
  if (ending.exit === ExitCode.ok) return undefined;
  const { describeEnding, maskErrorData } = await import('../../outcome/error-data.js');
  return maskErrorData(describeEnding(ending), secrets);
}

/** Prints what ended a command as data. */
async function printData(ending: CommandEnding, context: Context): Promise<void> {
  const data = await describe(ending, context);
  if (data === undefined) return;
  const { errorLine } = await import('../../outcome/error-data.js');
  await context.stderr.write(errorLine(data));
}

/** Prints errors as text. */
async function print(errors: readonly Facts[], { color }: PresentationFlags, context: Context) {
  if (errors.length === 0) return;
  const { printError } = await import('../../view/errors/print-error.js');
  for (const facts of errors) await printError(facts, color, context);
}

const exitOfRuns = (runs: readonly Outcome[]) => exitOfSeveral(runs.map(exitOf));

/** What a command holds open until it ends. */
class CommandResources {
  readonly interruption: Interruption;
  readonly reports: RequestedReports;
  /** Returns the page of a run, for people, if it has one. */
  pageOf: ServiceSettings['pageOf'] = () => undefined;
  closeSession = async () => {};
  #isOpen = false;

  constructor(
    private readonly flags: ReportFlags,
    public subjects: readonly Subject[],
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
    this.pageOf = plan.settings.pageOf;
    this.#isOpen = true;
    keepOwnWords(this.flags, plan.subjects, context);
    const reporter = await Reporter.open(plan.presentation, context);
    for (const note of plan.notes ?? []) reporter.block([sanitize(note)]);
    for (const warning of [...plan.settings.warnings, ...plan.warnings]) reporter.warn(warning);
    for (const note of plan.settings.notes) reporter.debug(note);
    const { service, close } = await openService(plan, reporter, context);
    const stdout = openStdoutQueue(context, interruption);
    const layout = await openLayout(plan.presentation.colorFlag, context);
    const { history = History.open(context) } = plan;
    this.closeSession = async () => {
      reporter.stopProgress();
      await flushHistory(history, reporter);
      await close();
    };
    const isLogged = isInCi(context.env) && !context.stdout.isFile;
    return { context, interruption, reporter, service, stdout, layout, isLogged, history };
  }

  /** Whether a trigger may have been sent: the session was opened for runs without an id. */
  get mayHaveSent(): boolean {
    return this.#isOpen && this.subjects.some(({ id }) => id === undefined);
  }
}

export type { CommandResources };

/** Flags whose values may be secrets, and are no part of a command that continues. */
const SECRET_FLAGS = ['header', 'input'];

/** Keeps ids, codes and the values of flags as they are, also if a header has the same value. */
function keepOwnWords(flags: object, subjects: readonly Subject[], { secrets }: Context): void {
  const values = Object.entries(flags).filter(([name]) => !SECRET_FLAGS.includes(name));
  const ids = subjects.flatMap(({ id, workflowId }) => [id, workflowId]);
  for (const word of [...values.flatMap(([, value]) => value), ...ids, ...Object.keys(ERROR_CODES)])
    if (typeof word === 'string') secrets.keep(word);
}

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
  const memory = new ResponseMemory();
  const service = { baseUrl, transport, credentials, headers, userAgent, clock, limits, events, memory };
  return { service, close: () => transport.close() };
}
