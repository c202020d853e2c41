/** The top of the page: outcomes of the runs, start and duration of the command. */
import { VERSION } from '../../platform/version.js';
import { formatDuration, formatUtc } from '../../text/duration.js';
import { formatCount, type Markup, markup, pluralize } from './markup.js';
import { type Entry, PAGE_OUTCOMES, type PageOutcome } from './outcome.js';

type Count = readonly [outcome: PageOutcome, runs: number];

/** Renders the section; `startedAt` is in milliseconds since 1970. */
export function renderOverview(entries: readonly Entry[], startedAt: number, durationMs: number): Markup {
  const counts = countOutcomes(entries);
  const iso = new Date(startedAt).toISOString();
  return markup`<header>
<h1>${formatHeadline(entries)}</h1>
<p class="facts">Began <time datetime="${iso}">${formatUtc(startedAt)}</time>, took ${formatDuration(durationMs)}. Written by wfr ${VERSION}.</p>
</header>
<section aria-label="Outcomes">
${renderShares(counts, entries.length)}
<dl class="counts">
${counts.map(
  ([{ label, tone }, runs]) =>
    markup`<div class="${tone}"><dt>${label}</dt><dd>${formatCount(runs)}<small>${formatPercent(runs, entries.length)}</small></dd></div>\n`,
)}</dl>
</section>`;
}

/** Returns text such as `9,700 of 10,000 runs finished`; also the page's title. */
export function formatHeadline(entries: readonly Entry[]): string {
  const finished = entries.filter(({ outcome }) => outcome.label === 'finished').length;
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) return `1 run: ${only.outcome.label}`;
  if (finished === entries.length) return `All ${pluralize(entries.length, 'run')} finished`;
  return `${formatCount(finished)} of ${pluralize(entries.length, 'run')} finished`;
}

function countOutcomes(entries: readonly Entry[]): Count[] {
  const counts = new Map<PageOutcome, number>();
  for (const { outcome } of entries) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return PAGE_OUTCOMES.flatMap((outcome) => {
    const runs = counts.get(outcome);
    return runs === undefined ? [] : [[outcome, runs] as const];
  });
}

/** Renders one bar, divided in proportion to the outcomes. */
function renderShares(counts: readonly Count[], all: number): Markup {
  let left = 0;
  const parts = counts.map(([{ tone }, runs]) => {
    const width = (runs / all) * 1_000;
    left += width;
    // Narrower would be invisible.
    const shown = Math.max(2, width - 1);
    return markup`<rect class="${tone}" x="${(left - width).toFixed(2)}" width="${shown.toFixed(2)}" height="8"/>`;
  });
  return markup`<svg class="shares" aria-hidden="true" viewBox="0 0 1000 8" height="8" preserveAspectRatio="none">${parts}</svg>`;
}

/** Never rounds to 0 % or 100 %: returns `<0.1 %` and `>99.9 %` instead. */
function formatPercent(runs: number, all: number): string {
  const share = (runs / all) * 100;
  if (share === 100) return '100 %';
  if (share < 0.1) return '<0.1 %';
  return share > 99.9 ? '>99.9 %' : `${share.toFixed(1)} %`;
}
