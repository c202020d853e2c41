/** Serializes all runs for the page's script, which renders the table. */

import { formatJson } from '../../text/json/format-json.js';
import { decodeStart } from '../../text/json/members.js';
import { JsonScanner } from '../../text/json/scanner.js';
import { formatDuration } from '../../text/quantity.js';
import { escapeUnencodable, toScriptJson } from './markup.js';
import { type Entry, PAGE_OUTCOMES } from './outcome.js';

/** Characters of all outputs together: a larger page opens slowly. */
const MAX_OUTPUTS = 16 * 1024 * 1024;

/**
 * Yields `{rows, outputs, texts, outcomes}`. A row is `[id, workflow, version, outcome, status, steps, started, duration,
 * formatted duration, failing step, message, group, label, inputs, output, request id, page]`: the outcome is an index of
 * `outcomes`, times are milliseconds (null if unknown), the output is an index of `outputs`, and the others but the ids, the group and the
 * label are indexes of `texts`, because thousands of runs share a few texts. The group is null for a run that succeeded,
 * and the output for a run without one; -1 is an output that is not on the page.
 */
export function* serializeRows(
  entries: readonly Entry[],
  groupIds: ReadonlyMap<Entry, number>,
): Generator<string, void, void> {
  const texts = new IndexedTexts();
  const outputs = new IndexedTexts(MAX_OUTPUTS);
  yield '{"rows":[';
  for (const [index, entry] of entries.entries()) {
    const row = [
      entry.id,
      texts.indexOf(entry.workflow),
      texts.indexOf(entry.version),
      PAGE_OUTCOMES.indexOf(entry.outcome),
      texts.indexOf(entry.status),
      texts.indexOf(entry.steps),
      entry.started ?? null,
      entry.duration === undefined ? null : Math.round(entry.duration),
      texts.indexOf(durationText(entry)),
      texts.indexOf(entry.failingStep),
      texts.indexOf(entry.message),
      groupIds.get(entry) ?? null,
      entry.label,
      texts.indexOf(entry.inputs),
      entry.output === undefined ? null : outputs.indexOf(excerptOutput(entry.output)),
      // Few runs have one.
      ...(entry.requestId === '' && entry.page === '' ? [] : [entry.requestId]),
      ...(entry.page === '' ? [] : [entry.page]),
    ];
    yield `${index === 0 ? '\n' : ',\n'}${toScriptJson(row)}`;
  }
  yield '\n],\n"outputs":[';
  for (const [index, output] of outputs.all().entries())
    yield `${index === 0 ? '\n' : ',\n'}${toScriptJson(output)}`;
  yield `\n],\n"texts":${toScriptJson(texts.all())},\n"outcomes":${toScriptJson(PAGE_OUTCOMES)}}`;
}

/** Returns nothing where there is no run. */
function durationText({ id, duration }: Entry): string {
  if (duration !== undefined) return formatDuration(duration);
  return id === '' ? '' : 'not observed';
}

/** Texts that are stored once, up to a total length. */
class IndexedTexts {
  readonly #indexes = new Map<string, number>();

  constructor(private left = Number.POSITIVE_INFINITY) {}

  /** Returns -1 for a text that exceeds the total length. */
  indexOf(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    if (text.length > this.left) return -1;
    this.left -= text.length;
    this.#indexes.set(text, this.#indexes.size);
    return this.#indexes.size - 1;
  }

  all(): string[] {
    return [...this.#indexes.keys()];
  }
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
