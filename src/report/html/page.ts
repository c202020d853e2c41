/** `--report html`: a self-contained page for people, opened from disk without a network. */

import { createHash } from 'node:crypto';
import type { CommandResult } from '../../outcome/error-data.js';
import { VERSION } from '../../platform/context.js';
import { formatCount, formatDuration, formatUtc, pluralize } from '../../text/quantity.js';
import { isUuid } from '../../text/url.js';
import script from './client.js?raw';
import { renderDurations } from './durations.js';
import { groupFailures, renderFailures } from './failures.js';
import { Markup, markup } from './markup.js';
import { type Entry, PAGE_OUTCOMES, type PageOutcome, toEntry } from './outcome.js';
import { serializeRows } from './rows.js';
import style from './style.css?raw';

/** Yields the page in chunks. */
export function* renderPage({ runs, startedAt, durationMs }: CommandResult): Generator<string, void, void> {
  const entries = runs.map(toEntry);
  const failures = groupFailures(entries);
  yield renderHead(formatHeadline(entries)).html;
  yield '<body>\n<main>\n';
  yield renderOverview(entries, startedAt, durationMs).html;
  yield renderFailures(failures).html;
  yield renderDurations(entries).html;
  yield renderRunsTable(entries.length).html;
  yield '</main>\n<script type="application/json" id="data">';
  yield* serializeRows(entries, failures.groupIds);
  yield `</script>\n<script>${script}</script>\n</body>\n</html>\n`;
}

/** The policy forbids all loading and any other style or script, should text from the service ever escape its context. */
function renderHead(title: string): Markup {
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} - wfr</title>
<style>${new Markup(style)}</style>
</head>
`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Filled by the script: thousands of rows would make the page slow to open. */
const renderRunsTable = (count: number) => markup`
<section id="runs" aria-labelledby="all">
<h2 id="all">${count === 1 ? 'The run' : 'All runs'}</h2>
<noscript><p class="note">The table of all runs needs JavaScript; the rest of the page does not.</p></noscript>
<form class="filters" role="search" hidden>
<label>Find <input type="search" name="text" autocomplete="off" spellcheck="false"></label>
<label>Outcome <select name="outcome"><option value="">all</option></select></label>
<button type="button" class="chosen" hidden aria-describedby="chosen"></button><span id="chosen" hidden>Show all runs</span>
<output></output>
</form>
<table class="runs" hidden><thead></thead><tbody></tbody></table>
<button type="button" class="more" hidden></button>
</section>
`;

/** Returns `workflow 5b1f0c3e…` if all runs have the same, as the table then has no column for it. */
function commonText(name: string, values: readonly string[]): string {
  const [only, another] = new Set(values.filter(Boolean));
  return only && another === undefined && values.length > 1 ? `${name} ${shortId(only)}` : '';
}

/** The details of each run have whole ids. */
const shortId = (id: string) => (isUuid(id) ? `${id.slice(0, 8)}…` : id);

type Count = readonly [outcome: PageOutcome, runs: number];

/** Renders the section; `startedAt` is in milliseconds since 1970. */
function renderOverview(entries: readonly Entry[], startedAt: number, durationMs: number): Markup {
  const counts = countOutcomes(entries);
  const iso = new Date(startedAt).toISOString();
  const common = [
    commonText(
      'workflow',
      entries.map(({ workflow }) => workflow),
    ),
    commonText(
      'version',
      entries.map(({ version }) => version),
    ),
  ]
    .filter(Boolean)
    .join(', ');
  return markup`<header>
<h1>${formatHeadline(entries)}</h1>
<p class="facts">Began <time datetime="${iso}">${formatUtc(startedAt)}</time>, took ${formatDuration(durationMs)}. ${common === '' ? '' : `${common.charAt(0).toUpperCase()}${common.slice(1)}. `}Written by wfr ${VERSION}.</p>
</header>
${entries.length === 1 ? '' : renderOutcomes(counts, entries.length)}`;
}

function renderOutcomes(counts: readonly Count[], all: number): Markup {
  return markup`<section aria-label="Outcomes">
${renderShares(counts, all)}
<dl class="counts">
${counts.map(
  ([{ label, tone }, runs]) =>
    markup`<div class="${tone} ${label.replaceAll(' ', '-')}"><dt>${label}</dt><dd>${formatCount(runs)}<small>${formatPercent(runs, all)}</small></dd></div>\n`,
)}</dl>
</section>`;
}

/** Returns text such as `9,700 of 10,000 runs finished`; also the page's title. */
function formatHeadline(entries: readonly Entry[]): string {
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
  const parts = counts.map(([{ tone, label }, runs]) => {
    const width = (runs / all) * 1_000;
    left += width;
    // Narrower would be invisible.
    const shown = Math.max(2, width - 1);
    return markup`<rect class="${tone} ${label.replaceAll(' ', '-')}" x="${(left - width).toFixed(2)}" width="${shown.toFixed(2)}" height="8"/>`;
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
