/** What GitHub Actions takes from a step: annotations, a job summary, and the step's outputs. */
import { compactJson } from '../text/json/layout.js';
import { sanitize } from '../text/sanitize.js';
import { TABLE_HEAD, tableRow } from './markdown.js';
import {
  type CommandResult,
  nameOf,
  placedProblemOf,
  type ReportedRun,
  statusOf,
  verdictOf,
} from './reported-run.js';

/** The most that GitHub shows for one step. */
const MAX_ANNOTATIONS = 10;
/** The largest summary and the largest output that GitHub takes, in bytes: 1 MiB. */
export const MAX_SIZE = 1024 * 1024;

/** Workflow commands, a line for each run that did not succeed; the last one counts those beyond GitHub's limit. */
export function annotations({ runs }: CommandResult): string {
  const failing = runs.filter((run) => verdictOf(run) !== 'succeeded');
  const shown = failing.length <= MAX_ANNOTATIONS ? failing : failing.slice(0, MAX_ANNOTATIONS - 1);
  const more = failing.length - shown.length;
  return [
    ...shown.map((run) => errorCommand(`Run ${nameOf(run)}`, placedProblemOf(run).join('\n'))),
    ...(more > 0 ? [errorCommand('wfr', `${more} more runs did not succeed; see the job summary`)] : []),
  ].join('');
}

/** As the runner's ActionCommand reads it: `%` begins an escape, `:` and `,` end a property. */
function errorCommand(title: string, message: string): string {
  const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::error title=${property(title)}::${data(message)}\n`;
}

/** Bytes kept free for the sentence that says what was left out. */
const ROOM_FOR_SENTENCE = 200;

/** The table in at most `room` bytes, with a sentence on what is left out; undefined where not even that has room. */
export function summary({ runs }: CommandResult, room: number): string | undefined {
  let text = `### Workflow runs\n\n${TABLE_HEAD}`;
  let left = room - ROOM_FOR_SENTENCE - Buffer.byteLength(text);
  if (left < 0) return undefined;
  for (const [index, run] of runs.entries()) {
    const row = tableRow(run);
    left -= Buffer.byteLength(row);
    if (left < 0) return `${text}\n${runs.length - index} more runs are left out: GitHub takes 1 MiB.\n`;
    text += row;
  }
  return `${text}\n`;
}

/**
 * The values of the outputs `run-id`, `status` and `output` by name, undefined where one is larger than GitHub takes.
 * Of several runs, a line each, and a JSON array with null for a run without output.
 */
export function stepOutputs({ runs }: CommandResult): Record<string, string | undefined> {
  return {
    'run-id': fitting(eachLine(runs, ({ id = '' }) => sanitize(id))),
    status: fitting(eachLine(runs, statusOf)),
    output: fitting(outputsOf(runs)),
  };
}

/** One output as lines of the file that GITHUB_OUTPUT names; no line of `value` may be the delimiter. */
export function outputLines(name: string, value: string, delimiter: string): string {
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`;
}

function* eachLine(runs: readonly ReportedRun[], textOf: (run: ReportedRun) => string): Generator<string> {
  for (const run of runs) yield `${textOf(run)}\n`;
}

function* outputsOf(runs: readonly ReportedRun[]): Generator<string | Uint8Array> {
  const [only] = runs;
  if (runs.length === 1 && only !== undefined) {
    yield* outputOf(only, '');
    return;
  }
  for (const [index, run] of runs.entries()) {
    yield index === 0 ? '[' : ',';
    yield* outputOf(run, 'null');
  }
  yield ']';
}

function* outputOf({ run }: ReportedRun, otherwise: string): Generator<string | Uint8Array> {
  if (run?.status !== 'FINISHED') yield otherwise;
  else yield* compactJson(run.output ?? Buffer.from('null'));
}

/** All chunks as one text without the last line feed. GitHub counts two bytes for each UTF-16 code unit. */
function fitting(chunks: Iterable<string | Uint8Array>): string | undefined {
  const decoder = new TextDecoder();
  let text = '';
  for (const chunk of chunks) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length * 2 > MAX_SIZE) return undefined;
  }
  return text.replace(/\n$/, '');
}
