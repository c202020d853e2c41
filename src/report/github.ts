/** Renders a command's result for GitHub Actions: annotations, a job summary and step outputs. */

import type { CommandResult } from '../outcome/error-data.js';
import {
  nameOf,
  type Outcome,
  problemLinesWithStep,
  requestLines,
  statusOf,
  verdictOf,
} from '../outcome/outcome.js';
import { compactJson } from '../text/json/format-json.js';
import { sanitize } from '../text/sanitize.js';
import { renderTableRow, TABLE_HEAD } from './markdown.js';

/** GitHub shows no more for one step. */
const MAX_ANNOTATIONS = 10;
/** GitHub's limit for a job summary, and for a step output, in bytes. */
export const MAX_SIZE = 1024 * 1024;

/** Returns one workflow command for each run that did not succeed; the last one counts those beyond GitHub's limit. */
export function renderAnnotations({ runs }: CommandResult): string {
  const failing = runs.filter((run) => verdictOf(run) !== 'succeeded');
  const shown = failing.length <= MAX_ANNOTATIONS ? failing : failing.slice(0, MAX_ANNOTATIONS - 1);
  const more = failing.length - shown.length;
  return [
    ...shown.map((run) => {
      const lines = [...problemLinesWithStep(run), ...requestLines(run)];
      return formatErrorCommand(`Run ${nameOf(run)}`, lines.join('\n'));
    }),
    ...(more > 0
      ? [formatErrorCommand('wfr', `${more} more runs did not succeed; see the job summary`)]
      : []),
  ].join('');
}

/** Escapes as the runner's ActionCommand unescapes: `%` begins an escape, `:` and `,` end a property. */
function formatErrorCommand(title: string, message: string): string {
  const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::error title=${property(title)}::${data(message)}\n`;
}

/** Bytes kept free for the sentence that counts the omitted runs. */
const RESERVED_BYTES = 200;

/** Returns the table in at most `maxBytes`, counting the runs that it omits; undefined if not even that fits. */
export function renderJobSummary({ runs }: CommandResult, maxBytes: number): string | undefined {
  let text = `### Workflow runs\n\n${TABLE_HEAD}`;
  let left = maxBytes - RESERVED_BYTES - Buffer.byteLength(text);
  if (left < 0) return undefined;
  for (const [index, run] of runs.entries()) {
    const row = renderTableRow(run);
    left -= Buffer.byteLength(row);
    if (left < 0)
      return `${text}\n${runs.length - index} more runs are omitted: a job summary is limited to 1 MiB.\n`;
    text += row;
  }
  return `${text}\n`;
}

/**
 * Returns the step outputs `run-id`, `status` and `output`; undefined for one over GitHub's limit. Several runs have a
 * line each, and their outputs are a JSON array with null for a run without output.
 */
export function getStepOutputs({ runs }: CommandResult): Record<string, string | undefined> {
  return {
    'run-id': joinWithinLimit(linesOf(runs, ({ id = '' }) => sanitize(id))),
    status: joinWithinLimit(linesOf(runs, statusOf)),
    output: joinWithinLimit(allOutputChunks(runs)),
  };
}

/** Formats one output for the GITHUB_OUTPUT file; no line of `value` may equal the delimiter. */
export function formatStepOutput(name: string, value: string, delimiter: string): string {
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`;
}

function* linesOf(runs: readonly Outcome[], textOf: (run: Outcome) => string): Generator<string> {
  for (const run of runs) yield `${textOf(run)}\n`;
}

function* allOutputChunks(runs: readonly Outcome[]): Generator<string | Uint8Array> {
  const [only] = runs;
  if (runs.length === 1 && only !== undefined) {
    yield* outputChunks(only, '');
    return;
  }
  for (const [index, run] of runs.entries()) {
    yield index === 0 ? '[' : ',';
    yield* outputChunks(run, 'null');
  }
  yield ']';
}

function* outputChunks({ run }: Outcome, fallback: string): Generator<string | Uint8Array> {
  if (run?.status !== 'FINISHED') yield fallback;
  else yield* compactJson(run.output ?? Buffer.from('null'));
}

/** Joins the chunks without a final line feed; undefined over the limit. GitHub counts two bytes a UTF-16 code unit. */
function joinWithinLimit(chunks: Iterable<string | Uint8Array>): string | undefined {
  const decoder = new TextDecoder();
  let text = '';
  for (const chunk of chunks) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length * 2 > MAX_SIZE) return undefined;
  }
  return text.replace(/\n$/, '');
}
