/** `--report html`: a self-contained page for people, opened from disk without a network. */

import { createHash } from 'node:crypto';
import type { CommandResult } from '../../outcome/error-data.js';
import { VERSION } from '../../platform/context.js';
import { formatCount, formatDuration, formatUtc, pluralize } from '../../text/quantity.js';
import { type ReasonGroup, ReasonGroups } from '../../text/reason-groups.js';
import { isUuid } from '../../text/url.js';
import { Markup, markup } from '../markup.js';
import script from './client.js?raw';
import {
  type Common,
  type Entry,
  PAGE_OUTCOMES,
  type PageOutcome,
  serializeEntries,
  toEntry,
} from './entries.js';
import style from './style.css?raw';

/** Yields the page in chunks. */
export function* renderPage({ runs, startedAt, durationMs }: CommandResult): Generator<string, void, void> {
  const entries = runs.map(toEntry);
  const counts = countOutcomes(entries);
  const common = { ...commonText('workflow', entries), ...commonText('version', entries) };
  const failures = new ReasonGroups<Entry>();
  const groupIds = new Map<Entry, number>();
  for (const entry of entries) {
    const { succeeded, outcome, step, message } = entry;
    if (!succeeded) groupIds.set(entry, failures.add({ outcome: outcome.label, step, message }, entry));
  }
  yield renderHead(formatHeadline(entries)).text;
  yield '<body class="static">\n<main>\n';
  yield renderHeader(entries, counts, common, startedAt, durationMs).text;
  if (entries.length > 1) yield renderOutcomes(counts, entries.length).text;
  yield renderFailures(failures.bySize()).text;
  yield renderDurations(entries).text;
  yield renderRuns(entries, counts, common).text;
  yield '</main>\n<script type="application/json" id="data">';
  yield* serializeEntries(entries, common, groupIds);
  yield `</script>\n<script>${script}</script>\n</body>\n</html>\n`;
}

function commonText(member: keyof Common, entries: readonly Entry[]): Common {
  const [only, another] = new Set(entries.map((entry) => entry[member]).filter(Boolean));
  return only && another === undefined && entries.length > 1 ? { [member]: only } : {};
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

/** The columns of the table: name, CSS classes, and the member that it is sorted by. */
const COLUMNS: readonly (readonly [name: string, kind: string, member: keyof Entry])[] = [
  ['Run', 'id', 'id'],
  ['Workflow', 'id', 'workflow'],
  ['Version', 'version', 'version'],
  ['Status', 'status', 'outcome'],
  ['Steps', 'number steps', 'steps'],
  ['Start (UTC)', 'number start', 'started'],
  ['Duration', 'number', 'duration'],
  ['Failing step', 'step', 'step'],
  ['Message', 'message', 'message'],
];

/** Renders the table, which the script fills: thousands of rows would make the page slow to open. */
function renderRuns(entries: readonly Entry[], counts: readonly Count[], common: Common): Markup {
  const isBatch = entries.every(({ label }) => label !== '');
  const columns = COLUMNS.filter(
    ([, , member]) =>
      !(member in common) &&
      !(isBatch && member === 'id') &&
      entries.some((entry) => entry[member] !== '' && entry[member] !== undefined),
  );
  // The label of a row has its number.
  const first = isBatch ? (['Row', 'id', 'number'] as const) : (['#', 'number', 'number'] as const);
  return markup`
<section id="runs" class="runs ${isBatch ? 'labelled' : ''} ${entries.length === 1 ? 'single' : ''}" aria-labelledby="all">
<h2 id="all">${entries.length === 1 ? 'The run' : 'All runs'}</h2>
<noscript><p class="note">The table of all runs needs JavaScript; the rest of the page does not.</p></noscript>
<form class="filters" role="search">
<label>Find <input type="search" name="text" size="32" autocomplete="off" spellcheck="false"></label>
<label>Outcome <select name="outcome"><option value="">all</option>${counts.map(
    ([outcome]) => markup`<option value="${PAGE_OUTCOMES.indexOf(outcome)}">${outcome.label}</option>`,
  )}</select></label>
<a class="chosen" href="#runs" title="Show all runs"></a>
<output></output>
</form>
<table><thead><tr>${[first, ...columns].map(
    ([name, kind, member]) =>
      markup`<th scope="col" class="${kind}" data-member="${member}"><button type="button">${name}</button></th>`,
  )}</tr></thead><tbody></tbody></table>
<button type="button" class="more"></button>
</section>
`;
}

/** The details of each run have whole ids. */
const shortId = (id: string) => (isUuid(id) ? `${id.slice(0, 8)}…` : id);

type Count = readonly [outcome: PageOutcome, runs: number];

/** Renders the header; `startedAt` is in milliseconds since 1970. */
function renderHeader(
  entries: readonly Entry[],
  counts: readonly Count[],
  common: Common,
  startedAt: number,
  durationMs: number,
): Markup {
  // It may have been interrupted, so that it did not take so long.
  const end = counts.some(([{ tone }]) => tone === 'open') ? 'last changed' : 'ended';
  const facts = Object.entries(common)
    .map(([member, text]) => `${member} ${shortId(text)}, `)
    .join('');
  return markup`<header>
<h1>${formatHeadline(entries)}</h1>
<p class="note">Began <time datetime="${new Date(startedAt).toISOString()}">${formatUtc(startedAt)}</time>, ${end} ${formatDuration(durationMs)} later; ${facts}written by wfr ${VERSION}</p>
</header>
`;
}

function renderOutcomes(counts: readonly Count[], all: number): Markup {
  return markup`<section aria-label="Outcomes">
${renderShares(counts, all)}
<dl class="figures">
${counts.map(
  ([{ label, tone }, runs]) =>
    markup`<div><dt class="outcome ${tone}">${label}</dt><dd>${formatCount(runs)} <small>${formatPercent(runs, all)}</small></dd></div>\n`,
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
  return PAGE_OUTCOMES.map(
    (outcome): Count => [outcome, entries.filter((entry) => entry.outcome === outcome).length],
  ).filter(([, runs]) => runs > 0);
}

/** Renders one bar, divided in proportion to the outcomes. */
function renderShares(counts: readonly Count[], all: number): Markup {
  let left = 0;
  const parts = counts.map(([{ tone }, runs]) => {
    const width = (runs / all) * 100;
    left += width;
    // Narrower would be invisible.
    const shown = Math.max(0.2, width - 0.1);
    return markup`<rect class="${tone}" x="${formatPercentage(left - width)}" width="${formatPercentage(shown)}" height="8"/>`;
  });
  return markup`<svg class="shares" aria-hidden="true" height="8">${parts}</svg>`;
}

/** Formats a length in an SVG that is as wide as the page. */
const formatPercentage = (value: number) => `${value.toFixed(2)}%`;

/** Never rounds to 0 % or 100 %: returns `<0.1 %` and `>99.9 %` instead. */
function formatPercent(runs: number, all: number): string {
  const share = (runs / all) * 100;
  if (share === 100) return '100 %';
  if (share < 0.1) return '<0.1 %';
  return share > 99.9 ? '>99.9 %' : `${share.toFixed(1)} %`;
}

/* The reasons: runs that did not succeed for the same reason are one group, largest first. */

/** Groups that are listed; the table of runs has every run. */
const MAX_GROUPS = 50;

type Group = ReasonGroup<Entry>;

/** Renders the section; empty if all runs succeeded. The links that show all runs of a group need the page's script. */
function renderFailures(groups: readonly Group[]): Markup {
  if (groups.length === 0) return markup``;
  const left = groups.slice(MAX_GROUPS);
  const runs = left.reduce((sum, group) => sum + group.count, 0);
  return markup`
<section aria-labelledby="failures">
<h2 id="failures">Why runs did not succeed</h2>
<table class="groups">
<thead><tr><th scope="col" class="number">Runs</th><th scope="col">Outcome</th><th scope="col">Message</th><td></td></tr></thead>
<tbody>
${groups.slice(0, MAX_GROUPS).map(renderGroup)}</tbody>
</table>
${left.length === 0 ? '' : markup`<p class="note">${pluralize(left.length, 'more reason')}, of ${pluralize(runs, 'run')}: see the table of all runs.</p>`}
</section>`;
}

function renderGroup({ id, count, first, step, message }: Group): Markup {
  const { label, tone } = first[0].outcome;
  const shown = `Show ${count === 1 ? 'this run' : `these ${formatCount(count)} runs`} in the table`;
  return markup`<tr><td class="number">${formatCount(count)}</td><td><span class="outcome ${tone}">${label}</span></td><td class="message">${step && markup`<p class="note">At step ${step}</p>`}<div>${message}</div>${renderFirst(first, count)}</td><td><a class="show" href="#reason-${id}" aria-label="${shown}">Show</a></td></tr>
`;
}

/** Links to the first runs of a group; the page's script shows a run that the address names. */
function renderFirst(first: readonly Entry[], count: number): Markup {
  const links = first.map(
    ({ number, label, id, workflow }) =>
      markup`<a href="#run-${number}">${label || id || workflow || number}</a> `,
  );
  const more = count > first.length ? `and ${formatCount(count - first.length)} more` : '';
  return markup`<p class="note">${links}${more}</p>`;
}

/* The durations: statistics and a histogram of the runs that FINISHED or FAILED. */

/** Durations between the shortest and the longest are divided into about so many ranges. */
const MAX_RANGES = 12;
/** Those that exceed the 95th percentile by this factor are in the last range. */
const LONG_TAIL = 2;

/** Renders the section; empty if fewer than two runs ended. */
function renderDurations(entries: readonly Entry[]): Markup {
  const sorted = entries
    .filter(({ outcome }) => outcome.label === 'finished' || outcome.label === 'failed')
    .flatMap(({ duration }) => duration ?? [])
    .sort((a, b) => a - b);
  /** Returns the smallest value that at least this share of the values does not exceed (nearest rank). */
  const percentile = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const [shortest, p95, longest] = [percentile(0), percentile(0.95), percentile(1)];
  if (sorted.length < 2 || longest <= 0) return markup``;
  const stats = { Shortest: shortest, Median: percentile(0.5), '95th percentile': p95, Longest: longest };
  const top = Math.min(longest, p95 * LONG_TAIL);
  const width = (top - shortest) / MAX_RANGES;
  const step = ROUND_STEPS.find((ms) => width <= ms) ?? Math.ceil(width / DAY) * DAY;
  const rangeOf = (ms: number) => Math.floor(Math.min(ms, top) / step);
  const [first, last] = [rangeOf(shortest), rangeOf(top)];
  const ranges: number[] = Array(last + 1 - first).fill(0);
  for (const ms of sorted) ranges[rangeOf(ms) - first] = (ranges[rangeOf(ms) - first] ?? 0) + 1;
  const highest = Math.max(...ranges);
  const rows = ranges.map((runs, index) => {
    const [from, to] = [(first + index) * step, (first + index + 1) * step];
    const end = first + index === last && longest >= to ? 'or more' : `to ${formatTick(to)}`;
    return markup`<tr><th scope="row">${formatTick(from)} ${end}</th><td class="number">${formatCount(runs)}</td><td class="message"><svg aria-hidden="true" height="12"><rect width="${formatPercentage((runs / highest) * 100)}" height="12"/></svg></td></tr>\n`;
  });
  return markup`
<section aria-labelledby="durations">
<h2 id="durations">Durations</h2>
<dl class="figures">${Object.entries(stats).map(([name, ms]) => markup`<div><dt>${name}</dt><dd>${formatDuration(ms)}</dd></div>`)}</dl>
<table class="ranges">
<thead><tr><th scope="col">Finished or failed after</th><th scope="col" class="number">Runs</th><td></td></tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>`;
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

/** Returns text such as `5s`, without the decimals of a measured duration. */
function formatTick(ms: number): string {
  return ms === 0 ? '0' : formatDuration(ms).replace('.0s', 's');
}
