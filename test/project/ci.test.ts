/** `.ci/run`: with stubs of everything that it calls, as what it counts, keeps and returns is its own. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { ROOT, start } from '../helpers/process.js';
import { LACKS } from '../helpers/system.js';

const SCRIPT = join(ROOT, '.ci/run');
const [, listed = ''] = /<<'PROGRAMS'\n(.*?)\nPROGRAMS/s.exec(readFileSync(SCRIPT, 'utf8')) ?? [];
const PROGRAMS = listed.split('\n').map((line) => line.split(' ')[0] ?? '');

/** Writes the report that vitest was asked for, with the numbers that FAILED has for its name: `here=2 peers=1`. */
const VITEST = `
const [, file, name] = process.argv.map((word) => /^--outputFile\\.json=(.*?([^/]+)\\.json)$/.exec(word)).find(Boolean);
const numFailedTests = Number(new RegExp(name + '=(\\\\d+)').exec(process.env.FAILED)?.[1] ?? 0);
const success = numFailedTests === 0;
const { THOROUGH } = process.env;
const report = { numPassedTests: 10, numFailedTests, numPendingTests: 1, numTodoTests: 0, success, THOROUGH };
require('fs').writeFileSync(file, JSON.stringify(report));
process.exitCode = success ? 0 : 1;
`;

/** Runs the script; `fails` is a command line of npm that fails, and `failed` has the numbers of failed tests. */
async function runCi({ fails = 'nothing', failed = '' } = {}) {
  const folder = temporaryFolder();
  for (const name of ['.ci', 'bin', 'reports', 'node_modules/vitest', 'action', 'examples/ci'])
    mkdirSync(join(folder, name), { recursive: true });
  copyFileSync(SCRIPT, join(folder, '.ci/run'));
  writeFileSync(join(folder, 'node_modules/vitest/package.json'), '{"type":"commonjs"}');
  writeFileSync(join(folder, 'vitest.cjs'), VITEST);
  writeFileSync(join(folder, 'node_modules/vitest/vitest.mjs'), `import '../../vitest.cjs';`);
  const stub = (path: string, text: string) =>
    writeFileSync(join(folder, path), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  stub('.ci/audit', 'exit 0');
  for (const name of PROGRAMS) stub(`bin/${name}`, 'exit 0');
  for (const name of ['apt-get', 'sudo']) stub(`bin/${name}`, 'exit 1');
  const runTests = `'${process.execPath}' vitest.cjs "$@"`;
  stub('bin/npm', `case "$*" in *"${fails}"*) exit 1 ;; test*) ${runTests} ;; esac`);
  const { stdout, exitCode } = await start(
    'bash',
    [join(folder, '.ci/run')],
    {
      PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter),
      REPORTS: join(folder, 'reports'),
      SEED: '47',
      FAILED: failed,
    },
    { cwd: folder },
  ).ended;
  const lines = stdout.trimEnd().split('\n');
  const reports = readdirSync(join(folder, 'reports'));
  const thorough = reports.filter((name) =>
    readFileSync(join(folder, 'reports', name), 'utf8').includes('"THOROUGH":"1"'),
  );
  return { exitCode, lines, last: lines.at(-1), reports, thorough };
}

describe.skipIf(LACKS.procfs)('.ci/run', () => {
  test('.ci/run: counts the tests of every suite on its last line, and exits 0', async () => {
    const { exitCode, lines, last, reports } = await runCi();
    const suites = reports.filter((name) => name.endsWith('.json'));
    expect(suites).toEqual(expect.arrayContaining(['here.json', 'node-20.19.0.json', 'peers.json']));
    expect({ exitCode, last }).toEqual({
      exitCode: 0,
      last: `${10 * suites.length} passed, 0 failed, ${suites.length} skipped`,
    });
    expect(lines[0]).toBe('SEED=47');
  });

  test('.ci/run: without dependencies, nothing else is run, and the last line counts one failure', async () => {
    const { exitCode, last, reports } = await runCi({ fails: 'ci' });
    expect({ exitCode, last, reports }).toEqual({ exitCode: 1, last: '0 passed, 1 failed', reports: [] });
  });

  test('.ci/run: after a check has failed, the tests are run and counted, and it exits 1', async () => {
    const { exitCode, last, lines, reports } = await runCi({ fails: 'run lint' });
    expect({ exitCode, last }).toEqual({
      exitCode: 1,
      last: expect.stringMatching(/^\d\d+ passed, 1 failed, /),
    });
    expect(lines).toContain('failed: lint');
    expect(lines.join('\n')).toMatch(/^to repeat: SEED=47 \.ci\/run; reports: .*\/reports$/m);
    expect(reports).toContain('peers.json');
  });

  test('.ci/run: repeats thoroughly on the installed Node alone', async () => {
    expect((await runCi()).thorough).toEqual(['here.json']);
  });

  test('.ci/run: failed tests of several suites are added up, and it exits 1', async () => {
    const { exitCode, last, lines } = await runCi({ failed: 'here=2 peers=3' });
    expect({ exitCode, last }).toEqual({ exitCode: 1, last: expect.stringMatching(/ passed, 5 failed, /) });
    expect(lines.filter((line) => line.startsWith('failed: '))).toHaveLength(2);
  });
});
