/** A Markdown table of runs, one a row. */
import { formatDuration } from '../text/duration.js';
import { sanitize } from '../text/sanitize.js';
import {
  type CommandResult,
  failingStepOf,
  problemLines,
  type ReportedRun,
  statusOf,
  stepsOf,
} from './reported-run.js';

/** The rows above those of the runs. */
export const TABLE_HEAD = `| Run | Workflow | Version | Status | Steps | Duration | Failing step | Message |
| --- | --- | --- | --- | --- | --- | --- | --- |
`;

/** The table alone. */
export function* renderMarkdown({ runs }: CommandResult): Generator<string, void, void> {
  yield TABLE_HEAD;
  for (const run of runs) yield renderTableRow(run);
}

/** The row of one run, with its line feed. */
export function renderTableRow(reported: ReportedRun): string {
  const { label, id, workflowId = '', run, duration } = reported;
  const names = [label, id].filter((name) => name !== undefined);
  const cells = [
    names.map((name) => escapeMarkdown(sanitize(name))).join('<br>'),
    escapeMarkdown(sanitize(workflowId)),
    escapeMarkdown(sanitize(run?.versionName ?? '')),
    escapeMarkdown(statusOf(reported)),
    stepsOf(reported),
    formatDuration(duration),
    escapeMarkdown(failingStepOf(reported)),
    problemLines(reported).map(escapeMarkdown).join('<br>'),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

/**
 * What Markdown, its HTML or GitHub's additions to it (links, mentions, emoji, formulas) would act on, as character
 * references, which stand for plain text wherever they are (CommonMark, section 2.5).
 */
function escapeMarkdown(line: string): string {
  return line.replace(/[!#$&*:<>@[\\\]^_`{|}~]|(?<=www)\./gi, (character) => `&#${character.charCodeAt(0)};`);
}
