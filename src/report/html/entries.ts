/** The runs as the HTML report shows them, and the same as data for the page's script, which renders the table. */
import {
  failingStepOf,
  isSuccess,
  type Outcome,
  problemLines,
  statusText,
  stepsOf,
  WORDS,
  withoutTable,
  wordOf,
} from '../../outcome/outcome.js';
import { hasEnded, isFinished } from '../../service/run.js';
import { formatJson } from '../../text/json/format-json.js';
import { decodeStart, type ReplacedValue, replaceValues } from '../../text/json/members.js';
import { JsonScanner } from '../../text/json/scanner.js';
import { formatElapsed } from '../../text/quantity.js';
import { withoutLabel } from '../../text/row-label.js';
import { sanitize } from '../../text/sanitize.js';
import { joinChunks } from '../../text/utf8.js';
import { escapeUnencodable } from '../markup.js';

/** Every outcome, in the order of the page's lists; its tone is a CSS class, of which that of an invalid row is its own. */
export const PAGE_OUTCOMES = [...WORDS].map(([label, tone]) => ({
  label,
  tone: label === 'invalid' ? label : tone,
}));

type PageOutcome = (typeof PAGE_OUTCOMES)[number];

/** A run as the page shows it: all texts are sanitized, and empty if unknown. */
export type Entry = ReturnType<typeof toEntry>;

/** Returns the entry of a run; `index` is its position on the page, from 0, and `table` that of all rows, if they have one. */
export function toEntry(outcome: Outcome, index: number, table: string) {
  const { id = '', run, inputs = [], durationMs, label: name = '' } = outcome;
  const isTimed = hasEnded(run) && durationMs !== undefined;
  const label = wordOf(outcome.state);
  const status = statusText(run);
  // Without the time it took, so that equal problems are grouped.
  const message = problemLines({ ...outcome, durationMs: undefined }).join('\n');
  return {
    /** Its position on the page, from 1. */
    number: index + 1,
    /** In a batch: identifies the row; else empty. */
    label: sanitize(table === '' ? name : withoutTable(name)),
    /** Empty if the service never returned it. */
    id: sanitize(id),
    workflow: sanitize(outcome.workflowId ?? ''),
    /** That of the workflow in the profile; empty if it has none. */
    name: sanitize(outcome.workflowName ?? ''),
    version: sanitize(run?.versionName ?? ''),
    /** The names of the inputs. */
    inputs: sanitize(inputs.join(', ')),
    outcome: PAGE_OUTCOMES.find((known) => known.label === label) as PageOutcome,
    /** The service's status, where it is another word. */
    status: status.toLowerCase() === label ? '' : status,
    steps: stepsOf(run),
    /** Milliseconds since 1970. */
    started: outcome.startedAt,
    /** Milliseconds; undefined if the end of the run was not observed. */
    duration: isTimed ? Math.round(durationMs) : undefined,
    /** The same for people; empty where there is no run. */
    words: isTimed ? formatElapsed(durationMs) : id && 'not observed',
    step: failingStepOf(outcome),
    /** May have several lines; empty if the run succeeded. */
    message: withoutLabel(message, sanitize(name)),
    /** The id of the request that failed. */
    requestId: sanitize(outcome.error?.response?.requestId ?? ''),
    /** The page of the run. */
    page: outcome.page ?? '',
    /** JSON text (UTF-8), read only where it is shown: all outputs of a batch may not fit into memory. */
    get output(): Uint8Array | undefined {
      return isFinished(run) ? run.output : undefined;
    },
    succeeded: isSuccess(outcome),
  };
}

/** Characters of all outputs together: a larger page opens slowly. */
const MAX_OUTPUTS = 16 * 1024 * 1024;
const OMITTED = 'omitted, as the outputs of all runs are too long for one page; --report json has it';

/** The members that all runs have in common, which are said once. */
export type Common = Partial<Pick<Entry, 'workflow' | 'version'>>;

/**
 * Yields `{rows, outcomes, common, table}` as JSON: the entries without what is empty or common, with their groups, and indexes
 * of the outcomes.
 */
export function* serializeEntries(
  entries: readonly Entry[],
  common: Common,
  groupIds: readonly (number | undefined)[],
  table: string,
): Generator<string, void, void> {
  let left = MAX_OUTPUTS;
  yield '{"rows":[';
  for (const [index, entry] of entries.entries()) {
    const { number, name, succeeded, output, ...texts } = entry;
    const text = output ? excerptOutput(output) : '';
    const fits = text.length <= left;
    if (fits) left -= text.length;
    const row: Record<string, unknown> = {
      ...texts,
      outcome: PAGE_OUTCOMES.indexOf(entry.outcome),
      group: groupIds[index],
      output: fits ? text : OMITTED,
    };
    for (const member of Object.keys(common)) row[member] = row[member] === '' ? null : undefined;
    yield `${index === 0 ? '' : ','}\n${toScriptJson(row)}`;
  }
  const others = toScriptJson({ outcomes: PAGE_OUTCOMES, common, table: sanitize(table) });
  yield `\n],\n${others.slice(1)}`;
}

/** Bytes of an output that are shown. */
const MAX_OUTPUT = 64 * 1024;
/** Bytes of a longer data URI that are shown. */
const MAX_DATA_URI = 60;
const DATA_URI = Buffer.from('"data:');

/** Returns the start of an output (JSON text in UTF-8); "…" marks a cut. */
function excerptOutput(output: Uint8Array): string {
  const text = joinChunks(formatJson(shortenDocuments(output)), MAX_OUTPUT);
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_OUTPUT) return text.trimEnd();
  // Without the part of a character at the end.
  return `${new TextDecoder().decode(bytes.subarray(0, MAX_OUTPUT), { stream: true })}…`;
}

/** Shortens the strings that are data URIs: their bytes tell a person nothing. */
function shortenDocuments(json: Uint8Array): Buffer {
  const replaced: ReplacedValue[] = [];
  const scanner = new JsonScanner(json);
  while (scanner.next()) {
    const { token, start, end, text } = scanner;
    if (token !== 'string' || text.length <= 2 * MAX_DATA_URI || DATA_URI.compare(text, 0, 6) !== 0) continue;
    const value = `${decodeStart(text, MAX_DATA_URI)} (${text.length} bytes)`;
    replaced.push({ start, end, value });
  }
  return replaceValues(json, replaced);
}

/** Serializes to JSON for a `<script>` element, without what is empty: without `<`, no text can close it. */
function toScriptJson(value: unknown): string {
  const filled = (_name: string, member: unknown) =>
    typeof member === 'string' ? escapeUnencodable(member) || undefined : member;
  return JSON.stringify(value, filled).replaceAll('<', '\\u003c');
}
