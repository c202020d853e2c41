/**
 * `--report markdown`, a table with a row for each run; and `--report github`: annotations, a job summary with that table,
 * step outputs.
 */

import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import {
  failingStepOf,
  nameOf,
  type Outcome,
  problemLines,
  problemLinesWithStep,
  requestLines,
  statusOf,
  stepsOf,
  verdictOf,
  wordOf,
} from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { compactJson } from '../text/json/format-json.js';
import { formatDuration } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import {
  type AppendFile,
  DestinationError,
  type Opener,
  openAppendFile,
  type Report,
} from './destination.js';

const TABLE_HEAD = `| Run | Workflow | Version | Outcome | Steps | Duration | Failing step | Message |
| --- | --- | --- | --- | --- | --- | --- | --- |
`;

export function* renderMarkdown({ runs }: CommandResult): Generator<string, void, void> {
  yield TABLE_HEAD;
  for (const run of runs) yield renderTableRow(run);
}

/** Returns one run's row, with its line feed. */
function renderTableRow(reported: Outcome): string {
  const { label, id, page, workflowId = '', run, state, durationMs } = reported;
  const names = [label, id].flatMap((name) => (name === undefined ? [] : escapeMarkdown(sanitize(name))));
  const last = names.length - 1;
  const linked = names.map((name, index) =>
    page !== undefined && index === last ? `[${name}](<${page}>)` : name,
  );
  const cells = [
    linked.join('<br>'),
    escapeMarkdown(sanitize(workflowId)),
    escapeMarkdown(sanitize(run?.versionName ?? '')),
    wordOf(state),
    stepsOf(reported),
    formatDuration(durationMs),
    escapeMarkdown(failingStepOf(reported)),
    [...problemLines(reported), ...requestLines(reported)].map(escapeMarkdown).join('<br>'),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

/**
 * Replaces what Markdown, HTML or GitHub's extensions (links, mentions, emoji, formulas) would interpret by character
 * references, which always mean plain text (CommonMark, section 2.5).
 */
function escapeMarkdown(line: string): string {
  return line.replace(/[!#$&*:<>@[\\\]^_`{|}~]|(?<=www)\./gi, (character) => `&#${character.charCodeAt(0)};`);
}

/** GitHub shows no more for one step. */
const MAX_ANNOTATIONS = 10;
/** GitHub's limit for a job summary, and for a step output, in bytes. */
const MAX_SIZE = 1024 * 1024;

/** Returns one workflow command for each run that did not succeed; the last one counts those beyond GitHub's limit. */
function renderAnnotations({ runs }: CommandResult): string {
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
function renderJobSummary({ runs }: CommandResult, maxBytes: number): string | undefined {
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
function getStepOutputs({ runs }: CommandResult): Record<string, string | undefined> {
  return {
    'run-id': joinWithinLimit(linesOf(runs, ({ id = '' }) => sanitize(id))),
    status: joinWithinLimit(linesOf(runs, statusOf)),
    output: joinWithinLimit(allOutputChunks(runs)),
  };
}

/** Formats one output for the GITHUB_OUTPUT file; no line of `value` may equal the delimiter. */
function formatStepOutput(name: string, value: string, delimiter: string): string {
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

/** Renders the text for a file that already has `size` bytes. */
type RenderText = (
  result: CommandResult,
  size: number,
  warn: (text: string) => Promise<void>,
) => Promise<string>;

/** Returns the openers of the annotations, the job summary and the step outputs. */
export function githubOpeners(context: Context): Opener[] {
  return [
    async () => annotationReport(context),
    () => fileReport('GITHUB_STEP_SUMMARY', summaryText, context),
    () => fileReport('GITHUB_OUTPUT', outputText, context),
  ];
}

/** On stderr, because the runner reads commands from both streams and stdout carries only the output. */
function annotationReport({ stderr }: Context): Report {
  return {
    name: '--report github',
    write: (result) => stderr.write(renderAnnotations(result)),
    discard: async () => {},
  };
}

async function fileReport(variable: string, renderText: RenderText, context: Context): Promise<Report> {
  const { env, stderr, secrets } = context;
  const path = env[variable];
  if (!path) {
    throw new UsageError([
      `--report github: ${variable} is not set; this report works only in a step of GitHub Actions`,
    ]);
  }
  const name = `--report github (${variable} ${path})`;
  const file: AppendFile = await openAppendFile(path, context).catch((error) => {
    throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
  });
  const warn = (text: string) => stderr.write(`warning: ${text}\n`);
  return {
    name,
    async write(result) {
      const size = await file.size();
      const text = await renderText(result, size, warn);
      // The last line of an earlier writer may lack its line feed.
      if (text !== '') await file.write([secrets.mask(size > 0 ? `\n${text}` : text)]);
    },
    discard: file.discard,
  };
}

const summaryText: RenderText = async (result, size, warn) => {
  const text = renderJobSummary(result, MAX_SIZE - size - 1);
  if (text === undefined) await warn('the job summary is full (1 MiB at most); it does not list the runs');
  return text ?? '';
};

const outputText: RenderText = async (result, _size, warn) => {
  let text = '';
  for (const [name, value] of Object.entries(getStepOutputs(result))) {
    // A random delimiter, so that no line of the value can equal it.
    if (value !== undefined) text += formatStepOutput(name, value, `wfr-${randomUUID()}`);
    else await warn(`the step output ${name} is omitted: it exceeds 1 MiB, counted as two bytes a character`);
  }
  return text;
};
