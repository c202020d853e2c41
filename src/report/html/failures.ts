/** The page's section on failures: runs with the same outcome, step and message are one group, largest first. */
import { formatCount, type Markup, markup, pluralize } from './markup.js';
import type { Entry } from './outcome.js';

/** Groups shown at once, and listed at all; the table of runs has every run. */
const OPEN_GROUPS = 12;
const MAX_GROUPS = 200;
/** Longer messages are collapsed. */
const MAX_OPEN = 400;
const MAX_OPEN_LINES = 6;

interface Group {
  first: Entry;
  runs: number;
}

/** Renders the section; empty if all runs succeeded. */
export function renderFailures(entries: readonly Entry[]): Markup {
  const groups = groupFailures(entries);
  if (groups.length === 0) return markup``;
  const listed = groups.slice(OPEN_GROUPS, MAX_GROUPS);
  const left = groups.slice(MAX_GROUPS);
  return markup`
<section aria-labelledby="failures">
<h2 id="failures">Why runs did not succeed</h2>
${renderGroups(groups.slice(0, OPEN_GROUPS))}
${listed.length === 0 ? '' : markup`<details class="rarer"><summary>${countReasons(listed)}</summary>\n${renderGroups(listed)}\n</details>`}
${left.length === 0 ? '' : markup`<p class="note">${countReasons(left)}: see the table of all runs.</p>`}
</section>`;
}

/** Returns text such as `38 more reasons, of 41 runs`. */
function countReasons(groups: readonly Group[]): string {
  const runs = groups.reduce((sum, group) => sum + group.runs, 0);
  return `${pluralize(groups.length, 'more reason')}, of ${pluralize(runs, 'run')}`;
}

function renderGroups(groups: readonly Group[]): Markup {
  return markup`<table class="groups">
<thead><tr><th scope="col" class="number">Runs</th><th scope="col">Outcome</th><th scope="col">Failing step</th><th scope="col">Message</th><td></td></tr></thead>
<tbody>
${groups.map(renderGroup)}</tbody>
</table>`;
}

function groupFailures(entries: readonly Entry[]): Group[] {
  const groups = new Map<string, Group>();
  for (const entry of entries) {
    if (entry.succeeded) continue;
    const key = JSON.stringify([entry.outcome.label, entry.failingStep, entry.message]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: entry, runs: 1 });
    else group.runs++;
  }
  return [...groups.values()].sort((a, b) => b.runs - a.runs);
}

/** The button stays hidden unless the page's script runs. */
function renderGroup({ first, runs }: Group): Markup {
  const { outcome, failingStep, message } = first;
  const search = `${failingStep} ${message}`;
  const shown = `Show ${runs === 1 ? 'this run' : `these ${formatCount(runs)} runs`} in the table`;
  return markup`<tr><td class="number">${formatCount(runs)}</td><td class="which"><span class="outcome ${outcome.tone}">${outcome.label}</span></td><td class="step">${failingStep}</td><td class="message">${renderMessage(message)}</td><td class="action"><button type="button" class="show" hidden data-outcome="${outcome.label}" data-search="${search}" aria-label="${shown}">Show</button></td></tr>
`;
}

function renderMessage(message: string): Markup {
  const [head = '', ...rest] = message.split('\n');
  if (message.length <= MAX_OPEN && rest.length < MAX_OPEN_LINES) return markup`<div>${message}</div>`;
  return markup`<details><summary>${head.slice(0, 160)}…</summary><div>${message}</div></details>`;
}
