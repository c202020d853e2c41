/** Runs in `-o text`. */

import type { PastRun } from '../history/history.js';
import { countWords, type Outcome, statusText, stepsOf } from '../outcome/outcome.js';
import type { Run } from '../service/run.js';
import { formatCount, formatElapsed, formatUtc, parseTime } from '../text/quantity.js';
import { sanitize, sanitizeLines } from '../text/sanitize.js';
import { wrap } from '../text/wrap.js';
import { type Layout, type Style, statusPaint, wordPaint } from './presentation.js';

/** The column in which the texts of a summary begin. */
export const LABEL_WIDTH = 11;

/** Returns a row for each known fact, `more` by their names, whose text is wrapped to the width of the layout. */
export function runSummary(
  run: Run,
  more: Readonly<Record<string, string | undefined>>,
  now: number,
  { style, width }: Layout,
): string {
  const { createdAt = '' } = run;
  const age = ageText(createdAt, now);
  const ago = age === 'now' ? age : `${age} ago`;
  const rows = {
    run: run.id,
    status: run.status,
    steps: stepsOf(run) || undefined,
    'failed at': run.error?.step,
    message: run.error?.message,
    created: age ? `${ago} (${formatUtc(parseTime(createdAt))})` : run.createdAt,
    ...more,
  };
  const space = width === 0 ? Number.POSITIVE_INFINITY : width - LABEL_WIDTH;
  return Object.entries(rows)
    .map(([name, text]) => {
      if (text === undefined) return '';
      const lines = sanitizeLines(text).flatMap((line) => wrap(line, space));
      // An id is one word, which a person can copy from a line of its own.
      if (lines.some((line) => line.length > space)) return `${name}\n  ${lines.join('\n  ')}\n`;
      const shown = lines.join(`\n${' '.repeat(LABEL_WIDTH)}`);
      return `${name.padEnd(LABEL_WIDTH)}${name === 'status' ? statusPaint(run.status, style)(shown) : shown}\n`;
    })
    .join('');
}

/** The clocks of two machines differ by this much without one of them being wrong (ms). */
const MAX_AHEAD = 60_000;

/**
 * Returns the age of a time, such as `now`, `12s` or `5d`; undefined for what is no time, or is far ahead of this machine's
 * clock.
 */
export function ageText(time = '', now: number): string | undefined {
  const age = now - parseTime(time);
  if (!(age >= -MAX_AHEAD)) return undefined;
  if (age < 1_000) return 'now';
  return formatElapsed(age).split(' ')[0];
}

/** Returns how long a run took; undefined where no command saw it end. */
export function durationText({ triggered = '', ended = '' }: Partial<PastRun> = {}): string | undefined {
  const duration = parseTime(ended) - parseTime(triggered);
  return duration >= 0 ? formatElapsed(duration) : undefined;
}

/** Returns what so many runs have in common, such as `3 failed at step Check totals` or `2 rejected (422)`, and why. */
export function reasonTexts(
  { word, count, step, message }: { word: string; count: number; step: string; message: string },
  style: Style,
): readonly [head: string, reason: string] {
  const [, status, reason = ''] = /^(?:(\d{3}): )?(.*)$/s.exec(message) ?? [];
  const head = wordPaint(word, style)(`${formatCount(count)} ${word}`);
  const at = step && ` at step ${sanitize(step)}`;
  return [head + at + (status === undefined ? '' : ` (${status})`), sanitizeLines(reason).join('; ')];
}

/** The order in which statuses are counted; others come last. */
const COUNTED: readonly string[] = ['FINISHED', 'FAILED', 'RUNNING', 'PENDING'];

/** What is known of a run that was asked for. */
type Known = Partial<Pick<Outcome, 'run' | 'error'>>;

/** Returns the status of a run that was asked for, or why it has none. */
export function statusOrReason({ run, error }: Known): string {
  if (run) return statusText(run);
  return error?.code === 'no-such-run' ? 'not found' : 'not read';
}

/** Returns how many runs have each status that some have, or none for a reason. */
export function countStatuses(outcomes: readonly Known[]) {
  const statuses = outcomes.map((outcome) => [statusOrReason(outcome), 1] as const);
  return countWords(statuses, COUNTED);
}

/** Returns `3 runs: 2 FINISHED, 1 not found`, with colors. */
export function countsText(outcomes: readonly Known[], style: Style): string {
  const counts = countStatuses(outcomes).map(([status, count]) =>
    statusPaint(status, style)(`${count} ${status}`),
  );
  return `${outcomes.length} runs: ${counts.join(', ')}`;
}
