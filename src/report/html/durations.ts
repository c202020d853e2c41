/** The page's section on durations: statistics and a histogram of the runs that FINISHED or FAILED. */
import { formatDuration, pluralize } from '../../text/quantity.js';
import { type Markup, markup } from './markup.js';
import type { Entry } from './outcome.js';

const MAX_BINS = 24;
/** Bins between two labels of the axis. */
const BINS_PER_LABEL = 4;
/** Durations are collected in the last bin if the longest exceeds the 95th percentile by this factor. */
const LONG_TAIL = 3;

/** Renders the section; empty if fewer than two runs ended. */
export function renderDurations(entries: readonly Entry[]): Markup {
  const sorted = entries
    .filter(({ outcome }) => outcome.label === 'finished' || outcome.label === 'failed')
    .flatMap(({ duration }) => duration ?? [])
    .sort((a, b) => a - b);
  const longest = sorted.at(-1) ?? 0;
  if (sorted.length < 2 || longest <= 0) return markup``;
  const median = percentile(sorted, 0.5);
  const p95 = percentile(sorted, 0.95);
  const bins = computeHistogram(sorted, p95, longest);
  const stats = [
    ['Shortest', percentile(sorted, 0)],
    ['Median', median],
    ['95th percentile', p95],
    ['Longest', longest],
  ] as const;
  return markup`
<section aria-labelledby="durations">
<h2 id="durations">Durations</h2>
<dl class="stats">${stats.map(([name, ms]) => markup`<div><dt>${name}</dt><dd>${formatDuration(ms)}</dd></div>`)}</dl>
${renderHistogram(bins, median, p95)}
<p class="note">Runs that finished or failed; the highest bar is ${pluralize(Math.max(...bins.counts), 'run')}. The lines mark the median and the 95th percentile.</p>
</section>`;
}

interface Histogram {
  /** Width of a bin in milliseconds. */
  step: number;
  counts: readonly number[];
  /** Whether the last bin has no upper bound. */
  isOpen: boolean;
}

function computeHistogram(sorted: readonly number[], p95: number, longest: number): Histogram {
  const isOpen = p95 > 0 && longest > p95 * LONG_TAIL;
  const step = chooseStep(isOpen ? p95 * 1.5 : longest, MAX_BINS);
  const needed = Math.floor((isOpen ? p95 * 1.5 : longest) / step) + 1;
  const counts: number[] = Array(Math.ceil(needed / BINS_PER_LABEL) * BINS_PER_LABEL).fill(0);
  for (const ms of sorted) {
    const bin = Math.min(Math.floor(Math.max(0, ms) / step), counts.length - 1);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { step, counts, isOpen };
}

function renderHistogram({ step, counts, isOpen }: Histogram, median: number, p95: number): Markup {
  const highest = Math.max(...counts);
  const width = counts.length;
  const divisions = width / BINS_PER_LABEL;
  const bars = counts.flatMap((runs, index) => {
    const rest = isOpen && index === width - 1;
    const range = `${formatTick(index * step)} ${rest ? 'or more' : `to ${formatTick((index + 1) * step)}`}`;
    // Even a single run must be visible.
    const height = Math.max(1.5, (runs / highest) * 100);
    return runs === 0
      ? []
      : [
          markup`<rect x="${index + 0.06}" y="${100 - height}" width="0.88" height="${height}"${
            rest ? markup` class="rest"` : ''
          }><title>${range}: ${pluralize(runs, 'run')}</title></rect>\n`,
        ];
  });
  const mark = (ms: number) => `M${Math.min(ms / step, width)} 0v100`;
  const label = `Distribution of durations: median ${formatDuration(median)}, 95th percentile ${formatDuration(p95)}`;
  return markup`<svg class="chart bars" role="img" aria-label="${label}" viewBox="0 0 ${width} 100" height="140" preserveAspectRatio="none">
${bars}<path class="mark" d="${mark(median)}${mark(p95)}"/></svg>
${renderAxis(divisions, step * BINS_PER_LABEL, isOpen ? 'longer' : undefined)}`;
}

/** Returns the smallest value that at least this share of the values does not exceed (nearest rank). */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

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
function chooseStep(span: number, maxSteps: number): number {
  return ROUND_STEPS.find((step) => span <= step * maxSteps) ?? Math.ceil(span / maxSteps / DAY) * DAY;
}

/** Renders labels at the edges of `divisions` equal parts, `step` milliseconds each; `end` is the last label. */
function renderAxis(divisions: number, step: number, end = formatTick(divisions * step)): Markup {
  const labels = Array.from({ length: divisions }, (_, index) => formatTick(index * step));
  return markup`<ol class="axis" aria-hidden="true">${labels.map(
    (label, index) =>
      markup`<li><span>${label}</span>${index === divisions - 1 ? markup`<span>${end}</span>` : ''}</li>`,
  )}</ol>`;
}

/** Returns text such as `5s`, without the decimals of a measured duration. */
function formatTick(ms: number): string {
  return ms === 0 ? '0' : formatDuration(ms).replace('.0s', 's');
}
