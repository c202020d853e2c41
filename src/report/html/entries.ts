/** The runs as the HTML report shows them, and the same as data for the page's script, which renders the table. */
import {
  endOf,
  failingStepOf,
  type Outcome,
  problemLines,
  statusOf,
  stepsOf,
  type Tone,
  verdictOf,
  WORDS,
  wordOf,
} from '../../outcome/outcome.js';
import { formatJson } from '../../text/json/format-json.js';
import { decodeStart } from '../../text/json/members.js';
import { JsonScanner } from '../../text/json/scanner.js';
import { formatDuration } from '../../text/quantity.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { escapeCodePoint, sanitize } from '../../text/sanitize.js';

/** An outcome; its tone is the CSS class, of which that of an invalid row is its own. */
export interface PageOutcome {
  label: string;
  tone: Tone | 'invalid';
}

/** Every outcome, in the order of the page's lists. */
export const PAGE_OUTCOMES: readonly PageOutcome[] = [...WORDS].map(([label, tone]) => ({
  label,
  tone: label === 'invalid' ? label : tone,
}));

/** A run as the page shows it: all texts are sanitized, and empty if unknown. */
export type Entry = ReturnType<typeof toEntry>;

/** Returns the entry of a run; `index` is its position on the page, from 0. */
export function toEntry(outcome: Outcome, index: number) {
  const { label, id = '', workflowId = '', inputs = [], run, state, startedAt, durationMs, error } = outcome;
  const toLine = (text: string) => escapeUnencodable(sanitize(text));
  const isEnded = endOf(run?.status) !== undefined;
  const notObserved = id === '' ? '' : 'not observed';
  // Without the time it took, so that equal problems are grouped.
  const message = problemLines(outcome, { elapsed: false }).join('\n');
  return {
    /** Its position on the page, from 1. */
    number: index + 1,
    /** In a batch: identifies the row; else empty. */
    label: toLine(label ?? ''),
    /** Empty if the service never returned it. */
    id: toLine(id),
    workflow: toLine(workflowId),
    /** The names of the inputs. */
    inputs: toLine(inputs.join(', ')),
    version: toLine(run?.versionName ?? ''),
    // The same object for the same outcome: entries are counted by it.
    outcome: PAGE_OUTCOMES.find((known) => known.label === wordOf(state)) as PageOutcome,
    /** The service's status. */
    status: escapeUnencodable(statusOf(outcome)),
    steps: stepsOf(outcome),
    /** Milliseconds since 1970. */
    started: startedAt,
    /** Milliseconds; undefined if the end of the run was not observed. */
    duration: isEnded ? durationMs : undefined,
    /** The same for people; empty where there is no run. */
    words: isEnded ? formatDuration(durationMs) : notObserved,
    step: escapeUnencodable(failingStepOf(outcome)),
    /** May have several lines; empty if the run succeeded. */
    message: escapeUnencodable(withoutLabel(message, label && sanitize(label))),
    /** The id of the request that failed. */
    requestId: toLine(error?.response?.requestId ?? ''),
    /** The page of the run. */
    page: outcome.page ?? '',
    /** JSON text (UTF-8), read only where it is shown: all outputs of a batch may not fit into memory. */
    get output(): Uint8Array | undefined {
      return run?.status === 'FINISHED' ? run.output : undefined;
    },
    succeeded: verdictOf(outcome) === 'succeeded',
  };
}

/** Characters of all outputs together: a larger page opens slowly. */
const MAX_OUTPUTS = 16 * 1024 * 1024;
const OMITTED = 'omitted, as the outputs of all runs are too long for one page; --report json has it';

/**
 * Yields `{members, rows, values, outcomes}` as JSON: the values of a row, in the order of `members`, are indexes of
 * `values`, because thousands of runs share most of them. The outcome is an index of `outcomes`, and null is unknown.
 */
export function* serializeEntries(
  entries: readonly Entry[],
  groupIds: ReadonlyMap<Entry, number>,
): Generator<string, void, void> {
  const indexes = new Map<unknown, number>();
  let left = MAX_OUTPUTS;
  const outputOf = (output: Uint8Array | undefined) => {
    const text = output === undefined ? '' : excerptOutput(output);
    if (indexes.has(text)) return text;
    if (text.length > left) return OMITTED;
    left -= text.length;
    return text;
  };
  let members: string[] = [];
  yield '{"rows":[';
  for (const [index, entry] of entries.entries()) {
    const { number, succeeded, output, ...texts } = entry;
    const row: Record<string, unknown> = {
      ...texts,
      outcome: PAGE_OUTCOMES.indexOf(entry.outcome),
      duration: entry.duration && Math.round(entry.duration),
      group: groupIds.get(entry),
      output: outputOf(output),
    };
    members = Object.keys(row);
    const places = Object.values(row).map((value = null) => {
      if (!indexes.has(value)) indexes.set(value, indexes.size);
      return indexes.get(value);
    });
    yield `${index === 0 ? '\n' : ',\n'}${JSON.stringify(places)}`;
  }
  yield '\n],\n"values":[';
  for (const [value, index] of indexes) yield `${index === 0 ? '\n' : ',\n'}${toScriptJson(value)}`;
  yield `\n],\n"members":${toScriptJson(members)},\n"outcomes":${toScriptJson(PAGE_OUTCOMES)}}`;
}

/** In bytes. */
const MAX_OUTPUT = 64 * 1024;
/** Bytes of a longer data URI that are shown. */
const MAX_DATA_URI = 60;
const DATA_URI = Buffer.from('"data:');

/** Returns the start of an output (JSON text in UTF-8); the last line says how much is missing. */
function excerptOutput(output: Uint8Array): string {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (const chunk of formatJson(shortenDocuments(output))) {
    const shown = chunk.subarray(0, Math.max(0, MAX_OUTPUT - bytes));
    text += decoder.decode(shown, { stream: true });
    bytes += chunk.length;
  }
  const missing = bytes - MAX_OUTPUT;
  const end = missing > 0 ? `…\n(${missing} more bytes)` : '';
  return escapeUnencodable(`${text.trimEnd()}${end}`);
}

/** Shortens the strings that are data URIs: their bytes tell a person nothing. */
function shortenDocuments(json: Uint8Array): Buffer {
  const pieces: Uint8Array[] = [];
  const scanner = new JsonScanner(json);
  let position = 0;
  while (scanner.next()) {
    const { token, start, end } = scanner;
    const text = json.subarray(start, end);
    if (token !== 'string' || text.length <= 2 * MAX_DATA_URI || DATA_URI.compare(text, 0, 6) !== 0) continue;
    const shown = `${decodeStart(text, MAX_DATA_URI)} (${text.length} bytes)`;
    pieces.push(json.subarray(position, start), Buffer.from(JSON.stringify(shown)));
    position = end;
  }
  return Buffer.concat([...pieces, json.subarray(position)]);
}

/** Serializes to JSON for a `<script>` element: without `<`, no text can close it. */
function toScriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** Replaces code points that UTF-8 or HTML cannot represent by `\uXXXX`. */
export function escapeUnencodable(text: string): string {
  return text.replace(/[\p{Surrogate}\p{Noncharacter_Code_Point}]/gu, (character) =>
    escapeCodePoint(character.codePointAt(0) ?? 0),
  );
}
