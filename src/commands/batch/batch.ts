/** `wfr batch`: runs a workflow once for every row of a table; the same command resumes where the last one stopped. */

import { recordInputs } from '../../batch/journal/common-inputs.js';
import { OutputJournal } from '../../batch/journal/journal.js';
import type { OpenResults } from '../../batch/journal/journal-file.js';
import { openResultsFile } from '../../batch/journal/results-file.js';
import { isTooBusy, RateLimiter } from '../../batch/rate-limiter.js';
import { Reachability } from '../../batch/reachability.js';
import { RowStates } from '../../batch/row-states.js';
import { requireToken } from '../../config/credentials.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { RequestLimiter, ServiceEvents } from '../../service/service.js';
import { adoptRuns } from '../shared/adopt-runs.js';
import { ownedFileOptions } from '../shared/owned-file-options.js';
import { readReportedRuns } from '../shared/reported-rows.js';
import { hasFreeStdout } from '../shared/reports.js';
import { endingOfRows, exitsOfRows, summarize } from '../shared/row-summary.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { BatchRun } from './batch-run.js';
import { type BatchFlags, type BatchPlan, planBatch, shardRows } from './plan.js';
import { resolveRowInputs } from './row.js';
import { validateDecisions } from './unknown-rows.js';

/** Mistakes that --check lists at most, so that a table that is wrong in every row takes no more memory than a valid one. */
const MAX_PROBLEMS = 10_000;

/** Runs the command. */
export function batch(
  workflow: string,
  files: readonly string[],
  flags: BatchFlags,
  context: Context,
): Promise<Exit> {
  const subjects = [{ id: undefined, workflowId: workflow }];
  const triggersAgain = flags.results === undefined || flags.results === '-';
  const frame = { subjects, triggersAgain, isStdoutFree: hasFreeStdout('batch', flags) };
  return runCommand(flags, frame, context, async (command) => {
    const plan = await planBatch(workflow, files, flags, command.reports, context);
    try {
      if (flags.check === true) return await checkRows(plan, context);
      await requireToken(plan.credentials, plan.settings.baseUrl, command.interruption.signal);
      if (flags.results === undefined) await assertSingleRow(plan);
      return await sendRows(plan, flags, await command.openSession(plan));
    } finally {
      await plan.close();
    }
  });
}

/** Validates all rows and files, and sends nothing. Throws UsageError with the problems of all rows. */
async function checkRows(plan: BatchPlan, context: Context): Promise<CommandOutcome> {
  /** The first line with each mistake, and how many other rows have the same. */
  const mistakes = new Map<string, { first: string; others: number }>();
  /** What is not about one row, such as what the workflow takes. */
  const common = new Set<string>();
  let rows = 0;
  let invalid = 0;
  let omitted = 0;
  for await (const row of shardRows(plan)) {
    rows++;
    try {
      await (await resolveRowInputs(row, plan, context)).close();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      invalid++;
      for (const problem of error.problems) {
        const reason = problem.slice(row.label.length);
        const known = mistakes.get(reason);
        if (!problem.startsWith(`${row.label}: `)) common.add(problem);
        else if (known !== undefined) known.others++;
        else if (mistakes.size < MAX_PROBLEMS) mistakes.set(reason, { first: problem, others: 0 });
        else omitted++;
      }
    }
  }
  if (invalid > 0) {
    throw new UsageError([
      ...[...mistakes.values()].map(describeMistake),
      ...(omitted > 0 ? [`and ${omitted} more`] : []),
      ...common,
      ...(rows > 1 ? [`${invalid} of ${rows} rows ${invalid === 1 ? 'is' : 'are'} invalid`] : []),
    ]);
  }
  await context.stderr.write(`${rows} ${rows === 1 ? 'row' : 'rows'} valid; nothing sent\n`);
  return { runs: [], exit: ExitCode.ok };
}

function describeMistake({ first, others }: { first: string; others: number }): string {
  if (others === 0) return first;
  return `${first} (and ${others} more ${others === 1 ? 'row' : 'rows'})`;
}

/** Throws UsageError for more than one row: without results, a batch could not be resumed. */
async function assertSingleRow(plan: BatchPlan): Promise<void> {
  let rows = 0;
  for await (const _row of shardRows(plan)) {
    if (++rows < 2) continue;
    throw new UsageError([
      'more than one row requires --results <file.jsonl>, which records every row so that the same command can continue (--results - writes to stdout)',
    ]);
  }
}

/** Sends and watches the rows, and prints the summary. */
async function sendRows(plan: BatchPlan, flags: BatchFlags, session: Session): Promise<CommandOutcome> {
  const { reporter, context } = session;
  const file = resultsFile(flags.results, context);
  const results = await openResults(plan, flags.results, context);
  const reachability = new Reachability(context.clock, session.interruption.signal, (cause, delay) =>
    reporter.waitingForService(cause, delay),
  );
  const limitedSession = withRateLimit(plan, reachability, session);
  const run = new BatchRun(plan, results, reachability, limitedSession);
  try {
    await validateDecisions(plan, results.rowStates, file);
    await adoptRuns(plan.adoptions, results, limitedSession);
    await run.run(await reporter.startBatchProgress(() => run.counts()));
  } finally {
    reporter.stopProgress();
    reachability.close();
    await results.close().catch((error) => run.fail(error));
  }
  if (run.failure !== undefined && !reporter.error(run.failure)) throw run.failure;
  const summary = summarize(results.rowStates, run.total, run.notes(), file?.name);
  const exit = exitOfSeveral([...run.exits(), ...exitsOfRows(results.rowStates)]);
  // An error of the table says why it has no rows.
  const hasRows = run.failure === undefined || results.rowStates.known > 0;
  if (hasRows && (exit === ExitCode.ok || reporter.presentation.showsErrors)) reporter.batchSummary(summary);
  const reported =
    flags.report === undefined || file === undefined ? { runs: [] } : await readReportedRuns([file]);
  const { failure } = run;
  return { ...reported, exit, failure, rows: endingOfRows(results.rowStates, summary, run.total) };
}

/** Adds the batch's rate limit to a session, and silences messages about single requests, which would hide the rest. */
function withRateLimit({ rate }: BatchPlan, reachability: Reachability, session: Session): Session {
  const { service, reporter, context } = session;
  const { events } = service;
  let isAwaitingIds = false;
  const quietEvents: ServiceEvents = {
    ...events,
    retrying: reporter.presentation.verbose ? events.retrying : () => {},
    awaitingId(ms, signal) {
      if (!isAwaitingIds) events.awaitingId(ms, signal);
      isAwaitingIds = true;
    },
  };
  const limiter = new RateLimiter(rate, context.clock);
  const { givenUp } = reachability;
  givenUp.addEventListener('abort', () => limiter.stop(givenUp.reason), { once: true });
  const rateLimiter: RequestLimiter = {
    acquire: (signal) => limiter.acquire(signal),
    onResponse(status, retryAfter) {
      limiter.onResponse(status, retryAfter);
      reachability.onResponse(status, isTooBusy(status, retryAfter));
    },
  };
  return { ...session, service: { ...service, events: quietEvents, rateLimiter } };
}

/** Returns undefined if the results are not a file. */
function resultsFile(results: string | undefined, context: Context) {
  if (results === undefined || results === '-') return undefined;
  return { path: resolvePath(results, context.cwd, context), name: results };
}

/** Opens where the rows are recorded: a file that can be resumed, stdout, or nowhere. */
async function openResults(
  plan: BatchPlan,
  results: string | undefined,
  context: Context,
): Promise<OpenResults> {
  const { clock, stdout } = context;
  const file = resultsFile(results, context);
  const { workflowId: workflow, settings, shard, defaults } = plan;
  const header = {
    workflow,
    baseUrl: settings.baseUrl.href,
    shard: `${shard.index}/${shard.count}`,
    inputs: recordInputs(defaults),
  };
  if (file !== undefined) {
    const batch = { header, inputs: defaults, rows: () => shardRows(plan) };
    return openResultsFile(ownedFileOptions(file, context), batch);
  }
  const journal = new OutputJournal(results === undefined ? undefined : stdout, () => clock.now());
  // What is written to stdout can be saved as a results file, to continue from it.
  journal.append({ event: 'batch', ...header });
  return { journal, rowStates: new RowStates(), close: () => journal.close() };
}
