/** `wfr history`: the runs that were triggered from here. */
import { collectUsageErrors, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { History, type PastRun } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { isSanitized, sanitize } from '../../text/sanitize.js';
import { type OutputFlags, type OutputFormat, outputFormat } from '../shared/output-format.js';

export interface HistoryFlags extends OutputFlags {
  limit?: string;
}

const DEFAULT_LIMIT = 20;

export async function history(flags: HistoryFlags, context: Context): Promise<Exit> {
  const { format, limit } = await collectUsageErrors({
    format: () => outputFormat(flags),
    limit: () => parseLimit(flags.limit),
  });
  const past = History.open(context);
  const runs = (await past.readRuns()).slice(0, limit);
  if (runs.length === 0) await context.stderr.write(`${emptyText(past)}\n`);
  const interruption = new Interruption(context);
  try {
    await openStdoutQueue(context.stdout, interruption).write([textOf(runs, format)]);
  } finally {
    interruption.release();
  }
  return ExitCode.ok;
}

function parseLimit(written: string | undefined): number {
  if (written === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw new UsageError([`--limit ${written}: give a number of runs, such as 50`]);
}

function emptyText({ folder }: History): string {
  return folder === undefined
    ? 'No history is kept: WFR_HISTORY is 0, or there is no home folder.'
    : `No runs are in the history yet (${sanitize(folder)}).`;
}

function textOf(runs: readonly PastRun[], format: OutputFormat): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(runs, undefined, 2)}\n`;
    case 'jsonl':
      return runs.map((run) => `${JSON.stringify(run)}\n`).join('');
    case 'id':
      // An escaped id would be another one to a script; the other forms have it.
      return runs.flatMap(({ id }) => (isSanitized(id) ? [`${id}\n`] : [])).join('');
    case 'text':
      return columns(runs.map(rowOf));
  }
}

/** What tells a run from others comes first, where a narrow terminal shows it. */
function rowOf({ id, status, triggered, workflow, inputs, baseUrl }: PastRun): string[] {
  const time = triggered.replace(/\.\d+Z$/, 'Z');
  return [id, status ?? 'accepted', time, workflow, inputs.join(',') || '-', baseUrl].map(sanitize);
}

function columns(rows: readonly string[][]): string {
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
