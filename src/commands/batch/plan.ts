/** Validates the command line of a batch, before anything is sent. */

import { join } from 'node:path';
import { findSources } from '../../config/profile.js';
import { resolveWaitSettings, type ServiceFlags } from '../../config/resolve-setting.js';
import {
  assertOneBody,
  findDeclaredWorkflow,
  resolveTriggerSettings,
  resolveWorkflowId,
} from '../../config/workflow.js';
import { closeOnError, collectUsageErrors, exclusive, throwProblems, UsageError } from '../../errors.js';
import { expandPatterns, filesInFolder } from '../../inputs/folder-files.js';
import { describeTexts, parseItems } from '../../inputs/item.js';
import { checkColumns } from '../../inputs/resolve.js';
import type { Context } from '../../platform/context.js';
import { assertDistinctFiles, isFolder, resolvePath, statOf } from '../../platform/files.js';
import { beginsAsLog } from '../../runs/log/log-file.js';
import type { Row } from '../../table/row.js';
import { shellCommand } from '../../text/shell-quote.js';
import { comparableId } from '../../text/url.js';
import type { PresentationFlags } from '../../view/presentation.js';
import { type DocumentFlags, parseNumber, type ReportFlags } from '../shared/output-flags.js';
import { namedFile, reportFiles } from '../shared/reports.js';
import type { CommandResources } from '../shared/session.js';
import { sessionSteps } from '../shared/session-steps.js';
import { assertTable, openTable, type TableFlags } from './open-table.js';
import { chooseResults } from './results-place.js';
import { parseAdoptions, parseSelection } from './unknown-rows.js';

export interface BatchFlags extends ServiceFlags, PresentationFlags, ReportFlags, TableFlags, DocumentFlags {
  input?: string[];
  results?: string;
  concurrency?: string;
  rate?: string;
  shard?: string;
  limit?: string;
  /** False for --no-check-parameters. */
  checkParameters?: boolean;
  check?: boolean;
  failFast?: boolean;
  keepGoing?: boolean;
  adopt?: string[];
  /** True: all unknown rows. */
  resendUnknown?: string | true;
  /** True: all failed, rejected and lost rows. */
  retryFailed?: string | true;
  sendChanged?: boolean;
}

export type BatchPlan = Awaited<ReturnType<typeof planBatch>>;

/** Validates the command line, and opens the table. Throws UsageError with all problems. */
export async function planBatch(
  workflow: string,
  paths: readonly string[],
  flags: BatchFlags,
  { reports, interruption }: Pick<CommandResources, 'reports' | 'interruption'>,
  context: Context,
) {
  const { failFast = false, keepGoing = false, sendChanged = false } = flags;
  const { samples, files } = await expandFiles(paths, flags, interruption.signal, context);
  const sources = await findSources(flags, context);
  const { profile } = sources;
  const declared = findDeclaredWorkflow(workflow, flags, profile);
  const { source, ...checked } = await collectUsageErrors({
    workflowId: () => resolveWorkflowId(workflow, profile),
    wait: () => resolveWaitSettings(sources),
    triggerSettings: () => resolveTriggerSettings(sources),
    defaults: () => {
      const { items, problems } = parseItems(flags.input ?? []);
      throwProblems(problems);
      return items;
    },
    concurrency: () => parseNumber('--concurrency', flags.concurrency ?? '8', [1, 100_000]),
    rate: () => parseRate(flags.rate ?? '10'),
    shard: () => parseShard(flags.shard),
    limit: () =>
      flags.limit === undefined
        ? Number.POSITIVE_INFINITY
        : parseNumber('--limit', flags.limit, [1, 100_000_000]),
    adoptions: () => parseAdoptions(flags.adopt, flags.results),
    resendUnknown: () => parseSelection('--resend-unknown', flags.resendUnknown),
    retryFailed: () => parseSelection('--retry-failed', flags.retryFailed),
    reports: async () => {
      // They are written from the results file.
      if (flags.report && flags.results === '-')
        throw new UsageError('--report requires --results <file.jsonl>');
      await reports.open();
    },
    tableFlags: () => assertTable(flags),
    stopping: () => {
      if (failFast && keepGoing) throw exclusive('--fail-fast', '--keep-going');
    },
    source: () => openTable({ paths, files }, flags, context, interruption.signal),
    ...sessionSteps(sources),
  });
  const { workflowId, defaults, shard, settings } = checked;
  const target = {
    workflow: comparableId(workflowId),
    baseUrl: settings.baseUrl.href,
    shard: `${shard.index}/${shard.count}`,
  };
  return closeOnError(source, async () => {
    assertOneBody(settings.headers);
    const name = settings.workflowNameOf(workflowId) ?? target.workflow.slice(0, 8);
    const isRecorded = !flags.check || flags.results !== undefined;
    const results = isRecorded
      ? await chooseResults(flags, { files, samples, workflowName: name, target }, context)
      : undefined;
    const readFile = (name: string, path?: string) => namedFile(name, path, context, false);
    await assertDistinctFiles([
      ...namedFile(`--results ${results?.name}`, results?.path, context),
      ...reportFiles(flags, context),
      ...readFile(`--rows ${flags.rows}`, flags.rows),
      ...files.flatMap((path) => readFile(path, path)),
      ...defaults.flatMap(({ raw, separator, value }) =>
        separator.startsWith('@') ? readFile(`-i ${raw}`, value) : [],
      ),
    ]);
    if (declared) await checkColumns(await source.table.columns?.(), { defaults, declared }, context);
    const { concurrency, warnings } = limitConcurrency(checked.concurrency, context);
    const texts = await describeTexts(defaults, context.cwd, Boolean(declared));
    return {
      ...checked,
      ...source,
      target,
      concurrency,
      declared,
      samples,
      results,
      warnings: [...warnings, ...texts.warnings],
      subjects: [{ workflowId }],
      triggersAgain: flags.results === '-',
      failFast,
      keepGoing,
      sendChanged,
    };
  });
}

/**
 * Returns each file of patterns and folders once, but no results files, nor the reports that are written to a folder; and a
 * sample of each path: a file in the folder, or in that which the pattern names before its first wildcard.
 */
async function expandFiles(
  paths: readonly string[],
  flags: BatchFlags,
  signal: AbortSignal,
  context: Context,
) {
  const absolute = (path: string) => resolvePath(path, context);
  const reports = reportFiles(flags, context).map(({ path }) => path);
  const results = flags.results === undefined ? '' : absolute(flags.results);
  const samples: string[] = [];
  /** By their places: a pattern may match a file that another one does. */
  const files = new Map<string, string>();
  for (const path of paths) {
    // What has no extension has no media type, and was never sent.
    if (/^[\w.-]+:?=[^/\\*?[.]*$/.test(path) && !(await statOf(absolute(path))))
      throw new UsageError(
        `${path}: no such file; for an input of all rows, write -i ${shellCommand([path])}`,
      );
    const isOfFolder = flags.each !== undefined && (await isFolder(absolute(path)).catch(() => false));
    const found = isOfFolder ? filesInFolder(path, signal, context) : expandPatterns([path], context);
    samples.push((isOfFolder ? join(path, 'file') : path).replace(/[*?[].*$/s, 'file'));
    for (const file of await found) {
      const place = absolute(file);
      const mayBeResults = place === results || /\.jsonl$/i.test(file);
      const isWritten =
        (isOfFolder && reports.includes(place)) || (mayBeResults && (await beginsAsLog(place)));
      if (!isWritten && !files.has(place)) files.set(place, file);
    }
  }
  return { samples, files: [...files.values()] };
}

/** Files that Node.js and the batch have open besides those of rows. */
const BASE_FILES = 32;
/** A connection and a document. */
const FILES_PER_ROW = 2;

/** Lowers the concurrency to what the process may have open, with a warning. */
function limitConcurrency(concurrency: number, { openFileLimit }: Context) {
  const most = Math.max(1, Math.floor((openFileLimit - BASE_FILES) / FILES_PER_ROW));
  const warning = `--concurrency ${concurrency} is lowered to ${most}: this process may open only ${openFileLimit} files (ulimit -n)`;
  return { concurrency: Math.min(concurrency, most), warnings: concurrency > most ? [warning] : [] };
}

/** Reads the rows of a shard. `onRow` is also called for the rows of other shards. */
export async function* shardRows(
  { table, shard }: Pick<BatchPlan, 'table' | 'shard'>,
  onRow: (row: Row) => void = () => {},
): AsyncGenerator<Row, void, void> {
  let before = 0;
  for await (const row of table.rows()) {
    onRow(row);
    if (before++ % shard.count === shard.index - 1) yield row;
  }
}

/** Returns requests per second; Infinity for 0, which means no limit. */
function parseRate(raw: string): number {
  if (/^(\d+|\d*\.\d+)$/.test(raw)) return Number(raw) || Number.POSITIVE_INFINITY;
  throw new UsageError(`--rate ${raw}: expected requests per second, such as 10, or 0 for no limit`);
}

/** Returns every `count`-th row, starting at row `index`: `2/5` is the rows 2, 7, 12, … Throws UsageError. */
function parseShard(raw = '1/1') {
  const [, index = '', count = ''] = /^(\d+)\/(\d+)$/.exec(raw) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (shard.index >= 1 && shard.index <= shard.count) return shard;
  throw new UsageError(`--shard ${raw}: expected INDEX/COUNT, such as 2/5`);
}
