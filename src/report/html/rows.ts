/** The rows of the table of all runs, for the script of the page. */
import { formatDuration } from '../../text/duration.js';
import { toScriptJson } from './markup.js';
import { type Entry, OUTCOMES } from './outcome.js';

/**
 * `{rows, texts, outcomes}`. A row is `[id, workflow, version, outcome, status, steps, started, duration, duration in
 * words, failing step, message]`: the outcome is a place in `outcomes`, the times are milliseconds, and all else but the
 * id is a place in `texts`, for thousands of runs share a few of them.
 */
export function* serializeRows(entries: readonly Entry[]): Generator<string, void, void> {
  const texts = new Map<string, number>();
  const placeOf = (text: string) => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    texts.set(text, texts.size);
    return texts.size - 1;
  };
  yield '{"rows":[';
  for (const [index, entry] of entries.entries()) {
    const row = [
      entry.id,
      placeOf(entry.workflow),
      placeOf(entry.version),
      OUTCOMES.indexOf(entry.outcome),
      placeOf(entry.status),
      placeOf(entry.steps),
      entry.started ?? null,
      Math.round(entry.duration),
      placeOf(formatDuration(entry.duration)),
      placeOf(entry.failingStep),
      placeOf(entry.message),
    ];
    yield `${index === 0 ? '\n' : ',\n'}${toScriptJson(row)}`;
  }
  yield `\n],\n"texts":${toScriptJson([...texts.keys()])},\n"outcomes":${toScriptJson(OUTCOMES)}}`;
}
