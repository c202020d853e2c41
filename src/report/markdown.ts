/** `--report markdown`: a table with a row for each run; also the body of GitHub's job summary. */

import type { CommandResult } from '../outcome/error-data.js';
import {
  failingStepOf,
  type Outcome,
  problemLines,
  requestLines,
  stepsOf,
  wordOf,
} from '../outcome/outcome.js';
import { formatDuration } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';

export const TABLE_HEAD = `| Run | Workflow | Version | Outcome | Steps | Duration | Failing step | Message |
| --- | --- | --- | --- | --- | --- | --- | --- |
`;

export function* renderMarkdown({ runs }: CommandResult): Generator<string, void, void> {
  yield TABLE_HEAD;
  for (const run of runs) yield renderTableRow(run);
}

/** Returns one run's row, with its line feed. */
export function renderTableRow(reported: Outcome): string {
  const { label, id, page, workflowId = '', run, state, durationMs } = reported;
  const names = [label, id].flatMap((name) => (name === undefined ? [] : escapeMarkdown(sanitize(name))));
  const last = names.length - 1;
  const linked = names.map((name, index) =>
    page !== undefined && index === last ? `[${name}](<${page}>)` : name,
  );
  const cells = [
    linked.join('<br>'),
    escapeMarkdown(sanitize(workflowId)),
    escapeMarkdown(sanitize(run?.versionName ?? '')),
    wordOf(state),
    stepsOf(reported),
    formatDuration(durationMs),
    escapeMarkdown(failingStepOf(reported)),
    [...problemLines(reported), ...requestLines(reported)].map(escapeMarkdown).join('<br>'),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

/**
 * Replaces what Markdown, HTML or GitHub's extensions (links, mentions, emoji, formulas) would interpret by character
 * references, which always mean plain text (CommonMark, section 2.5).
 */
function escapeMarkdown(line: string): string {
  return line.replace(/[!#$&*:<>@[\\\]^_`{|}~]|(?<=www)\./gi, (character) => `&#${character.charCodeAt(0)};`);
}
