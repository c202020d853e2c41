/** The pipeline of examples/ci: each of its branches, reached by real processes. */
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT, startBash } from '../helpers/process.js';
import { SLOW } from '../helpers/sandbox.js';
import { aRun, type Handler, scriptedService } from '../helpers/service.js';

const PIPELINE = join(ROOT, 'examples/ci/pipeline.sh');
const sandbox = (...flags: string[]) => `wfr sandbox --slow 0.01 ${flags.join(' ')} --`;
/** The sandbox speaks no TLS, so this service is out of reach at once. */
const AWAY = 'export WFR_BASE_URL=$(sed s/http:/https:/ <<< $WFR_BASE_URL);';

/** A folder with a document. */
function folder(): string {
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
  return cwd;
}

/** What the pipeline itself said, its exit code, and the files that it left. */
async function run(lines: string, env: Record<string, string> = {}, cwd = folder()) {
  const { exitCode, stdout, stderr } = await bash(`pipeline='${PIPELINE}'; export pipeline; ${lines}`, env, {
    cwd,
  });
  expect(stdout).toBe('');
  const said = [...stderr.matchAll(/^pipeline: (.*)$/gm)].map(([, text = '']) => text);
  return { exitCode, stderr, said, files: readdirSync(cwd).filter((name) => name !== 'scan.pdf'), cwd };
}

const step = (commands: string) => `bash -c '${commands}'`;

describe('both steps', () => {
  test('exit 0: the output is in a file, and nothing is left to wait for', async () => {
    const { exitCode, said, files, cwd } = await run(`${sandbox()} "$pipeline"`);
    expect({ exitCode, files }).toEqual({ exitCode: 0, files: ['output.json'] });
    expect(said).toEqual([
      expect.stringMatching(/^started run [0-9a-f-]{36}$/),
      expect.stringMatching(/^run [0-9a-f-]{36} finished; its output is in output.json$/),
    ]);
    expect(JSON.parse(readFileSync(join(cwd, 'output.json'), 'utf8'))).toMatchObject({ customer: 'ACME' });
  });

  test('exit 1: the run failed, and the next start may start another', async () => {
    const { exitCode, said, stderr, files } = await run(
      `${sandbox('--fail-step "Check totals"')} "$pipeline"`,
    );
    expect({ exitCode, files }).toEqual({ exitCode: 1, files: [] });
    expect(stderr).toContain('Failed at step Check totals');
    expect(said[1]).toMatch(/^run \S+ failed; its step and message are above$/);
  });
});

describe('the step that starts a run', () => {
  test.each<[number, string, string, Record<string, string>?]>([
    [2, `${sandbox()} "$pipeline" start`, 'the command or its files are invalid', { DOCUMENT: 'none.pdf' }],
    [4, `${sandbox()} ${step('WFR_TOKEN=wrong "$pipeline" start')}`, 'the token is missing or was rejected'],
    [4, `${sandbox('--reject 403')} "$pipeline" start`, 'the token is missing or was rejected'],
    [5, `${sandbox('--reject 422')} "$pipeline" start`, 'the service rejected the request'],
    [
      7,
      `${sandbox()} ${step(`${AWAY} "$pipeline" start`)}`,
      'the service cannot be reached; try again later',
    ],
  ])(
    'exit %i: no run was started, and the next start may try again (%s)',
    async (code, lines, words, env = {}) => {
      const { exitCode, said, files } = await run(lines, env);
      expect({ exitCode, files }).toEqual({ exitCode: code, files: [] });
      expect(said).toEqual([expect.stringContaining(`no run was started: ${words}`)]);
    },
  );

  test('exit 6: the outcome is unknown, and nothing starts a run again until somebody has looked', async () => {
    const first = await run(`${sandbox('--drop-answer')} "$pipeline" start`);
    expect({ exitCode: first.exitCode, files: first.files }).toEqual({ exitCode: 6, files: ['run-id'] });
    expect(first.said).toEqual([expect.stringContaining('a run may exist: check the service')]);
    const again = await run(`${sandbox()} "$pipeline"`, {}, first.cwd);
    expect(again.exitCode).toBe(6);
    expect(again.said).toEqual([expect.stringContaining('no run was started, because one may exist')]);
    expect(readFileSync(join(first.cwd, 'run-id'), 'utf8')).toBe('');
  });

  test('a run that was started is not started again', async () => {
    const twice = '"$pipeline" start; id=$(<run-id); "$pipeline" start; [[ $(<run-id) == "$id" ]]';
    const { exitCode, said } = await run(`${sandbox()} ${step(twice)}`);
    expect(exitCode).toBe(0);
    expect(said).toEqual([
      expect.stringMatching(/^started run/),
      expect.stringMatching(/was started before; not started again$/),
    ]);
  });

  test('any other end may have started a run', async () => {
    const { exitCode, said, files } = await run('wfr() { return 70; }; export -f wfr; "$pipeline" start');
    expect({ exitCode, files }).toEqual({ exitCode: 70, files: ['run-id'] });
    expect(said).toEqual(['wfr exited with 70, see above: a run may exist']);
  });

  test('without wfr there is nothing to do', async () => {
    const { exitCode, said, files } = await run('PATH=/usr/bin:/bin "$pipeline" start');
    expect({ exitCode, said, files }).toEqual({ exitCode: 127, said: ['wfr is not installed'], files: [] });
  });
});

describe('the step that waits', () => {
  const started = '"$pipeline" start &&';

  test.each<[number, string, string, Record<string, string>?]>([
    [2, `${started} "$pipeline" wait`, 'is not watched: the command is invalid', { WAIT_FOR: 'soon' }],
    [4, `${started} WFR_TOKEN=wrong "$pipeline" wait`, 'may continue, but the token was rejected'],
    [5, 'echo none > run-id; "$pipeline" wait', 'the service knows no run none'],
    [
      7,
      `${started} ${AWAY} "$pipeline" wait`,
      'may continue, but the service cannot be reached: try ./pipeline.sh wait again later',
    ],
  ])('exit %i: there is a run to wait for still (%s)', async (code, lines, words, env = {}) => {
    const { exitCode, said, files } = await run(`${sandbox()} ${step(lines)}`, env);
    expect({ exitCode, files }).toEqual({ exitCode: code, files: ['run-id'] });
    expect(said.at(-1)).toContain(words);
  });

  test('exit 8: the run continues, and the next step waits for it', async () => {
    const lines = 'WAIT_FOR=0 "$pipeline" || echo "exit $?" >&2; "$pipeline"';
    const { exitCode, said, stderr, files } = await run(`${sandbox('--slow 0.5')} ${step(lines)}`);
    expect({ exitCode, files }).toEqual({ exitCode: 0, files: ['output.json'] });
    expect(stderr).toContain('exit 8\n');
    expect(said.map((text) => text.replace(/run \S+/, 'run X'))).toEqual([
      'started run X',
      'run X continues; to wait longer, run ./pipeline.sh wait',
      'run X was started before; not started again',
      'run X finished; its output is in output.json',
    ]);
  });

  test('any other end leaves the run to the next step', async () => {
    const { exitCode, said, files } = await run(
      'wfr() { return 70; }; export -f wfr; echo x > run-id; "$pipeline" wait',
    );
    expect({ exitCode, files }).toEqual({ exitCode: 70, files: ['run-id'] });
    expect(said).toEqual(['wfr exited with 70, see above; run x may continue']);
  });

  test('without a run there is nothing to wait for', async () => {
    const { exitCode, said, files } = await run('"$pipeline" wait');
    expect({ exitCode, files }).toEqual({ exitCode: 2, files: [] });
    expect(said).toEqual(['no run to wait for: start one with ./pipeline.sh start']);
  });

  test('a step that there is not is exit 2', async () => {
    const { exitCode, said } = await run('"$pipeline" stop');
    expect({ exitCode, said }).toEqual({
      exitCode: 2,
      said: ['unknown step stop; use start or wait'],
    });
  });
});

describe('a signal', () => {
  test.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s to the script ends the waiting with a word and a code of %i', async (signal, code) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'run-id'), 'run-1');
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const pipeline = startBash(`exec '${PIPELINE}' wait`, { WFR_BASE_URL: baseUrl }, { cwd });
    await pipeline.waitForOutput('RUNNING');
    pipeline.child.kill(signal);
    const { exitCode, stderr } = await pipeline.ended;
    expect(stderr).toContain('Interrupted; run run-1 continues.');
    expect(stderr).toMatch(
      /pipeline: interrupted; run run-1 continues; to wait for it, run .\/pipeline.sh wait\n$/,
    );
    expect(exitCode).toBe(code);
    expect(existsSync(join(cwd, 'run-id'))).toBe(true);
  });

  /** Starts a run at a service that does this when the trigger has come. */
  async function starting(handler: Handler) {
    const cwd = folder();
    const { baseUrl, posts } = await scriptedService(handler);
    const env = { WFR_BASE_URL: baseUrl, WORKFLOW: SLOW };
    const pipeline = startBash(`exec '${PIPELINE}' start`, env, { cwd, detached: true });
    return { pipeline, posts, id: () => readFileSync(join(cwd, 'run-id'), 'utf8') };
  }

  test('to the script alone, while it starts a run, waits until the id is known', async () => {
    let meanwhile: string | undefined;
    const { pipeline, id } = await starting(async (request, reply) => {
      await request.body();
      meanwhile = id();
      pipeline.child.kill('SIGTERM');
      reply.send(201, aRun());
    });
    const { exitCode, stderr } = await pipeline.ended;
    // Killed outright, it would have left a file that keeps a second run from being started.
    expect({ meanwhile, exitCode, id: id() }).toEqual({ meanwhile: '', exitCode: 143, id: 'run-1' });
    expect(stderr).toMatch(/pipeline: started run run-1\n$/);
  });

  test('to wfr as well, with an answer that comes soon enough, leaves the id', async () => {
    const { pipeline, id } = await starting(async (request, reply) => {
      await request.body();
      process.kill(-(pipeline.child.pid ?? 0), 'SIGINT');
      await pipeline.waitForOutput('waiting');
      reply.send(201, aRun());
    });
    const { exitCode, stderr } = await pipeline.ended;
    expect({ exitCode, id: id() }).toEqual({ exitCode: 130, id: 'run-1' });
    expect(stderr).toMatch(/pipeline: interrupted: see above whether a run exists\n$/);
  });

  test('to wfr as well, before the service has answered, leaves a run that may exist', async () => {
    const { pipeline, id, posts } = await starting(async (request) => {
      await request.body();
      process.kill(-(pipeline.child.pid ?? 0), 'SIGTERM');
    });
    const { exitCode, stderr } = await pipeline.ended;
    expect({ exitCode, id: id(), posts: posts().length }).toEqual({ exitCode: 143, id: '', posts: 1 });
    expect(stderr).toMatch(/pipeline: interrupted: see above whether a run exists\n$/);
  });
});
