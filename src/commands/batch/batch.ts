/** `wfr batch`: one workflow for every row of a table, none twice, none lost. */

import { openResultsFile } from '../../batch/open-journal.js';
import { OutputJournal } from '../../batch/output-journal.js';
import { RateLimiter } from '../../batch/rate-limiter.js';
import { Reachability } from '../../batch/reachability.js';
import { RowStates } from '../../batch/row-states.js';
import { requireToken } from '../../config/credentials.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/path.js';
import { Interruption } from '../../platform/signals.js';
import type { ServiceEvents } from '../../service/service.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import { withService } from '../shared/open-service.js';
import { reportedRuns } from '../shared/reported-rows.js';
import { exitsOf, summaryLines } from '../shared/row-summary.js';
import { withReports } from '../shared/with-reports.js';
import { BatchRun } from './batch-run.js';
import { type BatchFlags, type BatchPlan, planBatch, rowsOf } from './plan.js';
import { resolveInputsOf } from './row-inputs.js';
import { adoptRuns, checkDecisions } from './settle.js';

export async function batch(
  workflow: string,
  files: readonly string[],
  flags: BatchFlags,
  context: Context,
): Promise<Exit> {
  const { report, results } = flags;
  if (report === undefined) return runBatch(workflow, files, flags, async () => {}, context);
  if (results === undefined || results === '-')
    throw new UsageError(['--report needs --results <file.jsonl>']);
  const subjects = () => [{ workflowId: workflow }];
  return withReports(flags, context, subjects, async (openReports) => {
    // Also what no row came to: a signal, a table that cannot be read on, a disk that is full.
    const exit = await runBatch(workflow, files, flags, openReports, context);
    if (flags.check === true) return { runs: [], exit };
    return {
      runs: await reportedRuns([{ path: resolvePath(results, context.cwd, context), name: results }]),
      exit,
    };
  });
}

async function runBatch(
  workflow: string,
  files: readonly string[],
  flags: BatchFlags,
  openReports: () => Promise<void>,
  context: Context,
): Promise<Exit> {
  const plan = await planBatch(workflow, files, flags, openReports, context);
  try {
    if (flags.check === true) return await check(plan, context);
    await requireToken(plan.credentials, flags, plan.settings.baseUrl);
    await expectResults(plan, flags);
    return await carryOut(plan, flags, context);
  } finally {
    await plan.close();
  }
}

/** Validates all rows and files, and sends nothing. Throws UsageError with what is wrong with each row. */
async function check(plan: BatchPlan, context: Context): Promise<Exit> {
  const problems: string[] = [];
  let rows = 0;
  for await (const row of rowsOf(plan)) {
    rows++;
    try {
      await (await resolveInputsOf(row, plan, context)).close();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
  await context.stderr.write(`${rows} ${rows === 1 ? 'row is' : 'rows are'} right; nothing was sent.\n`);
  return ExitCode.ok;
}

/** Throws UsageError where there is more than one row, and nothing to write down what becomes of them. */
async function expectResults(plan: BatchPlan, { results }: BatchFlags): Promise<void> {
  if (results !== undefined) return;
  let rows = 0;
  for await (const _row of rowsOf(plan)) {
    if (++rows < 2) continue;
    throw new UsageError([
      'several rows need --results <file.jsonl>: what became of each is written there, and the same command goes on from it (--results - writes to stdout)',
    ]);
  }
}

async function carryOut(plan: BatchPlan, flags: BatchFlags, context: Context): Promise<Exit> {
  const { settings, credentials, presentation } = plan;
  const { journal, ledger, close } = await openJournal(plan, flags.results, context);
  const interruption = new Interruption(context);
  const reporter = await Reporter.open(presentation, context);
  for (const warning of [...settings.warnings, ...plan.warnings]) reporter.warn(warning);
  const reachability = new Reachability(context.clock, interruption.signal, (cause, delay) =>
    reporter.waitingForService(cause, delay),
  );
  const work = new BatchRun(plan, ledger, journal, reachability, interruption, context);
  try {
    await checkDecisions(plan, ledger, resultsFile(flags.results, context));
    await withService(settings, credentials, talkOf(reporter), context, async (unpaced) => {
      const pacing = new RateLimiter(plan.rate, context.clock, (ms) => reporter.rateLimited(ms));
      const service = { ...unpaced, pacing };
      const { signal } = interruption;
      await adoptRuns(plan.adoptions, { service, journal, ledger, reporter, signal });
      await reporter.withBatchProgress(
        () => work.counts(),
        (view) => work.carryOut(service, view),
      );
    });
  } finally {
    interruption.release();
    await close().catch((error) => work.fail(error));
  }
  work.endBySignal();
  work.noteUnderWay();
  if (work.failure !== undefined && !reporter.error(work.failure)) throw work.failure;
  reporter.block(summaryLines(ledger, work.counts().total, work.notes));
  return exitOfSeveral([...work.exits, ...exitsOf(ledger)]);
}

/** Of many rows at once, what is said of each request would hide the rest: re-sends show with --verbose. */
function talkOf(reporter: Reporter): ServiceEvents {
  const talk = serviceLogger(reporter);
  let lingers = false;
  return {
    ...talk,
    retrying: reporter.presentation.verbose ? talk.retrying : () => {},
    awaitingId(ms, signal) {
      if (!lingers) talk.awaitingId(ms, signal);
      lingers = true;
    },
  };
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
    return { journal, ledger: new RowStates(), close: () => journal.close() };
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
  return openResultsFile(place, head, () => rowsOf(plan));
}
