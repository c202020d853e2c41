/** `wfr batch`: one workflow for every row of a table, none twice, none lost. */

import { OutputJournal } from '../../batch/journal/output-journal.js';
import { openResultsFile } from '../../batch/journal/results-file.js';
import { RateLimiter } from '../../batch/rate-limiter.js';
import { Reachability } from '../../batch/reachability.js';
import { RowStates } from '../../batch/row-states.js';
import { requireToken } from '../../config/credentials.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { ReportedRun } from '../../report/reported-run.js';
import type { ServiceEvents } from '../../service/service.js';
import { readReportedRuns } from '../shared/reported-rows.js';
import { exitsOfRows, summaryLines } from '../shared/row-summary.js';
import { type CommandEnd, runCommand, type Session } from '../shared/session.js';
import { BatchRun } from './batch-run.js';
import { type BatchFlags, type BatchPlan, planBatch, shardRows } from './plan.js';
import { resolveRowInputs } from './row-inputs.js';
import { adoptRuns, validateDecisions } from './unknown-rows.js';

/** Throws UsageError. */
export function batch(
  workflow: string,
  files: readonly string[],
  flags: BatchFlags,
  context: Context,
): Promise<Exit> {
  return runCommand(flags, [{ id: undefined, workflowId: workflow }], context, async (command) => {
    const plan = await planBatch(workflow, files, flags, command.reports, context);
    try {
      if (flags.check === true) return await check(plan, context);
      await requireToken(plan.credentials, plan.settings.baseUrl, command.interruption.signal);
      await assertResults(plan, flags);
      return await runRows(plan, flags, await command.openSession(plan));
    } finally {
      await plan.close();
    }
  });
}

/** Validates all rows and files, and sends nothing. Throws UsageError with what is wrong with each row. */
async function check(plan: BatchPlan, context: Context): Promise<CommandEnd> {
  const problems: string[] = [];
  let rows = 0;
  for await (const row of shardRows(plan)) {
    rows++;
    try {
      await (await resolveRowInputs(row, plan, context)).close();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
  await context.stderr.write(`${rows} ${rows === 1 ? 'row is' : 'rows are'} right; nothing was sent.\n`);
  return { runs: [], exit: ExitCode.ok };
}

/** Throws UsageError where there is more than one row, and nothing to write down what becomes of them. */
async function assertResults(plan: BatchPlan, { results }: BatchFlags): Promise<void> {
  if (results !== undefined) return;
  let rows = 0;
  for await (const _row of shardRows(plan)) {
    if (++rows < 2) continue;
    throw new UsageError([
      'several rows need --results <file.jsonl>: what became of each is written there, and the same command goes on from it (--results - writes to stdout)',
    ]);
  }
}

async function runRows(plan: BatchPlan, flags: BatchFlags, session: Session): Promise<CommandEnd> {
  const { reporter, context } = session;
  const { journal, rowStates, close } = await openJournal(plan, flags.results, context);
  const run = withRateLimit(plan, session);
  const reachability = new Reachability(context.clock, session.interruption.signal, (cause, delay) =>
    reporter.waitingForService(cause, delay),
  );
  const work = new BatchRun(plan, rowStates, journal, reachability, run);
  try {
    await validateDecisions(plan, rowStates, resultsFile(flags.results, context));
    await adoptRuns(plan.adoptions, journal, rowStates, run);
    const view = await reporter.startBatchProgress(() => work.counts());
    await work.run(view);
  } finally {
    reporter.stopProgress();
    await close().catch((error) => work.fail(error));
  }
  work.endBySignal();
  work.noteUnderWay();
  if (work.failure !== undefined && !reporter.error(work.failure)) throw work.failure;
  reporter.block(summaryLines(rowStates, work.counts().total, work.notes));
  const exit = exitOfSeveral([...work.exits, ...exitsOfRows(rowStates)]);
  return { runs: await rowsToReport(flags, context), exit };
}

async function rowsToReport(flags: BatchFlags, context: Context): Promise<ReportedRun[]> {
  const file = flags.report === undefined ? undefined : resultsFile(flags.results, context);
  return file === undefined ? [] : readReportedRuns([file]);
}

/** The session with a rate limit for all rows; of many rows at once, messages about each request would hide the rest. */
function withRateLimit({ rate }: BatchPlan, session: Session): Session {
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
  const rateLimiter = new RateLimiter(rate, context.clock, (ms) => reporter.rateLimited(ms));
  return { ...session, service: { ...service, events: quietEvents, rateLimiter } };
}

/** The results file, where there is one. */
function resultsFile(results: string | undefined, context: Context) {
  if (results === undefined || results === '-') return undefined;
  return { path: resolvePath(results, context.cwd, context), name: results };
}

/** Where what becomes of the rows is written: a file that can be gone on from, stdout, or nowhere. */
async function openJournal(plan: BatchPlan, results: string | undefined, context: Context) {
  const file = resultsFile(results, context);
  if (file === undefined) {
    const journal = new OutputJournal(results === undefined ? undefined : context.stdout, () =>
      context.clock.now(),
    );
    return { journal, rowStates: new RowStates(), close: () => journal.close() };
  }
  const { host, pid, space, isAlive } = context.self;
  const { randomBytes } = await import('node:crypto');
  const place = {
    ...file,
    owner: { host, pid, space, token: randomBytes(4).toString('hex') },
    isAlive,
    clock: context.clock,
  };
  const { workflowId: workflow, settings, shard } = plan;
  const head = { workflow, baseUrl: settings.baseUrl.href, shard: `${shard.index}/${shard.count}` };
  return openResultsFile(place, head, () => shardRows(plan));
}
