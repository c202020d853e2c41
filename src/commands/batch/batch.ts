/** `wfr batch`: runs a workflow once for every row of a table; the same command resumes where the last one stopped. */
import type { Command } from 'commander';
import { BatchFileError, throwUnless, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { resolveRow } from '../../inputs/resolve.js';
import { factsOf } from '../../outcome/describe-error.js';
import { commonFolder, type RowFiles } from '../../output-documents/row-files.js';
import type { Context } from '../../platform/context.js';
import { isFile, resolvePath } from '../../platform/files.js';
import { createGate, type Gate } from '../../runs/gate.js';
import { joinFiles, listOutcomes } from '../../runs/join-files.js';
import { createLog, type Log, stdoutSink } from '../../runs/log/log.js';
import { createHeader, openResultsFile } from '../../runs/log/log-file.js';
import { formatElapsed, pluralize } from '../../text/quantity.js';
import { withoutLabel } from '../../text/row-label.js';
import { sanitize } from '../../text/sanitize.js';
import { inFolder, shellCommand, toArgs } from '../../text/shell-quote.js';
import { formatBatchSummary } from '../../view/batch-summary.js';
import { openRowFiles } from '../shared/output-folders.js';
import { adoptRuns, ownedFileOptions } from '../shared/record-file.js';
import { AS_BEFORE, endingOfRows, exitOfRows, summarize } from '../shared/row-summary.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { createBatchRun } from './batch-run.js';
import { type BatchFlags, type BatchPlan, planBatch, shardRows } from './plan.js';
import { requiresResults } from './results-place.js';
import type { RecordedTable } from './row-source.js';
import { NO_RUN, validateDecisions } from './unknown-rows.js';

/** Mistakes that --check lists at most, so that a table that is wrong in every row takes no more memory than a valid one. */
const MAX_PROBLEMS = 10_000;

/** Runs the command. */
export function execute(
  [workflow = '', ...paths]: readonly string[],
  flags: BatchFlags,
  context: Context,
  program: Command & { rawArgs?: readonly string[] },
): Promise<Exit> {
  const unplanned = [{ workflowId: workflow }];
  return runCommand(flags, unplanned, context, async (command) => {
    const { interruption } = command;
    // Opening a pipe or a slow disk may take long, and so may checking rows.
    const plan = await interruption.raceToOpen(planBatch(workflow, paths, flags, command, context));
    try {
      if (flags.check) return await interruption.raceWithSignal(checkRows(plan, context));
      const files = flags.each === undefined ? undefined : plan.samples;
      const rowFiles = await openRowFiles(flags, () => listLabels(plan), files, context);
      return await sendRows(plan, flags, await command.openSession(plan), rowFiles, program.rawArgs);
    } finally {
      await plan.close();
    }
  });
}

/** Returns the labels of all rows, also of other shards: a name is the same in each. */
async function listLabels({ table }: BatchPlan): Promise<string[]> {
  const labels: string[] = [];
  for await (const { label } of table.rows()) labels.push(label);
  return labels;
}

/** Validates all rows and files, and sends nothing. Throws UsageError with the problems of all rows. */
async function checkRows(plan: BatchPlan, context: Context): Promise<CommandOutcome> {
  /** Each mistake in its first row, and how many others have it. */
  const mistakes = new Map<string, { first: string; others: number }>();
  /** What the workflow takes. */
  const notes = new Set<string>();
  let rows = 0;
  let invalid = 0;
  let omitted = 0;
  for await (const row of shardRows(plan)) {
    rows++;
    try {
      await (await resolveRow(row, plan, context)).close();
    } catch (error) {
      throwUnless(error, UsageError);
      invalid++;
      for (const note of error.notes) notes.add(note);
      for (const problem of error.problems) {
        const reason = withoutLabel(problem, row.label);
        const known = mistakes.get(reason);
        // That of a default input is not about a row.
        if (known) known.others += Number(reason !== problem);
        else if (mistakes.size < MAX_PROBLEMS) mistakes.set(reason, { first: problem, others: 0 });
        else omitted++;
      }
    }
  }
  if (invalid > 0) {
    const problems = [...mistakes.values()].map(({ first, others }) =>
      others === 0 ? first : `${first} (and ${pluralize(others, 'more row')})`,
    );
    throw new UsageError(problems, undefined, [
      ...(omitted > 0 ? [`and ${omitted} more`] : []),
      ...notes,
      ...(rows > 1 ? [`${invalid} of ${rows} rows ${invalid === 1 ? 'is' : 'are'} invalid`] : []),
    ]);
  }
  const limit = plan.declared ? '' : '; no declared parameters to check: wfr help config';
  await context.stdout.write(`${pluralize(rows, 'row')} valid; nothing sent${limit}\n`);
  return { runs: [] };
}

/** Sends and watches the rows, and prints the summary. */
async function sendRows(
  plan: BatchPlan,
  flags: BatchFlags,
  session: Session,
  rowFiles: RowFiles | undefined,
  args: readonly string[] = [],
): Promise<CommandOutcome> {
  const { reporter, context } = session;
  const { results: file } = plan;
  const [began, started] = [context.clock.now(), context.clock.monotonic()];
  const log = await session.interruption.raceToOpen(openLog(plan, session));
  const isContinued = log.rows.known > 0;
  const gate = createGate({
    ...plan,
    clock: context.clock,
    signal: session.interruption.signal,
    onWait: reporter.waitingForService,
  });
  const gated = withGate(gate, session);
  const { rows: source = `${commonFolder(plan.samples)}/*` } = flags;
  const command = nextCommand(args, flags, context);
  const recorded = {
    id: log.recorded.batch,
    baseUrl: plan.settings.baseUrl.href,
    workflow: plan.workflowId,
    inputs: [],
    label: source === '-' ? source : resolvePath(source, context),
    results: file?.path,
    owner: context.self,
    // Without --limit, it would send more than the user meant to.
    command: command && inFolder(command(...(flags.limit ? [`--limit ${flags.limit}`] : [])), context),
  };
  const run = createBatchRun({ plan, log, gate, session: gated, files: rowFiles });
  let table: RecordedTable | undefined;
  let isOver = false;
  try {
    table = await run.prepare();
    if (table) {
      await validateDecisions(plan, log, file);
      if (file?.isDefault)
        reporter.block([sanitize(`Results file: ${file.name}; the same command continues from it.`)]);
      session.history.recordTrigger({ ...recorded, rows: { waiting: table.total } }, began);
      await settle(plan, log, gated);
      await run.run(table, await reporter.startBatchProgress(run.counts));
    }
    isOver = true;
  } finally {
    reporter.stopProgress();
    gate.close();
    await log.close(!isOver && log.rows.known === 0).catch(run.fail);
  }
  for (const warning of rowFiles?.warnings ?? []) reporter.warn(warning);
  const failed = run.failure ?? rowFiles?.failure;
  const failure = failed ? factsOf(failed) : undefined;
  if (failure?.code === 'internal') throw failed;
  if (failure) reporter.error(failure);
  const total = table?.total;
  // Which separator its cells have is not known to the command that saves it.
  const savedTable = flags.delimiter || !(await isFile(recorded.label)) ? undefined : flags.rows;
  const { unsent, triggered } = run.runner.counts;
  const summary = summarize(log.rows, {
    total,
    notes: run.notes(),
    // The file of one shard cannot be joined alone.
    results: file && plan.shard.count === 1 ? [file.name, ...toArgs({ rows: savedTable })] : [],
    command,
    same: 'the same command',
    // Again, that would trigger another run for what has failed since.
    change: flags.retryFailed === undefined ? '' : ', without --retry-failed',
    isLimited: unsent > 0,
    isUndecided: log.recorded.completed?.undecided !== undefined,
  });
  if (table) {
    const { gone, ...rows } = Object.fromEntries(summary.counts);
    session.history.recordTrigger({ ...recorded, rows }, began, { isEnd: true });
  }
  // The exits of this command say already why rows run or wait.
  const exit = exitOfRows(run.exits(), log.rows, ['running', 'waiting']);
  // An error of the table says why it has no rows.
  const hasRows = !failure || log.rows.known > 0;
  const now = `${triggered === 0 ? 'no run' : pluralize(triggered, 'run')} triggered now; `;
  const fact = `${isContinued ? now : ''}took ${formatElapsed(context.clock.monotonic() - started)}`;
  if (hasRows && (exit === ExitCode.ok || reporter.showsErrors)) {
    const shown = log.rows.known === 0 ? summary : { ...summary, fact };
    const { stderr, platform } = context;
    reporter.notice(formatBatchSummary(shown, reporter.style, stderr.columns, platform).join('\n'));
  }
  const rows = { ...endingOfRows(log.rows, summary), retryAfter: run.retryAfter };
  const joined = flags.report && file && (await joinFiles([file]));
  return { runs: joined ? await listOutcomes(joined) : [], period: joined?.period, exit, failure, rows };
}

/** Records what the user found out about unknown rows. Throws what adoptRuns throws. */
async function settle({ adoptions }: BatchPlan, log: Log, session: Session): Promise<void> {
  const unknown = adoptions.filter(({ row }) => log.rows.recordedState(row) === 'unknown');
  const found = unknown.filter(({ id }) => id !== NO_RUN);
  await adoptRuns(found, log, session);
  for (const { row, id } of unknown) if (id === NO_RUN) await log.commit({ event: 'uncreated', row });
}

/** The longest command line that is printed to be pasted. */
const MAX_COMMAND = 1_000;

/** Stands for the value of an input until the command is quoted. */
const VALUE = 'WFR_VALUE';

/**
 * Returns this command with other flags, and with `<as-before>` for values of inputs: no shell runs it until these are replaced.
 * Returns undefined if it could contain a secret, is long, or cannot be continued.
 */
function nextCommand(
  args: readonly string[],
  { header, input = [], results }: BatchFlags,
  { platform }: Context,
) {
  // With quotes, a shell would take that for a text.
  const isPlain = input.every((item) => /^[\w.-]+(@|:?=)/.test(item));
  if (header || !isPlain || results === '-') return undefined;
  // A long item may end with a short one.
  const items = input.toSorted((one, other) => other.length - one.length);
  const withoutValue = (arg: string) => {
    const item = items.find((one) => arg.endsWith(one)) ?? '';
    return arg.slice(0, arg.length - item.length) + item.replace(/^([\w.-]+:?=).*/s, `$1${VALUE}`);
  };
  const kept = args.map(withoutValue).filter((arg, index) => {
    const isDecided = /^--(adopt|resend-unknown|retry-failed|send-changed|limit)(=.*)?$/.test(arg);
    // The value of two of them is optional.
    const mayHaveValue = /^--(adopt|resend-unknown|retry-failed|limit)$/.test(args[index - 1] ?? '');
    return !isDecided && !(mayHaveValue && /^\d/.test(arg));
  });
  const end = kept.includes('--') ? kept.indexOf('--') : kept.length;
  const command = (...flags: string[]) => {
    const text = shellCommand(['wfr', ...kept.slice(0, end)], platform).replaceAll(VALUE, AS_BEFORE);
    const rest = end < kept.length ? [shellCommand(kept.slice(end), platform)] : [];
    return [text, ...flags.filter((flag) => !kept.includes(flag)), ...rest].join(' ');
  };
  return command().length > MAX_COMMAND ? undefined : command;
}

/** Adds the batch's gate to a session, and silences messages about single requests, which would hide the rest. */
function withGate(gate: Gate, session: Session): Session {
  const { service, reporter } = session;
  const { events } = service;
  const retrying = reporter.verbose ? events.retrying : () => {};
  return { ...session, service: { ...service, events: { ...events, retrying }, gate } };
}

/** Opens where the rows are recorded: a file that can be resumed, or stdout. */
async function openLog(plan: BatchPlan, session: Session): Promise<Log> {
  const { clock, stdout } = session.context;
  const { target, defaults, adoptions, retryFailed, results: file } = plan;
  if (file) {
    const isUndecided = adoptions.length + retryFailed.length === 0;
    const opening = openResultsFile(ownedFileOptions(file, session), target, defaults, isUndecided);
    return opening.catch((error) => {
      const isPlace = file.isDefault && error instanceof UsageError && !(error instanceof BatchFileError);
      throw isPlace ? requiresResults(error.problems.join('; ').replace('--results ', '')) : error;
    });
  }
  const log = createLog(clock, stdoutSink(stdout));
  // What is written to stdout can be saved as a results file, to continue from it.
  log.record(createHeader(target, defaults));
  return log;
}
