/** Serializes all runs for the page's script, which renders the table. */
import { formatDuration } from '../../text/duration.js';
import { toScriptJson } from './markup.js';
import { type Entry, PAGE_OUTCOMES } from './outcome.js';

/**
 * Yields `{rows, texts, outcomes}`. A row is `[id, workflow, version, outcome, status, steps, started, duration, formatted
 * duration, failing step, message, group]`: the outcome is an index of `outcomes`, times are milliseconds, and the others
 * but the id and the group are indexes of `texts`, because thousands of runs share a few texts. The group is null for a
 * run that succeeded.
 */
export function* serializeRows(
  entries: readonly Entry[],
  groupIds: ReadonlyMap<Entry, number>,
): Generator<string, void, void> {
  const texts = new Map<string, number>();
  const indexOfText = (text: string) => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    texts.set(text, texts.size);
    return texts.size - 1;
  };
  yield '{"rows":[';
  for (const [index, entry] of entries.entries()) {
    const row = [
      entry.id,
      indexOfText(entry.workflow),
      indexOfText(entry.version),
      PAGE_OUTCOMES.indexOf(entry.outcome),
      indexOfText(entry.status),
      indexOfText(entry.steps),
      entry.started ?? null,
      Math.round(entry.duration),
      indexOfText(formatDuration(entry.duration)),
      indexOfText(entry.failingStep),
      indexOfText(entry.message),
      groupIds.get(entry) ?? null,
    ];
    yield `${index === 0 ? '\n' : ',\n'}${toScriptJson(row)}`;
  }
  yield `\n],\n"texts":${toScriptJson([...texts.keys()])},\n"outcomes":${toScriptJson(PAGE_OUTCOMES)}}`;
}
