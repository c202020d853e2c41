/** Runs in `-o text`. */

import type { ListedNames } from '../history/history.js';
import { statusText, stepsDone, totalSteps } from '../outcome/outcome.js';
import type { Run } from '../service/run.js';
import { formatAge, formatUtc, parseTime } from '../text/quantity.js';
import { sanitize, sanitizeLines } from '../text/sanitize.js';
import { wrap, wrapLines } from '../text/wrap.js';
import type { Layout } from './presentation.js';
import { statusPaint } from './presentation.js';

/** The longest status that the service is known to have, and usual steps and ages, so that columns line up. */
const STATUS_WIDTH = 'FINISHED'.length;
const STEPS_WIDTH = '10/10'.length;
const AGE_WIDTH = '59m ago'.length;

/**
 * Returns id, status, steps, age, label, workflow or version, and the step and message of a failure, as a line for a screen:
 * wrapped to its width, and with the status in color.
 */
export function layOutSummaryLine(
  run: Run,
  names: ListedNames,
  now: number,
  { style, width }: Layout,
): string {
  const { versionName = '', createdAt = '', error } = run;
  const steps = totalSteps(run);
  const age = ageOf(createdAt, now);
  const known = [
    steps === undefined ? '' : `${stepsDone(run)}/${steps}`.padEnd(STEPS_WIDTH),
    age === undefined ? '' : formatAge(age).padEnd(AGE_WIDTH),
    names.label,
    names.workflow ?? versionName,
    [error?.step, error?.message].filter(Boolean).join(': '),
  ];
  const status = statusText(run);
  const padded =
    statusPaint(run.status, style)(status) + ' '.repeat(Math.max(0, STATUS_WIDTH - status.length));
  const parts = [sanitize(names.id), padded, ...known.filter((part) => part !== '').map(sanitize)];
  return wrapLines([parts.join('  ').trimEnd()], width).join('\n');
}

/** The column in which the texts of a summary begin. */
export const LABEL_WIDTH = 11;

/** Returns a row for each known fact, `more` by their names, whose text is wrapped to the width of the layout. */
export function runSummary(
  run: Run,
  more: Readonly<Record<string, string | undefined>>,
  now: number,
  { style, width }: Layout,
): string {
  const steps = totalSteps(run);
  const rows = {
    run: run.id,
    status: run.status,
    steps: steps === undefined ? undefined : `${stepsDone(run)} of ${steps}`,
    'failed at': run.error?.step,
    message: run.error?.message,
    created: run.createdAt === undefined ? undefined : createdText(run.createdAt, now),
    ...more,
  };
  const space = width === 0 ? Number.POSITIVE_INFINITY : width - LABEL_WIDTH;
  return Object.entries(rows)
    .map(([name, text]) => {
      if (text === undefined) return '';
      const lines = sanitizeLines(text).flatMap((line) => wrap(line, space));
      // A word that does not fit beside the label is on a line of its own.
      const start = lines.every((line) => line.length <= space) ? name.padEnd(LABEL_WIDTH) : `${name}\n  `;
      const indent = start.endsWith('\n  ') ? 2 : LABEL_WIDTH;
      const shown = lines.join(`\n${' '.repeat(indent)}`);
      return `${start}${name === 'status' ? statusPaint(run.status, style)(shown) : shown}\n`;
    })
    .join('');
}

/** Returns `3m ago (2026-01-02 03:04:05 UTC)`; without the age, a time far ahead of this machine's clock; or what is no time. */
function createdText(createdAt: string, now: number): string {
  const time = parseTime(createdAt);
  if (Number.isNaN(time)) return createdAt;
  const age = ageOf(createdAt, now);
  return age === undefined ? formatUtc(time) : `${formatAge(age)} (${formatUtc(time)})`;
}

/** The clocks of two machines differ by this much without one of them being wrong (ms). */
const MAX_AHEAD = 60_000;

/** Returns how long ago a time was (ms); undefined for what is no time, or is far ahead of this machine's clock. */
export function ageOf(time: string, now: number): number | undefined {
  const age = now - parseTime(time);
  return age >= -MAX_AHEAD ? age : undefined;
}

/** The order in which statuses are counted; others come last. */
const COUNTED: readonly string[] = ['FINISHED', 'FAILED', 'RUNNING', 'PENDING'];

/** Returns how many runs have each status that some have; `run` is undefined for one that could not be read. */
export function countStatuses(
  outcomes: readonly { run?: Run | undefined }[],
): (readonly [status: string, count: number])[] {
  const counts = new Map(COUNTED.map((status) => [status, 0]));
  for (const { run } of outcomes) {
    const status = run === undefined ? 'not read' : statusText(run);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 0);
}
