/** Time axes of the charts: round steps, and the labels below a chart. */
import { formatDuration } from '../../text/duration.js';
import { type Markup, markup } from './markup.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ROUND_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * HOUR),
];

/** Returns the smallest round step, in milliseconds, of which at most `maxSteps` cover `span`. */
export function chooseStep(span: number, maxSteps: number): number {
  return ROUND_STEPS.find((step) => span <= step * maxSteps) ?? Math.ceil(span / maxSteps / DAY) * DAY;
}

/** Renders labels at the edges of `divisions` equal parts, `step` milliseconds each; `end` is the last label. */
export function renderAxis(divisions: number, step: number, end = formatTick(divisions * step)): Markup {
  const labels = Array.from({ length: divisions }, (_, index) => formatTick(index * step));
  return markup`<ol class="axis" aria-hidden="true">${labels.map(
    (label, index) =>
      markup`<li><span>${label}</span>${index === divisions - 1 ? markup`<span>${end}</span>` : ''}</li>`,
  )}</ol>`;
}

/** Returns text such as `5s`, without the decimals of a measured duration. */
export function formatTick(ms: number): string {
  return ms === 0 ? '0' : formatDuration(ms).replace('.0s', 's');
}
