/** `wfr history`: lists the runs that this user triggered on this machine. */
import { collectUsageErrors, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { History, type PastRun } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { formatJson } from '../../text/json/format-json.js';
import { isSanitized, sanitize, sanitizeJson } from '../../text/sanitize.js';
import { type OutputFlags, type OutputFormat, parseOutputFormat } from '../shared/output-flags.js';

export interface HistoryFlags extends OutputFlags {
  limit?: string;
}

const DEFAULT_LIMIT = 20;

/** Runs the command. Throws UsageError and OutputError. */
export async function history(flags: HistoryFlags, context: Context): Promise<Exit> {
  const { format, limit } = await collectUsageErrors({
    format: () => parseOutputFormat(flags),
    limit: () => parseLimit(flags.limit),
  });
  const log = History.open(context);
  const runs = (await log.readRuns()).slice(0, limit);
  if (runs.length === 0) await context.stderr.write(`${await emptyText(log)}\n`);
  const interruption = new Interruption(context);
  try {
    await openStdoutQueue(context, interruption).write(formatRuns(runs, format));
  } finally {
    interruption.release();
  }
  return ExitCode.ok;
}

function parseLimit(raw: string | undefined): number {
  if (raw === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,8}$/.test(raw)) return Number(raw);
  throw new UsageError([`--limit ${raw}: expected a whole number of at least 1, such as 50`]);
}

async function emptyText(log: History): Promise<string> {
  const { folder } = log;
  const risk = await log.findRisk();
  if (risk !== undefined) return `The history is skipped: ${sanitize(risk)}.`;
  return folder === undefined
    ? 'The history is off: WFR_HISTORY is 0, or there is no home folder.'
    : `The history has no runs yet (${sanitize(folder)}).`;
}

function formatRuns(runs: readonly PastRun[], format: OutputFormat): Iterable<string | Uint8Array> {
  switch (format) {
    case 'json':
      return formatJson(Buffer.from(JSON.stringify(runs)));
    case 'jsonl':
      return runs.map((run) => `${sanitizeJson(run)}\n`);
    case 'id':
      // An escaped id would be another id, so it is left out; the other formats escape it.
      return runs.flatMap(({ id }) => (isSanitized(id) ? [`${id}\n`] : []));
    case 'text':
      return [formatTable(runs.map(toRow))];
  }
}

/** The cells that distinguish runs come first, where a narrow terminal shows them. */
function toRow({ id, status, triggered, workflow, inputs, baseUrl }: PastRun): string[] {
  const time = triggered.replace(/\.\d+Z$/, 'Z');
  return [id, status ?? 'accepted', time, workflow, inputs.join(',') || '-', baseUrl].map(sanitize);
}

function formatTable(rows: readonly string[][]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, index) => Math.max(widest[index] ?? 0, cell.length)),
    [],
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
