/** What a command works with while it talks to the service, opened once it has a plan, and closed however it ends. */
import type { LoadedCredentials } from '../../config/credentials.js';
import type { ServiceSettings } from '../../config/service.js';
import { UsageError } from '../../errors.js';
import { type Exit, exitOfSeveral } from '../../exit-code.js';
import { History } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue, type StdoutQueue } from '../../platform/stdout-queue.js';
import { setV8Flags } from '../../platform/v8-flags.js';
import { VERSION } from '../../platform/version.js';
import type { ReportedRun } from '../../report/reported-run.js';
import type { Service } from '../../service/service.js';
import { errorText } from '../../view/errors/describe-error.js';
import type { Presentation } from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import { settleHistory } from './keep-history.js';
import { type ReportFlags, type ReportSubject, RequestedReports } from './reports.js';

/** What every command that talks to the service has validated before it opens a session. */
interface SessionPlan {
  settings: ServiceSettings;
  credentials: LoadedCredentials;
  presentation: Presentation;
  /** Shown before anything is sent. */
  warnings: readonly string[];
  /** What the command is about: reported with the error that ended it before any of its runs was seen. */
  subjects: readonly ReportSubject[];
}

export interface Session {
  readonly context: Context;
  readonly interruption: Interruption;
  readonly reporter: Reporter;
  readonly service: Service;
  readonly stdout: StdoutQueue;
  readonly history: History;
}

/** What a command came to; `exit` where that is more than its runs tell. */
export interface CommandEnd {
  runs: readonly ReportedRun[];
  exit?: Exit;
}

/**
 * Runs a command from its plan to its end: `story` validates, opens the session and works in it. Closes what was opened,
 * writes the reports, and returns the exit. Throws what `story` throws, unless that is in a report: then it is printed.
 */
export async function runCommand(
  { report }: ReportFlags,
  subjects: readonly ReportSubject[],
  context: Context,
  story: (command: CommandTools) => Promise<CommandEnd>,
): Promise<Exit> {
  const startedAt = context.clock.now();
  const started = context.clock.monotonic();
  const elapsed = () => context.clock.monotonic() - started;
  const command = new CommandTools(report, subjects, context);
  try {
    const { runs, exit = exitOfRuns(runs) } = await story(command)
      .finally(() => command.closeSession())
      .catch(async (error) => {
        if (error instanceof UsageError || report === undefined) throw error;
        const { printError } = await import('../../view/errors/print-error.js');
        const exit = await printError(error, context.stderr);
        const ended = {
          run: undefined,
          exit,
          started: startedAt,
          duration: elapsed(),
          error: errorText(error),
        };
        return { runs: command.subjects.map((subject) => ({ ...subject, ...ended })), exit };
      });
    const failures = await command.reports.write({ runs, exit, startedAt, durationMs: elapsed() });
    return exitOfSeveral([exit, ...failures]);
  } finally {
    command.interruption.release();
    await command.reports.close();
  }
}

const exitOfRuns = (runs: readonly ReportedRun[]) => exitOfSeveral(runs.map(({ exit }) => exit));

/** What a command holds open from its start to its end. */
class CommandTools {
  readonly interruption: Interruption;
  readonly reports: RequestedReports;
  #closeSession = async () => {};

  constructor(
    report: string[] | undefined,
    public subjects: readonly ReportSubject[],
    private readonly context: Context,
  ) {
    this.interruption = new Interruption(context);
    this.reports = new RequestedReports(report, context);
  }

  /** Shows the plan's warnings, and opens what sends and shows. No connection is opened yet. */
  async openSession(plan: SessionPlan): Promise<Session> {
    const { context, interruption } = this;
    this.subjects = plan.subjects;
    const reporter = await Reporter.open(plan.presentation, context);
    for (const warning of [...plan.settings.warnings, ...plan.warnings]) reporter.warn(warning);
    const { service, close } = await openService(plan, reporter, context);
    const stdout = openStdoutQueue(context.stdout, interruption);
    const history = History.open(context);
    this.#closeSession = async () => {
      reporter.stopProgress();
      await settleHistory(history, reporter);
      await close();
    };
    return { context, interruption, reporter, service, stdout, history };
  }

  async closeSession(): Promise<void> {
    await this.#closeSession();
  }
}

export type { CommandTools };

/** The HTTP client is loaded only here. */
async function openService({ settings, credentials }: SessionPlan, reporter: Reporter, context: Context) {
  const { Transport } = await import('../../service/transport.js');
  await setV8Flags(context.nodeVersion);
  const { clock, limits } = context;
  const { baseUrl, proxy, headers } = settings;
  const transport = new Transport({ origin: baseUrl, proxy }, clock, limits);
  const events = serviceLogger(reporter);
  const userAgent = `wfr/${VERSION}`;
  const service = { baseUrl, transport, credentials, headers, userAgent, clock, limits, events };
  return { service, close: () => transport.close() };
}
