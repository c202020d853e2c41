/** `--report html`: a self-contained page for people, opened from disk without a network. */

import { hash } from 'node:crypto';
import type { CommandResult } from '../../outcome/error-data.js';
import { commonTable, countWords } from '../../outcome/outcome.js';
import { VERSION } from '../../platform/context.js';
import { formatCount, formatElapsed, formatIso, formatUtc, pluralize } from '../../text/quantity.js';
import { createReasonGroups, type ReasonGroup } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import { isUuid } from '../../text/url.js';
import { Markup, markup } from '../markup.js';
import script from './client.js?raw';
import { type Common, type Entry, PAGE_OUTCOMES, serializeEntries, toEntry } from './entries.js';
import style from './style.css?raw';

/** Yields the page in chunks. */
export function* renderPage(result: CommandResult): Generator<string, void, void> {
  const { runs, startedAt, durationMs } = result;
  const table = commonTable(runs.map(({ label = '' }) => label));
  const entries = runs.map((run, index) => toEntry(run, index, table));
  const [first] = entries;
  /** Whether they are those of a batch. */
  const isBatch = entries.every(({ label }) => label !== '');
  const counts = countWords(
    entries.map(({ outcome }) => [outcome, 1]),
    PAGE_OUTCOMES,
  );
  const common = { ...commonText('workflow'), ...commonText('version') };
  const failures = createReasonGroups<Entry>(MAX_LINKS);
  const groupIds = entries.map((entry) => {
    const { succeeded, outcome, step, message } = entry;
    return succeeded ? undefined : failures.add({ outcome: outcome.label, step, message }, entry).id;
  });
  const headline = `${sanitize(table)} ${formatHeadline()}`.trim();
  yield markup`${renderHead(headline)}<body class="static${entries.length === 1 ? ` single ${first?.outcome.tone}` : ''}">
<main>
${renderHeader()}${entries.length > 1 ? renderFigures() : ''}${renderFailures(failures.bySize())}${renderRuns()}</main>
<script type="application/json" id="data">`.text;
  yield* serializeEntries(entries, common, groupIds, table);
  yield `</script>\n<script>${script}</script>\n</body>\n</html>\n`;

  function commonText(member: keyof Common): Common {
    const [only, another] = new Set(entries.map((entry) => entry[member]).filter(Boolean));
    return only && another === undefined && entries.length > 1 ? { [member]: only } : {};
  }

  /** Returns text such as `9,700 of 10,000 runs finished`; also the page's title. */
  function formatHeadline(): string {
    const finished = entries.filter(({ outcome }) => outcome.label === 'finished').length;
    if (first && entries.length === 1) {
      const { label, name, version, workflow, id, outcome } = first;
      const fallback = workflow ? `workflow ${shortId(workflow)}` : `run ${shortId(id)}`;
      return `${label || name || version || fallback}: ${outcome.label}`;
    }
    return `${formatCount(finished)} of ${pluralize(entries.length, isBatch ? 'row' : 'run')} finished`;
  }

  function renderHeader(): Markup {
    const facts = Object.entries(common)
      .map(([member, text]) => `${member} ${(member === 'workflow' && first?.name) || shortId(text)}, `)
      .join('');
    return markup`<header>
<h1>${headline}</h1>
<p class="note">Began <time datetime="${formatIso(startedAt)}">${formatUtc(startedAt)}</time>, last change ${formatElapsed(durationMs)} later; ${facts}written by wfr ${VERSION}</p>
</header>
`;
  }

  /** Renders the counts of the outcomes, and how long the runs took that ended. */
  function renderFigures(): Markup {
    const durations = entries.flatMap(({ duration }) => duration ?? []).sort((a, b) => a - b);
    /** Returns the smallest duration that at least this share of them does not exceed (nearest rank). */
    const percentile = (share: number) => durations[Math.ceil(share * durations.length) - 1] ?? 0;
    const outcomes = counts.map(([outcome, count]) =>
      renderFigure(
        markup`<a class="outcome ${outcome.tone}" href="#outcome-${PAGE_OUTCOMES.indexOf(outcome)}">${outcome.label}</a>`,
        formatCount(count),
      ),
    );
    const shares = { 'Median duration': 0.5, '95th percentile': 0.95, Longest: 1 };
    const times = Object.entries(shares).map(([name, share]) =>
      renderFigure(name, formatElapsed(percentile(share))),
    );
    return markup`<section aria-label="Figures">
${renderShares()}
<dl class="figures">${outcomes}</dl>
${durations.length < 2 ? '' : markup`<dl class="figures">${times}</dl>\n`}</section>`;
  }

  /** Renders one bar, divided in proportion to the outcomes. */
  function renderShares(): Markup {
    let left = 0;
    const parts = counts.map(([{ tone }, count]) => {
      const width = (count / entries.length) * 100;
      left += width;
      // Narrower would be invisible.
      const shown = Math.max(0.2, width - 0.1);
      return markup`<rect class="${tone}" x="${formatPercentage(left - width)}" width="${formatPercentage(shown)}" height="8"/>`;
    });
    return markup`<svg class="shares" aria-hidden="true" height="8">${parts}</svg>`;
  }

  /** Renders the table, which the script fills: thousands of rows would make the page slow to open. */
  function renderRuns(): Markup {
    const columns = COLUMNS.filter(
      ([, , member]) =>
        !(member in common) &&
        !(isBatch && member === 'id') &&
        entries.some((entry) => (entry[member] ?? '') !== ''),
    );
    // The label of a row has its number.
    const head = isBatch ? (['Row', 'id', 'number'] as const) : (['#', 'number', 'number'] as const);
    return markup`
<section id="runs" class="runs ${isBatch ? 'labelled' : ''}" aria-labelledby="all">
<h2 id="all">${entries.length === 1 ? 'Details' : isBatch ? 'All rows' : 'All runs'}</h2>
<noscript><p class="note">The table of all runs needs JavaScript; the rest of the page does not.</p></noscript>
<form class="filters" role="search">
<label>Find <input type="search" name="text" size="32" autocomplete="off" spellcheck="false"></label>
<label>Outcome <select name="outcome"><option value="">all</option>${counts.map(
      ([outcome]) => markup`<option value="${PAGE_OUTCOMES.indexOf(outcome)}">${outcome.label}</option>`,
    )}</select></label>
<a class="chosen" href="#runs" title="Show all runs"></a>
<output></output>
</form>
<table><thead><tr>${[head, ...columns].map(
      ([name, kind, member]) =>
        markup`<th scope="col" class="${kind}" data-member="${member}"><button>${name}</button></th>`,
    )}</tr></thead><tbody></tbody></table>
<button class="more"></button>
</section>
`;
  }
}

/** The policy forbids all loading and any other style or script, should text from the service ever escape its context. */
function renderHead(title: string): Markup {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
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
<meta name="referrer" content="no-referrer">
<title>${title} - wfr</title>
<style>${new Markup(style)}</style>
</head>
`;
}

/** The columns of the table: name, CSS classes, and the member that it is sorted by. */
const COLUMNS: readonly (readonly [name: string, kind: string, member: keyof Entry])[] = [
  ['Run', 'id', 'id'],
  ['Workflow', 'id', 'workflow'],
  ['Version', 'version', 'version'],
  ['Outcome', 'status', 'outcome'],
  ['Steps', 'number steps', 'steps'],
  ['Start (UTC)', 'number start', 'started'],
  ['Duration', 'number time', 'duration'],
  ['Failing step', 'step', 'step'],
  ['Message', 'message', 'message'],
];

/** The details of each run have whole ids. */
const shortId = (id: string) => (isUuid(id) ? `${id.slice(0, 8)}…` : id);

function renderFigure(name: string | Markup, value: string): Markup {
  return markup`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** Formats a length in an SVG that is as wide as the page. */
const formatPercentage = (value: number) => `${value.toFixed(2)}%`;

/* The reasons: runs that did not succeed for the same reason are one group, largest first. */

/** Runs that each group links to at most. */
const MAX_LINKS = 10;

/** Renders the section; empty if all runs succeeded. The links need the page's script. */
function renderFailures(groups: readonly ReasonGroup<Entry>[]): Markup {
  if (groups.length === 0) return markup``;
  return markup`
<section aria-labelledby="failures">
<h2 id="failures">What did not succeed</h2>
<ul class="groups">
${groups.map(renderGroup)}</ul>
</section>`;
}

function renderGroup({ id, count, outcome, first, step, pieces }: ReasonGroup<Entry>): Markup {
  const { tone } = first[0].outcome;
  const more = count - first.length;
  const links = first.map(
    ({ number, label, id: run, workflow }) =>
      markup`<a href="#run-${number}">${label || shortId(run || workflow) || number}</a> `,
  );
  return markup`<li class="${tone}"><p><b class="outcome"><span>${formatCount(count)}</span> ${outcome}</b>${step && ` at step ${step}`}</p><div class="message">${pieces.join('')}</div><p class="note">${links}${more > 0 ? `and ${formatCount(more)} more ` : ''}${count > 1 ? markup`<a class="show" href="#reason-${id}">Show ${more > 0 ? `all ${formatCount(count)}` : 'in the table'}</a>` : ''}</p></li>
`;
}
