/** `--report html`: a self-contained page for people, opened from disk without a network. */
import { createHash } from 'node:crypto';
import type { CommandResult } from '../../outcome/error-data.js';
import script from './client.js?raw';
import { renderDurations } from './durations.js';
import { groupFailures, renderFailures } from './failures.js';
import { Markup, markup } from './markup.js';
import { toEntry } from './outcome.js';
import { formatHeadline, renderOverview } from './overview.js';
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
  yield RUNS_TABLE.html;
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
const RUNS_TABLE = markup`
<section id="runs" aria-labelledby="all">
<h2 id="all">All runs</h2>
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
