/**
 * `--report markdown`, a table with a row for each run; and `--report github`: annotations, a job summary with that table,
 * step outputs.
 */

import { UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import {
  failingStepOf,
  isSuccess,
  nameOf,
  type Outcome,
  problemLines,
  problemLinesWithStep,
  requestLines,
  statusText,
  wordOf,
} from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import { openTrusted } from '../platform/ownership.js';
import { throwAsUsageError } from '../platform/system-error.js';
import { isFinished, outputOf } from '../service/run.js';
import { compactJson } from '../text/json/format-json.js';
import { formatElapsed } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { joinChunks } from '../text/utf8.js';
import type { Report } from './destination.js';

const TABLE_HEAD = `| Run | Workflow | Outcome | Duration | Failing step | Message |
| --- | --- | --- | --- | --- | --- |
`;

/** Yields the report: a table with a row for each run. */
export function* renderMarkdown({ runs }: CommandResult): Generator<string, void, void> {
  yield TABLE_HEAD;
  for (const run of runs) yield renderTableRow(run);
}

/** Returns one run's row, with its line feed. */
function renderTableRow(reported: Outcome): string {
  const { label, id, page, workflowId = '', state, durationMs } = reported;
  const names = [label, id].flatMap((name) => (name === undefined ? [] : escapeMarkdown(sanitize(name))));
  if (page !== undefined) names.push(`[${names.pop()}](<${page}>)`);
  const cells = [
    names.join('<br>'),
    escapeMarkdown(sanitize(workflowId)),
    wordOf(state),
    durationMs === undefined ? '' : formatElapsed(durationMs),
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
/** For a step output, GitHub counts two bytes a UTF-16 code unit. */
const MAX_CHARACTERS = MAX_SIZE / 2;

/** Returns workflow commands for the first runs that did not succeed; the job summary has all. */
function renderAnnotations({ runs }: CommandResult): string {
  const failing = runs.filter((run) => !isSuccess(run)).slice(0, MAX_ANNOTATIONS);
  const annotations = failing.map((run) => {
    // As the runner's ActionCommand unescapes: `%` begins an escape, `:` and `,` end a property.
    const title = `Run ${nameOf(run)}`.replace(/[%\r\n:,]/g, encodeURIComponent);
    const lines = [...problemLinesWithStep(run), ...requestLines(run)];
    return `::error title=${title}::${lines.join('\n').replace(/[%\r\n]/g, encodeURIComponent)}\n`;
  });
  return annotations.join('');
}

/** Bytes kept free for the sentence that counts the omitted runs. */
const RESERVED_BYTES = 200;

/** Returns the table in what GitHub's limit leaves, counting the runs that it omits. */
const renderJobSummary: RenderText = ({ runs }, size, warn) => {
  let text = `### Workflow runs\n\n${TABLE_HEAD}`;
  let left = MAX_SIZE - size - 1 - RESERVED_BYTES - Buffer.byteLength(text);
  if (left < 0) {
    warn('the job summary is full (1 MiB at most); it does not list the runs');
    return '';
  }
  for (const [index, run] of runs.entries()) {
    const row = renderTableRow(run);
    left -= Buffer.byteLength(row);
    if (left < 0)
      return `${text}\n${runs.length - index} more runs are omitted: a job summary is limited to 1 MiB.\n`;
    text += row;
  }
  return `${text}\n`;
};

/**
 * Returns the step outputs `run-id`, `status` and `output`, without those over GitHub's limit. Several runs have a line
 * each, and their outputs are a JSON array with null for a run without output.
 */
const renderStepOutputs: RenderText = ({ runs }, _size, warn) => {
  const outputs = {
    'run-id': runs.map(({ id = '' }) => `${sanitize(id)}\n`),
    status: runs.map(({ run }) => `${statusText(run)}\n`),
    output: outputChunks(runs),
  };
  let text = '';
  for (const [name, chunks] of Object.entries(outputs)) {
    // Random, so that no line of the value can equal it.
    const delimiter = `wfr-${crypto.randomUUID()}`;
    const value = joinChunks(chunks, MAX_CHARACTERS);
    if (value.length <= MAX_CHARACTERS)
      text += `${name}<<${delimiter}\n${value.replace(/\n$/, '')}\n${delimiter}\n`;
    else warn(`the step output ${name} is omitted: it exceeds 1 MiB, counted as two bytes a character`);
  }
  return text;
};

function* outputChunks(runs: readonly Outcome[]): Generator<string | Uint8Array> {
  const isList = runs.length > 1;
  for (const [index, { run }] of runs.entries()) {
    if (isList) yield index === 0 ? '[' : ',';
    if (isFinished(run)) yield* compactJson(outputOf(run));
    else if (isList) yield 'null';
  }
  if (isList) yield ']';
}

/** Returns the text for a file that already has `size` bytes, and warns of what it leaves out. */
type RenderText = (result: CommandResult, size: number, warn: (text: string) => void) => string;

/** Returns functions that open the annotations, the job summary and the step outputs. They throw UsageError. */
export function githubReports({ env, stderr, secrets, uid }: Context): (() => Promise<Report>)[] {
  return [
    // On stderr, because the runner reads commands from both streams and stdout carries only the output.
    async () => ({
      name: '--report github',
      write: (result) => stderr.write(renderAnnotations(result)),
      close: async () => {},
    }),
    () => openFile('GITHUB_STEP_SUMMARY', renderJobSummary),
    () => openFile('GITHUB_OUTPUT', renderStepOutputs),
  ];

  /** Opens a file that other programs append to as well. */
  async function openFile(variable: string, render: RenderText): Promise<Report> {
    const path = env[variable];
    if (!path) {
      throw new UsageError(
        `--report github: ${variable} is not set; this report works only in a step of GitHub Actions`,
      );
    }
    const name = `--report github (${variable} ${path})`;
    const file = await openTrusted(path, 'a', 0o666, uid).catch(throwAsUsageError(name));
    return {
      name,
      async write(result) {
        const { size } = await file.stat();
        const text = render(result, size, (warning) => void stderr.write(`warning: ${warning}\n`));
        // The last line of an earlier writer may lack its line feed.
        if (text !== '') await file.appendFile(secrets.mask(size > 0 ? `\n${text}` : text));
      },
      close: () => file.close().catch(() => {}),
    };
  }
}
