/** The script of examples/ci: each of its branches, reached by real processes. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT, startBash } from '../helpers/process.js';
import { fastClock, SLOW, startTestSandbox, stoppedClock } from '../helpers/sandbox.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const PIPELINE = join(ROOT, 'examples/ci/pipeline.sh');
const sandbox = (...flags: string[]) => `wfr sandbox --slow 0.01 ${flags.join(' ')} --`;
const FAST = { clock: fastClock };
const step = (commands: string) => `bash -c '${commands}'`;
/** The sandbox speaks no TLS, so this service is out of reach at once. */
const AWAY = 'export WFR_BASE_URL=$(sed s/http:/https:/ <<< $WFR_BASE_URL);';

/** A folder with a document. */
function folder(): string {
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
  return cwd;
}

/** What the script itself printed, its exit code, and the files that it left. */
async function run(lines: string, env: Record<string, string> = {}, cwd = folder()) {
  const { exitCode, stdout, stderr } = await bash(`pipeline='${PIPELINE}'; export pipeline; ${lines}`, env, {
    cwd,
  });
  expect(stdout).toBe('');
  const messages = [...stderr.matchAll(/^pipeline: (.*)$/gm)].map(([, text = '']) => text);
  return { exitCode, stderr, messages, files: readdirSync(cwd).filter((name) => name !== 'scan.pdf'), cwd };
}

describe.skipIf(LACKS.bash)('pipeline.sh', () => {
  // Most of their time the concurrent ones wait for the next poll.
  test.concurrent('pipeline.sh: a run that finished exits 0 with its output in a file, and again without a request', async ({
    onTestFinished,
  }) => {
    const { env, posts } = await startTestSandbox(FAST, onTestFinished);
    const first = await run('"$pipeline"', env);
    expect(first).toMatchObject({ exitCode: 0, files: ['output.json', 'run.once'] });
    expect(first.messages).toEqual(['the run finished; its output is in output.json']);
    const output = () => readFileSync(join(first.cwd, 'output.json'), 'utf8');
    expect(JSON.parse(output())).toMatchObject({ customer: 'ACME' });
    const printed = output();
    expect((await run('"$pipeline"', { ...env, WFR_TOKEN: 'expired' }, first.cwd)).exitCode).toBe(0);
    expect({ output: output(), posts: posts() }).toEqual({ output: printed, posts: 1 });
  });

  test.concurrent('pipeline.sh: a run that failed exits 1 each time, and --retry-failed triggers another', async () => {
    const lines = '"$pipeline" || "$pipeline" || "$pipeline" --retry-failed';
    const { exitCode, messages, stderr, files } = await run(
      `${sandbox('--fail-step "Check totals"')} ${step(lines)}`,
    );
    expect({ exitCode, files }).toEqual({ exitCode: 1, files: ['run.once'] });
    expect(new Set(messages)).toEqual(
      new Set([
        `the run failed; its step and message are above; to trigger another: ${PIPELINE} --retry-failed`,
      ]),
    );
    const ids = [...stderr.matchAll(/^Run ([0-9a-f-]{36})[ ,]/gm)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
  });

  test.concurrent.for<[number, string, string, Record<string, string>?]>([
    [2, `${sandbox()} "$pipeline"`, 'the command or its files are invalid', { DOCUMENT: 'none.pdf' }],
    [4, `${sandbox()} ${step('WFR_TOKEN=wrong "$pipeline"')}`, 'the token is missing or was rejected'],
    [4, `${sandbox('--reject 403')} "$pipeline"`, 'the token is missing or was rejected'],
    [5, `${sandbox('--reject 422')} "$pipeline"`, 'the service rejected the request'],
    [7, `${sandbox()} ${step(`${AWAY} "$pipeline"`)}`, 'the service cannot be reached'],
    [127, 'PATH=/usr/bin:/bin "$pipeline"', 'wfr is not installed'],
    [70, 'wfr() { return 70; }; export -f wfr; "$pipeline"', 'wfr exited with 70'],
  ])(
    'pipeline.sh: exit %i means that no run was created, and the next attempt triggers it (%s)',
    async ([code, lines, message, env], { onTestFinished }) => {
      const { exitCode, messages, cwd } = await run(lines, env);
      expect(exitCode).toBe(code);
      expect(messages).toEqual([expect.stringContaining(message)]);
      const service = await startTestSandbox(FAST, onTestFinished);
      const next = await run('"$pipeline"', service.env, cwd);
      expect(next).toMatchObject({ exitCode: 0, files: ['output.json', 'run.once'] });
      expect(service.posts()).toBe(1);
    },
  );

  test('pipeline.sh: an output that cannot be written exits 74 before anything is sent', async () => {
    const { env, posts } = await startTestSandbox();
    const { exitCode } = await run('mkdir output.json; "$pipeline"', env);
    expect({ exitCode, posts: posts() }).toEqual({ exitCode: 74, posts: 0 });
  });

  test.each([
    ['--adopt run-1', 1],
    ['--resend-unknown', 2],
  ])('pipeline.sh: an unknown outcome exits 6 until %s settles it', async (flags, count) => {
    let answers = false;
    const { baseUrl, posts } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST' && !answers) return reply.reset();
      reply.send(200, aFinishedRun());
    });
    const env = { WFR_BASE_URL: baseUrl };
    const message =
      'a run may exist: check the service, then run this with --adopt <id>, or with --resend-unknown if there is none';
    const first = await run('"$pipeline"', env);
    expect(first).toMatchObject({ exitCode: 6, files: ['run.once'], messages: [message] });
    answers = true;
    expect(await run('"$pipeline"', env, first.cwd)).toMatchObject({ exitCode: 6, messages: [message] });
    expect(await run(`"$pipeline" ${flags}`, env, first.cwd)).toMatchObject({ exitCode: 0 });
    expect(posts().length).toBe(count);
  });

  test('pipeline.sh: a timeout exits 8, and the next attempt continues with the same run', async () => {
    const clock = stoppedClock();
    const { env, posts } = await startTestSandbox({ clock });
    const first = await run('WAIT_FOR=0 "$pipeline"', env);
    expect(first).toMatchObject({ exitCode: 8, files: ['run.once'] });
    expect(first.messages).toEqual(['the run continues; to wait longer, run this again']);
    clock.start();
    const second = await run('"$pipeline"', env, first.cwd);
    expect(second).toMatchObject({ exitCode: 0, files: ['output.json', 'run.once'] });
    expect(posts()).toBe(1);
  });
});

describe.skipIf(LACKS.bash)('pipeline.sh: signals', () => {
  /** Starts the script at a service, in a process group of its own. */
  async function starting(handler: Handler) {
    const cwd = folder();
    const { baseUrl, posts } = await scriptedService(handler);
    const env = { WFR_BASE_URL: baseUrl, WORKFLOW: SLOW };
    const pipeline = startBash(`exec '${PIPELINE}'`, env, { cwd, detached: true });
    const raise = (signal: NodeJS.Signals) => process.kill(-(pipeline.child.pid ?? 0), signal);
    return { pipeline, posts, raise, again: () => run('"$pipeline"', env, cwd) };
  }

  test.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGKILL', 137],
  ] as const)(
    'pipeline.sh: after a %s to the job, the next attempt continues with the same run',
    async (signal, code) => {
      let isFinished = false;
      const { pipeline, posts, raise, again } = await starting(async (request, reply) => {
        await request.body();
        reply.send(200, isFinished ? aFinishedRun() : aRun());
      });
      await pipeline.waitForOutput('RUNNING');
      raise(signal);
      expect((await pipeline.ended).exitCode).toBe(code);
      isFinished = true;
      expect(await again()).toMatchObject({ exitCode: 0, files: ['output.json', 'run.once'] });
      expect(posts().length).toBe(1);
    },
  );

  test('pipeline.sh: a signal to wfr alone is explained', async () => {
    const lines = `wfr() { return 143; }; export -f wfr; "$pipeline"`;
    expect(await run(lines)).toMatchObject({
      exitCode: 143,
      messages: ['interrupted; to continue, run this again'],
    });
  });

  test('pipeline.sh: a signal before the service has answered leaves an unknown outcome, and no second request', async () => {
    const { pipeline, posts, raise, again } = await starting(async (request) => {
      await request.body();
      raise('SIGTERM');
    });
    expect((await pipeline.ended).exitCode).toBe(143);
    expect((await again()).exitCode).toBe(6);
    expect(posts().length).toBe(1);
  });
});
