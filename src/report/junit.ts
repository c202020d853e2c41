/**
 * `--report junit`: JUnit XML with a test case for each run. It is valid for the schemas of both Jenkins and Ant's JUnit
 * task; Ant's requires the empty elements.
 */
import { VERSION } from '../platform/version.js';
import { escapeCodePoint, sanitize } from '../text/sanitize.js';
import {
  type CommandResult,
  nameOf,
  outcomeOf,
  problemLinesWithStep,
  type ReportedRun,
  verdictOf,
} from './reported-run.js';

export function* renderJunit({ runs, startedAt }: CommandResult): Generator<string, void, void> {
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
    time: formatSeconds(runs.reduce((sum, { duration }) => sum + duration, 0)),
  });
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite${suite}>\n`;
  yield `    <properties>\n      <property${formatAttributes({ name: 'wfr', value: VERSION })}/>\n    </properties>\n`;
  for (const run of runs) yield renderTestCase(run);
  yield '    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n';
}

function renderTestCase(run: ReportedRun): string {
  const classname = sanitize(run.workflowId ?? 'wfr');
  const head = `    <testcase${formatAttributes({ name: nameOf(run), classname, time: formatSeconds(run.duration) })}`;
  const verdict = verdictOf(run);
  if (verdict === 'succeeded') return `${head}/>\n`;
  const element = verdict === 'failed' ? 'failure' : 'error';
  const lines = problemLinesWithStep(run);
  // In a batch the name is the row's label, so the run id is added.
  const details =
    run.label === undefined || run.id === undefined ? lines : [...lines, `run ${sanitize(run.id)}`];
  const summary = formatAttributes({ type: outcomeOf(run), message: lines.join('; ') });
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
