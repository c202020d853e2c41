/** examples/scale/parallel.sh with the real GNU parallel: on this machine, and over hosts behind a fake ssh. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWorkflows } from '../../src/sandbox/workflow.js';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT, start, startBash } from '../helpers/process.js';
import { startTestSandbox } from '../helpers/sandbox.js';

const WORKFLOW = '11111111-2222-3333-4444-555555555555';
const COMMAND = `./parallel.sh 4 ${WORKFLOW} rows.csv --rate 0 --interval 100ms -i 'tags:={"{}": "{1} it'\\''s $(touch pwned)"}'`;

/** Writes forty rows beside the script, and starts a service whose runs take 100 ms and return their row. */
async function fortyRows() {
  const workflows = readWorkflows({
    workflows: [
      {
        id: WORKFLOW,
        versionName: 'v1',
        parameters: { row: 'number', tags: 'object' },
        steps: [{ name: 'Read', duration: '100ms' }],
        output: { row: '{{row}}', tags: '{{tags}}' },
      },
    ],
  });
  const { env, posts, sandbox } = await startTestSandbox({
    workflows,
    clock: { now: Date.now, monotonic: () => performance.now() },
  });
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'examples/scale/parallel.sh'), join(cwd, 'parallel.sh'));
  writeFileSync(join(cwd, 'rows.csv'), `row:=\n${Array.from({ length: 40 }, (_, n) => n + 1).join('\n')}\n`);
  return { cwd, env, posts, runCount: sandbox.runCount };
}

/** Returns the outputs of the runs: the row and the tags that the service received. */
function outputsIn(folder: string) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
    .map(
      (line) =>
        JSON.parse(line) as { event: string; row: number; run?: { output: { row: number; tags: object } } },
    )
    .flatMap(({ row, run }) =>
      run === undefined ? [] : [{ row, ...run, sent: run.output.row, tags: run.output.tags }],
    );
}

const allRows = Array.from({ length: 40 }, (_, n) => n + 1);
const sorted = (numbers: number[]) => [...numbers].sort((a, b) => a - b);

test('parallel.sh: forty rows in four shards reach the service once each, unchanged', async () => {
  const { cwd, env, posts } = await fortyRows();
  const { exitCode, stdout, stderr } = await bash(COMMAND, env, { cwd });
  expect(stderr).not.toContain('parallel: ');
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^40 rows: 40 finished$/m),
  });
  expect(posts()).toBe(40);
  const outputs = outputsIn(join(cwd, 'results'));
  expect(sorted(outputs.map(({ sent }) => sent))).toEqual(allRows);
  expect(outputs[0]?.tags).toEqual({ '{}': "{1} it's $(touch pwned)" });
  expect(readdirSync(cwd).sort()).toEqual(['parallel.sh', 'results', 'rows.csv']);
  expect(readFileSync(join(cwd, 'results/report.html'), 'utf8')).toContain('<html');
  // A second call has nothing to do.
  expect((await bash(COMMAND, env, { cwd })).exitCode).toBe(0);
  expect(posts()).toBe(40);
});

test('parallel.sh: killed and started again, it sends no row twice', async () => {
  const { cwd, env, runCount } = await fortyRows();
  const command = `${COMMAND} --concurrency 1`;
  const first = startBash(`exec ${command}`, env, { cwd, detached: true });
  await first.waitForOutput(/(rows\.csv:\d+(.|\n)*){6}/);
  const results = join(cwd, 'results');
  process.kill(-(first.child.pid ?? 0), 'SIGKILL');
  // parallel starts each shard in its own process group; its results file names the process.
  const shards = readdirSync(results)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => JSON.parse(readFileSync(join(results, name), 'utf8').split('\n', 1)[0] ?? '').owner.pid);
  // A killed process exists until its new parent has reaped it.
  const kill = 'kill -KILL "$@"; for pid; do while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; done';
  expect((await start('bash', ['-c', kill, 'bash', ...shards]).ended).exitCode).toBe(0);
  await first.ended;
  const before = runCount();
  expect(before).toBeGreaterThan(3);
  expect(before).toBeLessThan(40);
  const second = await bash(command, env, { cwd });
  const unknown = Number(/(\d+) unknown/m.exec(second.stdout)?.[1] ?? 0);
  expect(second.stdout).toMatch(
    unknown > 0 ? /^40 rows: \d+ finished, \d unknown$/m : /^40 rows: 40 finished$/m,
  );
  expect(second.exitCode).toBe(unknown > 0 ? 6 : 0);
  expect(unknown).toBeLessThanOrEqual(4);
  const sent = outputsIn(results).map((output) => output.sent);
  expect(new Set(sent).size).toBe(sent.length);
  expect(sent.length + unknown).toBe(40);
  // An unknown row may or may not have a run; a request that was cut off, and then sent again, has none.
  expect(runCount()).toBeGreaterThanOrEqual(40 - unknown);
  expect(runCount()).toBeLessThanOrEqual(40);
});

test('parallel.sh: over several hosts, each shard stays on its host, and the results are copied back', async () => {
  const { cwd, env, posts } = await fortyRows();
  const homes = temporaryFolder();
  const ssh = join(homes, 'ssh');
  // Each host is a home folder; its commands run on this machine.
  writeFileSync(
    ssh,
    `#!/bin/bash
while [[ $1 == -* ]]; do [[ $1 == -[lpo] ]] && shift; shift; done
host=$1; shift; [[ $1 == -- ]] && shift
mkdir -p "${homes}/$host" && cd "${homes}/$host" && HOME=$PWD SHELL=/bin/bash exec bash -c "$*"
`,
  );
  chmodSync(ssh, 0o755);
  mkdirSync(join(homes, 'me/work'), { recursive: true });
  for (const name of ['parallel.sh', 'rows.csv']) copyFileSync(join(cwd, name), join(homes, 'me/work', name));
  const here = { cwd: join(homes, 'me/work') };
  const hosts = { ...env, HOME: join(homes, 'me'), PARALLEL_SSH: ssh, HOSTS: 'one two' };
  const { exitCode, stdout, stderr } = await bash(COMMAND, hosts, here);
  expect({ exitCode, stdout, stderr }).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/40 finished$/m),
  });
  expect(posts()).toBe(40);
  const at = (host: string) =>
    readdirSync(join(homes, host, 'work/results')).filter((name) => name.endsWith('.jsonl'));
  expect([at('one'), at('two')]).toEqual([
    ['1-of-4.jsonl', '3-of-4.jsonl'],
    ['2-of-4.jsonl', '4-of-4.jsonl'],
  ]);
  expect(sorted(outputsIn(join(here.cwd, 'results')).map(({ sent }) => sent))).toEqual(allRows);
  const other = await bash(COMMAND, { ...hosts, HOSTS: 'two one' }, here);
  expect(other).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(
      'results was created with 4 shards on one two, not with 4 shards on two one',
    ),
  });
  expect((await bash(COMMAND.replace('4', '5'), hosts, here)).exitCode).toBe(2);
  expect(posts()).toBe(40);
});

test('parallel.sh: a mistake that wfr would reject is reported once, before anything is sent', async () => {
  const { cwd, env, posts } = await fortyRows();
  const { exitCode, stderr } = await bash(COMMAND.replace('100ms', 'soon'), env, { cwd });
  expect(exitCode).toBe(2);
  expect(stderr.match(/soon/g)).toHaveLength(1);
  expect((await bash('./parallel.sh 0 w rows.csv', env, { cwd })).exitCode).toBe(2);
  expect(existsSync(join(cwd, 'results'))).toBe(false);
  expect(posts()).toBe(0);
});
