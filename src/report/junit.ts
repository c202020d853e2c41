/**
 * `--report junit`: JUnit XML with a test case for each run, whose name is the same in the next run of a pipeline, so that
 * CI can show its history. It is valid for the schemas of both Jenkins and Ant's JUnit task, which requires the order of
 * its elements; a test case has no place for the id of a run, so that the ids are in the output.
 */

import type { CommandResult } from '../outcome/error-data.js';
import { type Outcome, problemLinesWithStep, requestLines, verdictOf, wordOf } from '../outcome/outcome.js';
import { VERSION } from '../platform/context.js';
import { escapeCodePoint, sanitize } from '../text/sanitize.js';

export function* renderJunit({ runs, startedAt, durationMs }: CommandResult): Generator<string, void, void> {
  const verdicts = runs.map(verdictOf);
  const count = (verdict: string) => verdicts.filter((candidate) => candidate === verdict).length;
  const suite = formatAttributes({
    id: '0',
    name: 'wfr',
    package: 'wfr',
    // Required by Ant's schema.
    hostname: 'localhost',
    timestamp: new Date(startedAt).toISOString().slice(0, 19),
    tests: String(runs.length),
    failures: String(count('failed')),
    errors: String(count('unsettled')),
    time: formatSeconds(durationMs),
  });
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite${suite}>\n`;
  yield `    <properties>\n      <property${formatAttributes({ name: 'wfr', value: VERSION })}/>\n    </properties>\n`;
  const names = uniqueNames(runs);
  for (const [index, run] of runs.entries()) yield renderTestCase(names[index] ?? '', run);
  yield '    <system-out>';
  for (const [index, { id }] of runs.entries())
    if (id !== undefined) yield escapeXml(`${names[index]}: run ${sanitize(id)}\n`);
  yield '</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n';
}

/** Returns the label of each row, else the workflow, else the id; with the row's number where labels are equal. */
function uniqueNames(runs: readonly Outcome[]): string[] {
  const names = runs.map(({ label, workflowId, id }) => sanitize(label ?? workflowId ?? id ?? 'unknown'));
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name, index) => {
    const row = runs[index]?.row;
    return row === undefined || counts.get(name) === 1 ? name : `${name} (row ${row})`;
  });
}

function renderTestCase(name: string, run: Outcome): string {
  const classname = sanitize(run.workflowId ?? 'wfr');
  const head = `    <testcase${formatAttributes({ name, classname, time: formatSeconds(run.durationMs) })}`;
  const verdict = verdictOf(run);
  if (verdict === 'succeeded') return `${head}/>\n`;
  const element = verdict === 'failed' ? 'failure' : 'error';
  const lines = problemLinesWithStep(run);
  const id = run.id === undefined ? [] : [`run ${sanitize(run.id)}`];
  const details = [...lines, ...(name === run.id ? [] : id), ...requestLines(run)];
  const summary = formatAttributes({ type: wordOf(run.state), message: lines.join('; ') });
  return `${head}>\n      <${element}${summary}>${escapeXml(details.join('\n'))}</${element}>\n    </testcase>\n`;
}

function formatSeconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

function formatAttributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  // XML forbids `]]>` in text (section 2.4).
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes text for an element or attribute; code points that XML 1.0 (section 2.2) forbids become `\uXXXX`. */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, (character) =>
      escapeCodePoint(character.codePointAt(0) ?? 0),
    )
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
