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

/** What the pipeline itself printed, its exit code, and the files that it left. */
async function run(lines: string, env: Record<string, string> = {}, cwd = folder()) {
  const { exitCode, stdout, stderr } = await bash(`pipeline='${PIPELINE}'; export pipeline; ${lines}`, env, {
    cwd,
  });
  expect(stdout).toBe('');
  const messages = [...stderr.matchAll(/^pipeline: (.*)$/gm)].map(([, text = '']) => text);
  return { exitCode, stderr, messages, files: readdirSync(cwd).filter((name) => name !== 'scan.pdf'), cwd };
}

const step = (commands: string) => `bash -c '${commands}'`;

describe('pipeline.sh: both steps', () => {
  test('pipeline.sh: a run that finished exits 0, with its output in a file and no run-id left', async () => {
    const { exitCode, messages, files, cwd } = await run(`${sandbox()} "$pipeline"`);
    expect({ exitCode, files }).toEqual({ exitCode: 0, files: ['output.json'] });
    expect(messages).toEqual([
      expect.stringMatching(/^started run [0-9a-f-]{36}$/),
      expect.stringMatching(/^run [0-9a-f-]{36} finished; its output is in output.json$/),
    ]);
    expect(JSON.parse(readFileSync(join(cwd, 'output.json'), 'utf8'))).toMatchObject({ customer: 'ACME' });
  });

  test('pipeline.sh: a run that failed exits 1, and the next start triggers a new run', async () => {
    const { exitCode, messages, stderr, files } = await run(
      `${sandbox('--fail-step "Check totals"')} "$pipeline"`,
    );
    expect({ exitCode, files }).toEqual({ exitCode: 1, files: [] });
    expect(stderr).toContain('Failed at step Check totals');
    expect(messages[1]).toMatch(/^run \S+ failed; its step and message are above$/);
  });
});

describe('pipeline.sh start', () => {
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
    'pipeline.sh start: exit %i means that no run was started, and the next start may try again (%s)',
    async (code, lines, message, env = {}) => {
      const { exitCode, messages, files } = await run(lines, env);
      expect({ exitCode, files }).toEqual({ exitCode: code, files: [] });
      expect(messages).toEqual([expect.stringContaining(`no run was started: ${message}`)]);
    },
  );

  test('pipeline.sh start: an unknown outcome exits 6, and no run is triggered until run-id is removed', async () => {
    const first = await run(`${sandbox('--drop-answer')} "$pipeline" start`);
    expect({ exitCode: first.exitCode, files: first.files }).toEqual({ exitCode: 6, files: ['run-id'] });
    expect(first.messages).toEqual([expect.stringContaining('a run may exist: check the service')]);
    const again = await run(`${sandbox()} "$pipeline"`, {}, first.cwd);
    expect(again.exitCode).toBe(6);
    expect(again.messages).toEqual([expect.stringContaining('no run was started, because one may exist')]);
    expect(readFileSync(join(first.cwd, 'run-id'), 'utf8')).toBe('');
  });

  test('pipeline.sh start: a run that was started is not started again', async () => {
    const twice = '"$pipeline" start; id=$(<run-id); "$pipeline" start; [[ $(<run-id) == "$id" ]]';
    const { exitCode, messages } = await run(`${sandbox()} ${step(twice)}`);
    expect(exitCode).toBe(0);
    expect(messages).toEqual([
      expect.stringMatching(/^started run/),
      expect.stringMatching(/was started before; not started again$/),
    ]);
  });

  test('pipeline.sh start: any other exit code counts as an unknown outcome', async () => {
    const { exitCode, messages, files } = await run('wfr() { return 70; }; export -f wfr; "$pipeline" start');
    expect({ exitCode, files }).toEqual({ exitCode: 70, files: ['run-id'] });
    expect(messages).toEqual(['wfr exited with 70, see above: a run may exist']);
  });

  test('pipeline.sh start: without wfr, no run-id is left', async () => {
    const { exitCode, messages, files } = await run('PATH=/usr/bin:/bin "$pipeline" start');
    expect({ exitCode, messages, files }).toEqual({
      exitCode: 127,
      messages: ['wfr is not installed'],
      files: [],
    });
  });
});

describe('pipeline.sh wait', () => {
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
  ])(
    'pipeline.sh wait: exit %i keeps the run-id for the next step (%s)',
    async (code, lines, message, env = {}) => {
      const { exitCode, messages, files } = await run(`${sandbox()} ${step(lines)}`, env);
      expect({ exitCode, files }).toEqual({ exitCode: code, files: ['run-id'] });
      expect(messages.at(-1)).toContain(message);
    },
  );

  test('pipeline.sh wait: a timeout exits 8, and the next step waits for the same run', async () => {
    const lines = 'WAIT_FOR=0 "$pipeline" || echo "exit $?" >&2; "$pipeline"';
    const { exitCode, messages, stderr, files } = await run(`${sandbox('--slow 0.5')} ${step(lines)}`);
    expect({ exitCode, files }).toEqual({ exitCode: 0, files: ['output.json'] });
    expect(stderr).toContain('exit 8\n');
    expect(messages.map((text) => text.replace(/run \S+/, 'run X'))).toEqual([
      'started run X',
      'run X continues; to wait longer, run ./pipeline.sh wait',
      'run X was started before; not started again',
      'run X finished; its output is in output.json',
    ]);
  });

  test('pipeline.sh wait: any other exit code leaves the run to the next step', async () => {
    const { exitCode, messages, files } = await run(
      'wfr() { return 70; }; export -f wfr; echo x > run-id; "$pipeline" wait',
    );
    expect({ exitCode, files }).toEqual({ exitCode: 70, files: ['run-id'] });
    expect(messages).toEqual(['wfr exited with 70, see above; run x may continue']);
  });

  test('pipeline.sh wait: without a run-id, there is nothing to wait for', async () => {
    const { exitCode, messages, files } = await run('"$pipeline" wait');
    expect({ exitCode, files }).toEqual({ exitCode: 2, files: [] });
    expect(messages).toEqual(['no run to wait for: start one with ./pipeline.sh start']);
  });

  test('pipeline.sh: an unknown step exits 2', async () => {
    const { exitCode, messages } = await run('"$pipeline" stop');
    expect({ exitCode, messages }).toEqual({
      exitCode: 2,
      messages: ['unknown step stop; use start or wait'],
    });
  });
});

describe('pipeline.sh: signals', () => {
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

  /** Starts a run at a service that calls this when the trigger arrives. */
  async function starting(handler: Handler) {
    const cwd = folder();
    const { baseUrl, posts } = await scriptedService(handler);
    const env = { WFR_BASE_URL: baseUrl, WORKFLOW: SLOW };
    const pipeline = startBash(`exec '${PIPELINE}' start`, env, { cwd, detached: true });
    return { pipeline, posts, id: () => readFileSync(join(cwd, 'run-id'), 'utf8') };
  }

  test('pipeline.sh start: a signal to the script alone waits until the run id is known', async () => {
    let meanwhile: string | undefined;
    const { pipeline, id } = await starting(async (request, reply) => {
      await request.body();
      meanwhile = id();
      pipeline.child.kill('SIGTERM');
      reply.send(201, aRun());
    });
    const { exitCode, stderr } = await pipeline.ended;
    // If killed, it would leave a file that prevents a second run.
    expect({ meanwhile, exitCode, id: id() }).toEqual({ meanwhile: '', exitCode: 143, id: 'run-1' });
    expect(stderr).toMatch(/pipeline: started run run-1\n$/);
  });

  test('pipeline.sh start: a signal to wfr as well leaves the run id, if the response arrives in time', async () => {
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

  test('pipeline.sh start: a signal to wfr as well, without a response, leaves an empty run-id', async () => {
    const { pipeline, id, posts } = await starting(async (request) => {
      await request.body();
      process.kill(-(pipeline.child.pid ?? 0), 'SIGTERM');
    });
    const { exitCode, stderr } = await pipeline.ended;
    expect({ exitCode, id: id(), posts: posts().length }).toEqual({ exitCode: 143, id: '', posts: 1 });
    expect(stderr).toMatch(/pipeline: interrupted: see above whether a run exists\n$/);
  });
});
