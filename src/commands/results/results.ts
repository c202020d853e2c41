/** `wfr results`: joins the results files of a batch, and prints the summary. */

import { chooseProfile } from '../../config/profile.js';
import { currentBaseUrl } from '../../config/resolve-setting.js';
import {
  collectUsageErrors,
  exclusive,
  type Facts,
  throwProblems,
  throwUnless,
  UsageError,
  unknownName,
} from '../../errors.js';
import { ERROR_CODES, type Exit, ExitCode, exitOfSeveral, toExitCode } from '../../exit-code.js';
import { continuation, findByStart, isBatch, openHistory, type PastRun } from '../../history/history.js';
import { openRows } from '../../inputs/files.js';
import { expandPatterns } from '../../inputs/folder-files.js';
import { factsOf } from '../../outcome/describe-error.js';
import { exitOfError, type Outcome, wordOf } from '../../outcome/outcome.js';
import type { RowFiles } from '../../output-documents/row-files.js';
import { type Context, isAliveHere } from '../../platform/context.js';
import { assertDistinctFiles, isFile, resolvePath, shownPath, statOf } from '../../platform/files.js';
import { type Interruption, openStdoutQueue } from '../../platform/signals.js';
import { type JoinedFiles, joinFiles, joinTable, listOutcomes, readOutcomes } from '../../runs/join-files.js';
import type { Owner } from '../../runs/log/lock.js';
import { ROW_STATES, type RowState } from '../../runs/log/reduce.js';
import type { ResultsFile } from '../../runs/log/row-lines.js';
import { isFinished, outputOf } from '../../service/run.js';
import { writtenTable } from '../../table/table.js';
import { listValues, type ValuePointer } from '../../text/json/pointer.js';
import { formatElapsed, formatUtc, pluralize } from '../../text/quantity.js';
import { COMMANDS_WARNING, createCommandFinder } from '../../text/sanitize.js';
import { shellCommand, toArgs } from '../../text/shell-quote.js';
import { type BatchSummary, formatBatchSummary } from '../../view/batch-summary.js';
import { printErrors } from '../../view/errors/print-error.js';
import { decidePresentation, isCiLog, openLayout, type PresentationFlags } from '../../view/presentation.js';
import { openReporter, type Reporter } from '../../view/reporter.js';
import {
  type DocumentFlags,
  type OutputFlags,
  parseDelimiter,
  parseFormat,
  parseValuePointer,
  type ReportFlags,
} from '../shared/output-flags.js';
import { openRowFiles } from '../shared/output-folders.js';
import { namedFile, reportFiles } from '../shared/reports.js';
import {
  copiesNotes,
  endingOfRows,
  exitOfRows,
  type SummaryFacts,
  summarize,
} from '../shared/row-summary.js';
import { runCommand } from '../shared/session.js';
import { formatRows, RESULTS_FORMATS, type RowsLayout, TIMES, UNFINISHED } from './format-rows.js';
import { nameOfColumn } from './row-table.js';

export interface ResultsFlags extends ReportFlags, OutputFlags, DocumentFlags, PresentationFlags {
  get?: string[];
  rows?: string | true;
  only?: string[];
  excel?: boolean;
  delimiter?: string;
}

/** Prints the results in a format, and writes the reports. Throws UsageError for files that cannot be joined. */
export function execute(patterns: readonly string[], flags: ResultsFlags, context: Context): Promise<Exit> {
  return runCommand(flags, [], context, async ({ reports, interruption }) => {
    const named = await Promise.all(patterns.map((text) => resultsFileOf(text, context)));
    const names = [...new Set(await expandPatterns(named, context))];
    const files = names.map((name) => ({ name, path: resolvePath(name, context) }));
    const { only, report, rows, saveOutputs, saveDocuments } = flags;
    const namedTable = rows === true ? undefined : rows;
    // With a table, what is no pointer is a column of it.
    const isColumn = (name: string) => rows !== undefined && /^[^/]/.test(name);
    const chosenColumns = flags.get?.filter(isColumn) ?? [];
    const get = flags.get?.filter((name) => !isColumn(name)) ?? [];
    const plan = await collectUsageErrors({
      format: () => parseResultsFormat(flags),
      pointers: () => get.map((text) => parseValuePointer(text, ' (a column requires --rows)')),
      delimiter: () => parseDelimiter(flags.delimiter),
      outcomes: () => assertOutcomes(flags.only),
      files: () =>
        assertDistinctFiles([
          ...reportFiles(flags, context),
          ...files.map((file) => ({ ...file, isWritten: false })),
          ...namedFile(`--rows ${namedTable}`, namedTable, context, false),
        ]),
      reports: reports.open,
    });
    const all = await joinFiles(files, context.uid).catch(async (error) => {
      throwUnless(error, UsageError);
      throw new UsageError(error.problems, await findHint(files, context));
    });
    const { isMixed, problems, absent } = all;
    const isText = plan.format === 'text';
    const hasRows = !isText || [flags.get, only, rows].some((flag) => flag !== undefined);
    const writer = all.openedBy.find((owner) => isAliveHere(owner, context.self));
    const { command, source } = await findBatch(all, context);
    if (namedTable !== undefined && source === '') {
      const all = shellCommand(['wfr', 'results', ...names, '--rows']);
      throw new UsageError(`--rows ${namedTable}: the batch has no table`, all);
    }
    const tablePath = (rows === true ? source : rows) || undefined;
    const { signal } = interruption;
    const file =
      tablePath === undefined || problems.length > 0
        ? undefined
        : await interruption.raceToOpen(openRows(tablePath, context, signal));
    try {
      const paths = { base: context.cwd, within: undefined };
      const table = file && (await writtenTable({ ...file, paths, delimiter: plan.delimiter }));
      const joined = table ? await joinTable(all, table) : all;
      const notes: string[] = [];
      const chosen = get.length === 0 ? undefined : get;
      const savedRows = hasRows ? rows : Boolean(source) || undefined;
      const delimiter = rows && flags.delimiter;
      const results =
        isText && problems.length + absent.length === 0 && !saveOutputs
          ? [...names, ...toArgs({ get: flags.get, only, rows: savedRows, delimiter, saveDocuments })]
          : [];
      const list = hasRows ? [] : [...names, '--rows'];
      const describe = () =>
        summaryOf(joined, { notes, results, command, list, only, table: source }, writer);
      const printSummary = async (summary: BatchSummary, isSeen = false) => {
        // With JSON, the counts are in the result or in the error.
        if (isMixed || (!isText && context.errorsAsData)) return;
        // Below a table it is read with it; of other formats, stdout has the rows alone.
        const output = { ...context, stdout: isText ? context.stdout : context.stderr };
        const { style, width } = await openLayout(flags.color, output);
        const lines = formatBatchSummary(
          isSeen ? { ...summary, reasons: [] } : summary,
          style,
          width,
          context.platform,
        );
        if (isText && hasRows) lines.unshift('');
        await openStdoutQueue(output, interruption).writeSummary(`${lines.join('\n')}\n`);
      };
      if (problems.length > 0) {
        if (!hasRows) await printSummary(describe());
        throw new UsageError([...problems, ...absent]);
      }
      const columns = chooseColumns(chosenColumns, table?.columns);
      const { warn } = await openReporter(decidePresentation(flags, context), context);
      const rowFiles = await openRowFiles(flags, () => listLabels(joined), undefined, context);
      const failures = rowFiles ? await saveRows(joined, rowFiles, warn, signal) : [];
      const saved = joined.rows.count('finished') - (rowFiles?.counts.unsaved ?? 0);
      if (saveOutputs) notes.push(`${pluralize(saved, 'output')} saved in ${saveOutputs}.`);
      if (rowFiles && saveDocuments)
        notes.push(`${pluralize(rowFiles.counts.documents, 'document')} saved in ${saveDocuments}.`);
      notes.push(...(report ?? []).map((target) => `Report: ${target}`));
      const exit = exitOfSeveral([exitOf(joined, writer), ...failures.map(exitOfError)]);
      const summary = describe();
      if (hasRows) {
        const page = await openLayout(flags.color, context);
        const outputOf = (outcome: Outcome) => {
          const { state, row, run } = outcome;
          const files = state === 'gone' ? undefined : rowFiles;
          return run && (files?.outputOf(labelOf(outcome), row, run) ?? run.output);
        };
        const pointers = chosen ? plan.pointers : await findValues(joined, plan.format, !table, signal);
        const layout = { ...flags, ...plan, get: chosen, columns, pointers, page, table, source, outputOf };
        const formatted = formatRows(joined, layout);
        await printRows(formatted, factsOfRows(joined, summary, exit), warn, context, interruption);
        // A lost row is told by its id.
        const isListed =
          joined.rows.known <= MAX_SEEN && joined.rows.count('lost') === 0 && formatted.unlisted() <= 0;
        await printSummary(summary, isText && (only !== undefined || isListed));
      } else await printSummary(summary);
      throwProblems(absent);
      const runs = report ? await listOutcomes(joined) : [];
      const ending = { ...endingOfRows(joined.rows, summary), hasOpen: false };
      await printErrors(failures, flags.color, context);
      return { runs, period: joined.period, exit, failure: failures[0], rows: ending };
    } finally {
      await file?.close();
    }
  });
}

/**
 * Returns the results file of the batch whose id in the history this is, or begins, or of the latest one for `@last`; the text
 * itself if it is a path, or a file has this name. Throws UsageError for none or several batches, for one without a file, and for a run.
 */
async function resultsFileOf(text: string, context: Context): Promise<string> {
  if (!/^[@\w-]{2,}$/.test(text) || (await statOf(resolvePath(text, context)))) return text;
  const past = await openHistory(context).readAll();
  const found =
    text === '@last'
      ? past.filter(({ results }) => results).slice(0, 1)
      : past.filter(({ id }) => id === text || findByStart(text, [id]).length > 0);
  if (found.length === 0)
    throw new UsageError(`${text}: neither a file nor a batch of the history`, 'wfr history');
  // A batch without any run may have been continued at another service: the latest one has its file.
  const [batch, ...others] = found.filter(isBatch);
  if (!batch) throw new UsageError(`${text}: is a run, not a batch; wfr watch ${text} prints its output`);
  if (others.some(({ id }) => id !== batch.id))
    throw new UsageError(`${text}: several batches of the history begin with it`);
  if (batch.results === undefined) throw new UsageError(`${text}: this batch wrote its results to stdout`);
  return shownPath(batch.results, context.cwd);
}

/** Returns the command for files that may be the tables or folders of batches: their results files are beside them, by default. */
async function findHint(files: readonly ResultsFile[], context: Context): Promise<string> {
  const beside = files.map(({ name }) => `${name}.*.results.jsonl`);
  const found = await expandPatterns(beside, context).catch(() => []);
  if (found.length > 0) return shellCommand(['wfr', 'results', ...found]);
  const isSource = ({ label = '' }: PastRun) =>
    files.some(({ path }) => path === label.replace(/[\\/]\*$/, ''));
  const { results } = (await openHistory(context).readSoon()).find(isSource) ?? {};
  return results ? shellCommand(['wfr', 'results', shownPath(results, context.cwd)]) : 'wfr history';
}

/**
 * Returns what the history has of the batch of the first file: the command that continues it, with more flags, if it is the only
 * one, and the path of its table, which is empty for a folder. Each is undefined if it is not known.
 */
async function findBatch({ files, header, isComplete }: JoinedFiles, context: Context) {
  const batch = (await openHistory(context).readSoon()).find(
    // The command knows the file by its path, and would trigger all runs again without it.
    ({ id, results }) => files[0]?.path === results && id.replaceAll('-', '') === header?.rowSalt,
  );
  // The results are shown whatever the config file has.
  const profile = await chooseProfile({}, context).catch(() => undefined);
  const current = currentBaseUrl({ flags: {}, profile, context });
  const { label = '', command, baseUrl = '' } = batch ?? {};
  // Which separator its cells have is not known here.
  const isTable = !/ --delimiter\b/.test(command ?? '') && (await isFile(label));
  // What --limit has left waits for a command without it; what a signal has left does not.
  const known = files.length > 1 ? undefined : command?.replace(isComplete ? LIMIT : '', '');
  return {
    command: continuation({ command: known, baseUrl }, current, context),
    source: isTable ? shownPath(label, context.cwd) : label.endsWith('*') ? '' : undefined,
  };
}

/** Matches the flag in a recorded command, which has it last. */
const LIMIT = / --limit \d+(?= -- |$)/;

/** Throws UsageError for an unknown format, or one that cannot be printed. */
function parseResultsFormat(flags: ResultsFlags): RowsLayout['format'] {
  const { get, rows, excel, delimiter } = flags;
  const format = parseFormat(flags, RESULTS_FORMATS);
  throwProblems([
    excel && format !== 'csv' && '--excel requires --output csv',
    delimiter && format !== 'csv' && !rows && `--delimiter ${delimiter}: requires --output csv or --rows`,
  ]);
  if (format === 'id' && (get || rows)) throw exclusive(get ? '--get' : '--rows', '--output id');
  return format;
}

/** Throws UsageError for what is no outcome of a row. */
function assertOutcomes(words: readonly string[] = []): void {
  const known = new Set([UNFINISHED, ...(Object.keys(ROW_STATES) as RowState[]).map(wordOf)]);
  const expected = `expected ${[...known].join(', ')}`;
  throwProblems(words.map((word) => !known.has(word) && `--only ${word}: ${expected}`));
}

/** Returns the columns of a table, if there is one, with these names, or all without a name. Throws UsageError for an unknown one. */
function chooseColumns(names: readonly string[], columns: readonly string[] | undefined) {
  const known = columns?.map(nameOfColumn);
  const [unknown] = names.filter((name) => !known?.includes(name));
  const start = `--get ${unknown}: neither a JSON Pointer nor a column of the table`;
  if (unknown !== undefined) throw known ? unknownName(`${start}; `, unknown, known) : new UsageError(start);
  return names.length === 0 ? columns : columns?.filter((column) => names.includes(nameOfColumn(column)));
}

/** Rows of a table that is on the screen, with their reasons, when its summary is read. */
const MAX_SEEN = 20;

/** Outputs whose values have columns for people, and these columns at most. */
const MAX_OUTPUTS = 5_000;
const MAX_VALUES = 30;

/** Returns pointers to the values of the outputs: of the first ones for people, of all in CSV; others show the output itself. */
async function findValues(
  joined: JoinedFiles,
  format: RowsLayout['format'],
  withGone: boolean,
  signal: AbortSignal,
): Promise<ValuePointer[]> {
  const whole = { text: '', segments: [] };
  const isText = format === 'text';
  if (!isText && format !== 'csv') return [whole];
  const found = new Map<string, ValuePointer>();
  // An output that has no values, or too many, is shown whole.
  let hasWhole = isText;
  let count = 0;
  for await (const { run } of readOutcomes(joined, { withGone })) {
    signal.throwIfAborted();
    if (!isFinished(run)) continue;
    for (const { text, segments } of listValues(outputOf(run))) {
      if (text === '') hasWhole = true;
      else found.set(text, { text, segments });
    }
    if (found.size > MAX_VALUES || (isText && ++count === MAX_OUTPUTS)) break;
  }
  if (found.size > MAX_VALUES && !isText) return [whole];
  const values = [...found.values()].slice(0, MAX_VALUES);
  return hasWhole || values.length === 0 ? [...values, whole] : values;
}

/** Returns the label of a row, which a row that an older wfr recorded may not have. */
const labelOf = ({ label, row }: Outcome) => label ?? `:${row}`;

async function listLabels(joined: JoinedFiles): Promise<string[]> {
  const labels: string[] = [];
  for await (const outcome of readOutcomes(joined)) labels.push(labelOf(outcome));
  return labels;
}

/** Saves the files of all finished rows; returns the first error of those that could not be saved. */
async function saveRows(
  joined: JoinedFiles,
  files: RowFiles,
  warn: Reporter['warn'],
  signal: AbortSignal,
): Promise<Facts[]> {
  for await (const outcome of readOutcomes(joined)) {
    signal.throwIfAborted();
    const { run, row } = outcome;
    if (isFinished(run)) await files.save(labelOf(outcome), row, run);
  }
  for (const warning of files.warnings) warn(warning);
  return files.failure === undefined ? [] : [factsOf(files.failure)];
}

/** Prints the rows until stdout is closed, and warns about what they do not show. Throws UsageError and OutputError. */
async function printRows(
  rows: ReturnType<typeof formatRows>,
  facts: object,
  warn: Reporter['warn'],
  context: Context,
  interruption: Interruption,
): Promise<void> {
  const { stdout } = context;
  const queue = openStdoutQueue(context, interruption);
  const hasCommand = createCommandFinder();
  let hasCommands = false;
  for await (const piece of rows.chunks(facts)) {
    hasCommands = hasCommand(piece);
    await queue.write([piece]);
    if (stdout.isClosed) return;
  }
  if (hasCommands && isCiLog(context)) warn(COMMANDS_WARNING);
  for (const warning of rows.warnings()) warn(warning);
}

/** Returns what `-o json` has beside the rows. */
function factsOfRows({ rows, total, period }: JoinedFiles, { counts }: BatchSummary, exit: Exit): object {
  const reasons = rows.reasons().map(({ state, step, message, rows, count }) => {
    return { outcome: wordOf(state), step: step || null, message, rows, count };
  });
  return {
    exitCode: toExitCode(exit),
    total: total ?? null,
    started: TIMES.started(period ?? {}),
    duration: TIMES.duration(period ?? {}),
    counts: Object.fromEntries(counts),
    reasons,
  };
}

/** Returns what is said of the rows. While their `writer` is alive, nothing is to do, and what has no response may get one. */
function summaryOf(
  joined: JoinedFiles,
  { notes: said, ...facts }: Pick<SummaryFacts, 'notes' | 'results' | 'command' | 'list' | 'only' | 'table'>,
  writer: Owner | undefined,
) {
  const { rows, total, copies, missing, period, header, isLimited } = joined;
  const { batchTable, files } = joined;
  const isOnce = header?.salt !== undefined;
  const name = `wfr ${isOnce ? 'run' : 'batch'}`;
  const runs = `${name} is running (process ${writer?.pid}): rows may change.`;
  const ended = `The total number of rows is unknown: ${name} has not ended.`;
  const last = 'Running rows may have ended since.';
  const notes = [
    writer ? runs : total === undefined && ended,
    !writer && rows.count('running') > 0 && last,
    batchTable && `The batch's table is ${batchTable}.`,
    ...copiesNotes(copies),
    ...said,
  ].flatMap((note) => note || []);
  const known = total && total - missing;
  const same = `the ${name} command`;
  const isUndecided = files.some(({ recorded }) => recorded.completed?.undecided);
  const all = summarize(rows, { ...facts, total: known, notes, isOnce, same, isLimited, isUndecided });
  // A command that continues has the table of the batch.
  const summary = writer || batchTable ? { ...all, next: [] } : all;
  if (!period) return summary;
  const { startedAt, durationMs } = period;
  const length = formatElapsed(durationMs);
  return { ...summary, period: `Began ${formatUtc(startedAt)}, last change ${length} later` };
}

/** Returns the exit of the batch, as it would be if it ended now. */
function exitOf(
  { rows, stoppedBy, isComplete, isLimited, absent, total = Number.POSITIVE_INFINITY }: JoinedFiles,
  writer?: Owner,
): Exit {
  if (absent.length > 0) return ExitCode.usage;
  const exits: Exit[] = [];
  if (stoppedBy !== undefined) exits.push(ERROR_CODES[stoppedBy][0] as ExitCode);
  else if (rows.known < total && !(isComplete && isLimited)) exits.push(ExitCode.stillRunning);
  const exit = exitOfRows(exits, rows);
  // A response may come yet.
  return writer && exit === ExitCode.unknownOutcome ? ExitCode.stillRunning : exit;
}
