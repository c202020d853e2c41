/** The page's section on failures: runs that did not succeed for the same reason are one group, largest first. */

import { formatCount, pluralize } from '../../text/quantity.js';
import { type ReasonGroup, ReasonGroups } from '../../text/reason-groups.js';
import { type Markup, markup } from './markup.js';
import type { Entry } from './outcome.js';

/** Groups shown at once, and listed at all; the table of runs has every run. */
const OPEN_GROUPS = 12;
const MAX_GROUPS = 200;
/** Longer messages are collapsed. */
const MAX_OPEN = 400;
const MAX_OPEN_LINES = 6;

type Group = ReasonGroup<Entry>;

export interface Failures {
  /** The largest first. */
  groups: readonly Group[];
  /** The id of each entry's group; undefined for a run that succeeded. */
  groupIds: ReadonlyMap<Entry, number>;
}

/** Groups the runs that did not succeed by their reasons. */
export function groupFailures(entries: readonly Entry[]): Failures {
  const groups = new ReasonGroups<Entry>();
  const groupIds = new Map<Entry, number>();
  for (const entry of entries) {
    if (entry.succeeded) continue;
    const { outcome, failingStep: step, message } = entry;
    groupIds.set(entry, groups.add({ outcome: outcome.label, step, message }, entry));
  }
  return { groups: groups.bySize(), groupIds };
}

/** Renders the section; empty if all runs succeeded. */
export function renderFailures({ groups }: Failures): Markup {
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
  const runs = groups.reduce((sum, group) => sum + group.count, 0);
  return `${pluralize(groups.length, 'more reason')}, of ${pluralize(runs, 'run')}`;
}

function renderGroups(groups: readonly Group[]): Markup {
  return markup`<table class="groups">
<thead><tr><th scope="col" class="number">Runs</th><th scope="col">Outcome</th><th scope="col">Failing step</th><th scope="col">Message</th><td></td></tr></thead>
<tbody>
${groups.map(renderGroup)}</tbody>
</table>`;
}

/** The button stays hidden unless the page's script runs. */
function renderGroup({ id, count, first, step, message }: Group): Markup {
  const { label, tone } = first[0].outcome;
  const shown = `Show ${count === 1 ? 'this run' : `these ${formatCount(count)} runs`} in the table`;
  return markup`<tr><td class="number">${formatCount(count)}</td><td class="which"><span class="outcome ${tone} ${label.replaceAll(' ', '-')}">${label}</span></td><td class="step">${step}</td><td class="message">${renderMessage(message)}${renderFirst(first, count)}</td><td class="action"><button type="button" class="show" hidden data-group="${id}" aria-label="${shown}">Show</button></td></tr>
`;
}

/** Links to the first runs of a group; the page's script shows a run that the address names. */
function renderFirst(first: readonly Entry[], count: number): Markup {
  const links = first.map(
    ({ number, label, id, workflow }, index) =>
      markup`${index === 0 ? '' : ', '}<a href="#run-${number}">${label || id || workflow || number}</a>`,
  );
  const more = count > first.length ? ` and ${formatCount(count - first.length)} more` : '';
  return markup`<p class="note">${links}${more}</p>`;
}

function renderMessage(message: string): Markup {
  const [head = '', ...rest] = message.split('\n');
  if (message.length <= MAX_OPEN && rest.length < MAX_OPEN_LINES) return markup`<div>${message}</div>`;
  return markup`<details><summary>${head.slice(0, 160)}…</summary><div>${message}</div></details>`;
}
