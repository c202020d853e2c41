/** Serializes all runs for the page's script, which renders the table. */
import { formatDuration } from '../../text/duration.js';
import { toScriptJson } from './markup.js';
import { type Entry, PAGE_OUTCOMES } from './outcome.js';
import { excerptOutput } from './output-excerpt.js';

/** Characters of all outputs together: a larger page opens slowly. */
const MAX_OUTPUTS = 16 * 1024 * 1024;

/**
 * Yields `{rows, outputs, texts, outcomes}`. A row is `[id, workflow, version, outcome, status, steps, started, duration,
 * formatted duration, failing step, message, group, label, inputs, output, request id, page]`: the outcome is an index of
 * `outcomes`, times are milliseconds, the output is an index of `outputs`, and the others but the ids, the group and the
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
      Math.round(entry.duration),
      texts.indexOf(formatDuration(entry.duration)),
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
