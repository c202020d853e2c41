/**
 * `--report junit`: JUnit XML with a test case for each run, whose name is the same in the next run of a pipeline, so that
 * CI can show its history. It is valid for the schemas of both Jenkins and Ant's JUnit task, which requires the order of
 * its elements; a test case has no place for the id of a run, so that the ids are in the output.
 */

import type { CommandResult } from '../outcome/error-data.js';
import { isSuccess, type Outcome, problemLinesWithStep, requestLines, wordOf } from '../outcome/outcome.js';
import { VERSION } from '../platform/context.js';
import { formatIso } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { Markup, markup } from './markup.js';

/** Yields the report: a suite with a test case for each run. */
export function* renderJunit({ runs, startedAt, durationMs }: CommandResult): Generator<string, void, void> {
  const failures = runs.filter(hasFailed).length;
  const errors = runs.length - runs.filter(isSuccess).length - failures;
  const timestamp = formatIso(startedAt).slice(0, 19);
  // Ant's schema requires a host and properties, that of Jenkins a property in them.
  yield markup`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite id="0" name="wfr" package="wfr" hostname="localhost" timestamp="${timestamp}" tests="${runs.length}" failures="${failures}" errors="${errors}" time="${formatSeconds(durationMs)}">
    <properties>
      <property name="wfr" value="${VERSION}"/>
    </properties>
`.text;
  const named = withNames(runs);
  for (const [name, run] of named) yield renderTestCase(name, run).text;
  yield '    <system-out>';
  for (const [name, { id }] of named) if (id !== undefined) yield markup`${name}: run ${sanitize(id)}\n`.text;
  yield '</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n';
}

/** Names each run by its label, else the workflow, else the id; with the row's number where another one has the name. */
function withNames(runs: readonly Outcome[]): [name: string, run: Outcome][] {
  const taken = new Set<string>();
  return runs.map((run) => {
    const { row, label, workflowId, id } = run;
    const name = sanitize(label ?? workflowId ?? id ?? 'unknown');
    if (taken.has(name)) return [`${name} (row ${row})`, run];
    taken.add(name);
    return [name, run];
  });
}

/** Returns whether a run ended without success: a failure to CI, where any other state but success is an error. */
const hasFailed = ({ state }: Outcome) => state === 'failed';

function renderTestCase(name: string, run: Outcome): Markup {
  const element = new Markup(hasFailed(run) ? 'failure' : 'error');
  const lines = problemLinesWithStep(run);
  const id = run.id === undefined || name === run.id ? [] : [`run ${sanitize(run.id)}`];
  const details = [...lines, ...id, ...requestLines(run)].join('\n');
  const problem = markup`
      <${element} type="${wordOf(run.state)}" message="${lines.join('; ')}">${details}</${element}>
    `;
  return markup`    <testcase name="${name}" classname="${sanitize(run.workflowId ?? 'wfr')}" time="${formatSeconds(run.durationMs ?? 0)}"${
    isSuccess(run) ? new Markup('/>') : markup`>${problem}</testcase>`
  }\n`;
}

function formatSeconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}
