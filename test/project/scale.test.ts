/** The files of examples/scale: their shell code, run against the sandbox in the environment of each engine. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, type onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { EXIT_CODE_MEANINGS } from '../../src/exit-code.js';
import { readPidNamespace } from '../../src/platform/context.js';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT } from '../helpers/process.js';
import { SLOW, startTestSandbox } from '../helpers/sandbox.js';
import { LACKS } from '../helpers/system.js';

interface Step {
  name?: string;
  run?: string;
  uses?: string;
  with?: Record<string, string>;
}

const github = parse(readFileSync(join(ROOT, 'examples/scale/github.yml'), 'utf8')) as {
  env: { SHARDS: number };
  jobs: Record<string, { steps: Step[]; strategy?: { matrix: { shard: number[] } } }>;
};
const [job, joining] = parseAllDocuments(
  readFileSync(join(ROOT, 'examples/scale/kubernetes.yml'), 'utf8'),
).map((document) => document.toJS());

/** Most of their time these tests wait for the next poll. */
const testWithBash = test.skipIf(LACKS.bash).concurrent;

/** Writes ten rows in a folder, and starts a service whose runs finish at once. */
async function tenRows(onEnd: typeof onTestFinished) {
  const clock = { now: Date.now, monotonic: () => performance.now() * 1_000 };
  const { env, log, posts } = await startTestSandbox({ clock }, onEnd);
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'rows.csv'), `label\n${'x\n'.repeat(10)}`);
  return { cwd, env: { ...env, WORKFLOW: SLOW }, log, posts };
}

/** Returns the first lines of a results file, as a machine leaves them that stopped there. */
const firstLines = (path: string, count: number) =>
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, count).join('\n').concat('\n'));

describe('examples/scale/github.yml', () => {
  const stepsOf = (name: string) => github.jobs[name]?.steps ?? [];
  const script = (name: string, step: string) =>
    stepsOf(name).find((candidate) => candidate.name === step)?.run ?? '';
  const [latest, send] = [script('shard', 'Restore the latest results'), script('shard', 'Send the rows')];

  /** Runs one attempt at a shard; it keeps its results where a later attempt finds them. */
  async function attempt(world: Awaited<ReturnType<typeof tenRows>>, shard: number, number: number) {
    const { cwd, env } = world;
    const runner = { ...env, SHARDS: String(github.env.SHARDS), SHARD: String(shard) };
    const given = { ...runner, GITHUB_RUN_ATTEMPT: String(number), CI: 'true', GITHUB_ACTIONS: 'true' };
    if (number === 1) keep(cwd, 'check-attempt-1', 'begun', '');
    const before = await bash(latest, given, { cwd });
    if (before.exitCode !== 0) return { ...before, kept: '' };
    const kept = `shard-${shard}-attempt-${number}`;
    keep(cwd, `${kept}-begun`, 'begun', '');
    const sent = await bash(send, given, { cwd });
    mkdirSync(join(cwd, 'earlier', kept));
    const file = join(cwd, 'earlier', kept, `shard-${shard}.jsonl`);
    renameSync(join(cwd, `shard-${shard}.jsonl`), file);
    return { ...sent, kept: file };
  }

  function keep(cwd: string, artifact: string, file: string, text: string): void {
    mkdirSync(join(cwd, 'earlier', artifact), { recursive: true });
    writeFileSync(join(cwd, 'earlier', artifact, file), text);
  }

  testWithBash(
    'examples/scale/github.yml: sends each row once, with one job for each shard, and joins the results',
    async ({ onTestFinished }) => {
      const world = await tenRows(onTestFinished);
      const shards = github.jobs.shard?.strategy?.matrix.shard ?? [];
      expect(shards).toEqual(Array.from({ length: github.env.SHARDS }, (_, n) => n + 1));
      const jobs = await Promise.all(shards.map((shard) => attempt(world, shard, 1)));
      expect(jobs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
      expect(world.posts()).toBe(10);
      const files = {
        GITHUB_OUTPUT: join(world.cwd, 'out'),
        GITHUB_STEP_SUMMARY: join(world.cwd, 'summary'),
      };
      const env = { ...world.env, ...files, SHARDS: '5', GITHUB_RUN_ATTEMPT: '1', GITHUB_ACTIONS: 'true' };
      const joined = await bash(script('join', 'Join the results'), env, { cwd: world.cwd });
      expect(joined).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('10 rows: 10 finished') });
      expect(readFileSync(join(world.cwd, 'report.html'), 'utf8')).toContain('<html');
      expect(readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8')).toContain('finished');
    },
  );

  testWithBash(
    'examples/scale/github.yml: continues from the latest results of earlier attempts',
    async ({ onTestFinished }) => {
      const world = await tenRows(onTestFinished);
      const { kept } = await attempt(world, 1, 1);
      firstLines(kept, 2);
      expect(world.posts()).toBe(2);
      // One row was about to be sent and the other not yet read: both are sent now.
      expect((await attempt(world, 1, 2)).exitCode).toBe(0);
      expect(world.posts()).toBe(4);
      expect((await attempt(world, 1, 3)).exitCode).toBe(0);
      expect(world.posts()).toBe(4);
    },
  );

  testWithBash(
    'examples/scale/github.yml: does not start if earlier results are lost or cannot be listed',
    async ({ onTestFinished }) => {
      const world = await tenRows(onTestFinished);
      const { kept } = await attempt(world, 1, 1);
      rmSync(kept);
      const lost = await attempt(world, 1, 2);
      expect(lost).toMatchObject({
        exitCode: 6,
        stdout: '::error::the results of attempt 1 are missing: rows may have been sent; check the service\n',
      });
      rmSync(join(world.cwd, 'earlier'), { recursive: true });
      const unseen = await attempt(world, 1, 2);
      expect(unseen).toMatchObject({
        exitCode: 6,
        stdout: expect.stringContaining('artifacts of the first attempt are missing'),
      });
      expect(world.posts()).toBe(2);
    },
  );

  test('examples/scale/github.yml: keeps the results of a failed job, under the names that the next attempt expects', () => {
    const uploads = stepsOf('shard').filter(({ uses }) => uses?.startsWith('actions/upload-artifact'));
    const name = `shard-\${{ matrix.shard }}-attempt-\${{ github.run_attempt }}`;
    expect(uploads.map((step) => step.with?.name)).toEqual([`${name}-begun`, name]);
    expect(uploads[1]).toMatchObject({ if: expect.stringContaining('always()') });
    for (const step of [...stepsOf('shard'), ...stepsOf('join')]) {
      if (!step.uses?.startsWith('actions/download-artifact')) continue;
      // Without this, only the artifacts of the current attempt are listed.
      expect(step.with).toMatchObject({
        'github-token': `\${{ github.token }}`,
        'run-id': `\${{ github.run_id }}`,
      });
    }
  });

  test('examples/scale/github.yml: inserts no expression into the text of a script', () => {
    const programs = Object.values(github.jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    expect(programs.length).toBeGreaterThan(5);
    expect(programs.filter((program) => program.includes('${{'))).toEqual([]);
  });
});

describe('examples/scale/kubernetes.yml', () => {
  const [container] = job.spec.template.spec.containers;
  const [joiner] = joining.spec.template.spec.containers;
  const shards: string = container.env.find(({ name }: { name: string }) => name === 'SHARDS').value;

  const pod = ({ cwd, env }: Awaited<ReturnType<typeof tenRows>>, index: number, before = '') =>
    bash(
      before + container.args[0],
      { ...env, SHARDS: shards, JOB_COMPLETION_INDEX: String(index) },
      { cwd },
    );

  testWithBash(
    'examples/scale/kubernetes.yml: sends each row once, with one shard for each index, and joins the results',
    async ({ onTestFinished }) => {
      const world = await tenRows(onTestFinished);
      expect(Number(shards)).toBe(job.spec.completions);
      const pods = await Promise.all([0, 1, 2, 3, 4].map((index) => pod(world, index)));
      expect(pods.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
      expect(world.posts()).toBe(10);
      const joined = await bash(joiner.args[0], {}, { cwd: world.cwd });
      expect(joined).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(
          /^10 rows: 10 finished\nBegan 20.*\n\nReport: .*\nTo list the outputs: /,
        ),
      });
      expect(readdirSync(join(world.cwd, 'results'))).toHaveLength(6);
    },
  );

  testWithBash(
    'examples/scale/kubernetes.yml: a pod that replaces a killed one, with the same host name and process id, continues',
    async ({ onTestFinished }) => {
      const world = await tenRows(onTestFinished);
      await pod(world, 0);
      const results = join(world.cwd, 'results/shard-1.jsonl');
      firstLines(results, 2);
      const { dev, ino } = statSync(results, { bigint: true });
      const claim = (host: string, space: string) =>
        `echo '{"event":"open","file":"${dev}:${ino}","owner":{"host":"${host}","space":"${space}","token":"0badcafe","pid":'$$'}}' >> results/shard-1.jsonl; `;
      expect((await pod(world, 0, claim(hostname(), readPidNamespace()))).exitCode).toBe(0);
      expect(world.posts()).toBe(4);
      // Another host may still be at work.
      const other = await pod(world, 0, claim('invoices-0-other', 'another-boot pid:[1]'));
      expect(other).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('on invoices-0-other is using it'),
      });
      expect(world.posts()).toBe(4);
    },
  );

  test('examples/scale/kubernetes.yml: only failures that another pod may avoid are retried', () => {
    expect(container.args[0]).toContain('\nexec wfr batch');
    const [disruption, codes] = job.spec.podFailurePolicy.rules;
    expect(disruption.action).toBe('Ignore');
    const tried = EXIT_CODE_MEANINGS.map(([code]) => Number(code)).filter(
      (code) => code > 0 && !codes.onExitCodes.values.includes(code),
    );
    expect(tried).toEqual([7, 8]);
    expect(codes.onExitCodes.containerName).toBe(container.name);
    // What these rules require.
    expect(job.spec).toMatchObject({ completionMode: 'Indexed', podReplacementPolicy: 'Failed' });
    expect(job.spec.template.spec.restartPolicy).toBe('Never');
  });
});
