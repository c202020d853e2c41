/** `wfr run --once <file>`: the same command triggers at most one run, across processes. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { appendClaim, readEvents } from '../../helpers/batch.js';
import { Signals } from '../../helpers/cli.js';
import { realClock, VirtualClock } from '../../helpers/clock.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { effort } from '../../helpers/effort.js';
import { errorData } from '../../helpers/error-data.js';
import { loseAnswer, prepareOnce, reject } from '../../helpers/once.js';
import { readPageRows } from '../../helpers/page.js';
import { replaceFunction } from '../../helpers/replace-function.js';
import { aFinishedRun, aRun } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

const FAILED = aRun({ status: 'FAILED', error: { message: 'no credit', step: 'Check' } });
const eventNames = (path: string) => readEvents(path).map(({ event }) => event);

/** Lets each write to a file in a folder fail with ENOSPC, from the n-th one on; returns a function that ends it. */
function fillDisk(folder: string, first: number): () => void {
  const { open, writeFile } = promises;
  const handles = new Set<unknown>();
  let writes = 0;
  const write =
    <Args extends unknown[], Result>(real: (...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      ++writes < first ? real(...args) : Promise.reject(Object.assign(new Error(), { code: 'ENOSPC' }));
  replaceFunction(promises, 'writeFile', (file, ...rest) =>
    handles.has(file) ? write(writeFile)(file, ...rest) : writeFile(file, ...rest),
  );
  return replaceFunction(promises, 'open', async (path, ...rest) => {
    const handle = await open(path, ...rest);
    if (!String(path).startsWith(join(folder, ''))) return handle;
    handles.add(handle);
    handle.write = write(handle.write.bind(handle) as never) as typeof handle.write;
    return handle;
  });
}

describe('run --once: the same command again', () => {
  test('run --once: without a file, a run is triggered and each step is recorded', async () => {
    const { once, path, posts } = await prepareOnce();
    const { exitCode, stdout } = await once();
    expect({ exitCode, stdout, posts: posts().length }).toEqual({
      exitCode: 0,
      stdout: '{\n  "total": 1\n}\n',
      posts: 1,
    });
    expect(eventNames(path).filter((event) => !['open', 'close'].includes(event))).toEqual([
      ...['batch', 'table', 'intent', 'sent', 'accepted', 'ended'],
    ]);
  });

  test('run --once: a run that ended FINISHED is printed again from the file, without a request, and not recorded again', async () => {
    const { once, path, state, requests } = await prepareOnce();
    const locks = () => eventNames(path).filter((event) => event === 'open').length;
    const first = await once();
    const locked = locks();
    const before = requests.length;
    state.run = undefined;
    for (const args of [[], ['-o', 'json']]) {
      const again = await once(['a=1', ...args]);
      expect(again.exitCode).toBe(0);
      expect(JSON.parse(again.stdout)).toEqual(
        args.length === 0 ? JSON.parse(first.stdout) : { ...aFinishedRun(), id: 'run-1' },
      );
      expect(again.stderr).toContain('Run run-1 (recorded in my.once)\n');
    }
    expect(requests.length).toBe(before);
    expect(locks()).toBe(locked + 2);
  });

  test('run --once: recorded inputs are recognized, whatever their white space', async () => {
    const { wfr, write, baseUrl, requests } = await prepareOnce();
    const inputs = {
      customer: '77b220d488b541355776d06ea6dc15869f42b52881ae3187d74d8cbffc4fd80e',
      n: '088ab1fa154cb08962dfeea00e988640c01034e1f649f90ca028a6ea860f13fe',
      scan: '2095ff72f98fe76ff5012f754432039b78c9e3bc8db575a39a6476d9b928f136',
    };
    const salt = 'd1cbb56ae493d5c398fa8f0f5808bb57';
    const events = [
      { event: 'batch', format: 3, workflow: 'w', baseUrl: `${baseUrl}/`, shard: '1/1', salt },
      { event: 'table', rows: 1 },
      { event: 'intent', row: 1, label: 'w', digest: '6f7e472d6ef09bd7' },
      { event: 'sent', row: 1, inputs },
      { event: 'accepted', row: 1, id: 'run-1' },
      { event: 'ended', row: 1, run: { ...aFinishedRun(), id: 'run-1' } },
    ];
    write('my.once', events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    write('scan.pdf', '%PDF-1.7\n');
    const given = (x: number) => ['customer=ACME', `n:={ "x": [${x}, "a b"] }`, 'scan@scan.pdf'];
    const same = await wfr(['run', 'w', ...given(1), '--once', 'my.once']);
    expect(same).toMatchObject({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
    const other = await wfr(['run', 'w', ...given(2), '--once', 'my.once']);
    expect(other.exitCode).toBe(2);
    expect(requests).toEqual([]);
  });

  test('run --once: a recorded run is named, until it has ended with the command that watches it, unless --quiet', async () => {
    const { once, state } = await prepareOnce();
    state.run = aRun();
    await once(['a=1', '--timeout', '5s']);
    const named = 'Run run-1 (recorded in my.once)\n';
    const command = 'To watch it: wfr watch run-1\n';
    expect((await once(['a=1', '--timeout', '5s'])).stderr.startsWith(named + command)).toBe(true);
    state.run = aFinishedRun();
    expect((await once(['a=1', '-q'])).stderr).toBe(named);
    expect((await once()).stderr).not.toContain(command);
  });

  test('run --once: the report of a run that an earlier command saw end has no duration of its own', async () => {
    const { once, cwd } = await prepareOnce();
    await once();
    await once(['a=1', '--report', 'html=r.html']);
    const [row] = readPageRows(readFileSync(join(cwd, 'r.html'), 'utf8'));
    expect(row).toMatchObject({ words: 'not observed', duration: null });
  });

  test('run --once: an accepted run is watched, and its end is recorded', async () => {
    const { once, state, posts, path } = await prepareOnce();
    state.run = aRun();
    expect((await once(['a=1', '--timeout', '5s'])).exitCode).toBe(8);
    state.run = aFinishedRun();
    const { exitCode, stdout } = await once();
    expect({ exitCode, stdout, posts: posts().length }).toEqual({
      exitCode: 0,
      stdout: '{\n  "total": 1\n}\n',
      posts: 1,
    });
    expect(eventNames(path)).toContain('ended');
  });

  test('run --once: a request without an answer exits 6, and so does each later command, without a POST (fault 96)', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer];
    const first = await once();
    expect(first.exitCode).toBe(6);
    expect(first.stderr).toContain('--adopt <id>');
    for (let time = 0; time < 2; time++) {
      const { exitCode, stderr, stdout } = await once();
      expect({ exitCode, stdout, posts: posts().length }).toEqual({ exitCode: 6, stdout: '', posts: 1 });
      expect(stderr).toContain('recorded no answer in my.once');
      expect(stderr).toContain('--resend-unknown');
    }
  });

  test('run --once: a signal after the request and before its answer leaves the outcome unknown', async () => {
    const { once, state, posts } = await prepareOnce();
    const signals = new Signals();
    state.answers = [() => signals.raise('SIGTERM')];
    const interrupted = once(['a=1'], { signals, limits: { terminationGrace: 1 }, clock: realClock });
    expect((await interrupted).exitCode).toBe(143);
    expect((await once()).exitCode).toBe(6);
    expect(posts().length).toBe(1);
  });

  test('run --once --json: an unknown outcome has the flags that settle it in its hints, also after a signal', async () => {
    const { once, state } = await prepareOnce();
    const signals = new Signals();
    state.answers = [loseAnswer];
    const lost = await once(['a=1', '--json']);
    state.answers = [() => signals.raise('SIGTERM')];
    const world = { signals, limits: { terminationGrace: 1 }, clock: realClock };
    const interrupted = await once(['a=1', '--json', '--resend-unknown'], world);
    for (const { stderr } of [lost, interrupted])
      expect(errorData(stderr).hints).toEqual([
        expect.stringMatching(/^Sent .* UTC: workflow .*, inputs a$/),
        'The next command with --once my.once sends nothing. Check the service, then run the same command with --adopt <id> if the run exists, or with --resend-unknown if it does not.',
      ]);
    expect([lost.stderr, interrupted.stderr].map((text) => text.match(/--adopt/g)?.length)).toEqual([1, 1]);
  });

  test('run --once --save-documents: the same command again succeeds while the saved documents are unchanged', async () => {
    const { once, state, write } = await prepareOnce();
    state.run = aFinishedRun({ scan: 'data:text/plain;base64,aGVsbG8=' });
    const first = await once(['a=1', '--save-documents', 'out']);
    const again = await once(['a=1', '--save-documents', 'out']);
    expect([first.exitCode, again.exitCode, again.stdout]).toEqual([0, 0, first.stdout]);
    write('out/scan.txt', 'hello, changed');
    expect((await once(['a=1', '--save-documents', 'out'])).exitCode).toBe(74);
  });

  test('run --once --resend-unknown: sends an unknown request again', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer];
    await once();
    const { exitCode } = await once(['a=1', '--resend-unknown']);
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 0, posts: 2 });
    expect((await once()).exitCode).toBe(0);
    expect(posts().length).toBe(2);
  });

  test('run --once --resend-unknown: a rejection of the second request leaves the first one unknown', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer, reject];
    await once();
    expect((await once(['a=1', '--resend-unknown'])).exitCode).toBe(5);
    expect((await once()).exitCode).toBe(6);
    expect(posts().length).toBe(2);
  });

  test('run --once --adopt: the run that the user found is recorded and watched, without a POST; an id that differs in case is another (fault 105)', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer];
    await once();
    const adopted = await once(['a=1', '--adopt', 'found-1', '-o', 'json']);
    expect(adopted.exitCode).toBe(0);
    expect(JSON.parse(adopted.stdout).id).toBe('found-1');
    expect((await once(['a=1', '--adopt', 'found-1'])).exitCode).toBe(0);
    expect((await once()).exitCode).toBe(0);
    const other = await once(['a=1', '--adopt', 'found-2']);
    expect(other.exitCode).toBe(2);
    expect(other.stderr).toContain(
      '--adopt found-2: the outcome in my.once is not unknown: it has run found-1',
    );
    expect((await once(['a=1', '--adopt', 'FOUND-1'])).exitCode).toBe(2);
    expect(posts().length).toBe(1);
  });

  test('run --once --adopt: a run that the service does not know exits 5 and adopts nothing', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer];
    await once();
    state.run = undefined;
    const { exitCode, stderr } = await once(['a=1', '--adopt', 'typo']);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('--adopt typo failed: nothing was adopted or sent.');
    expect((await once()).exitCode).toBe(6);
    expect(posts().length).toBe(1);
  });

  test('run --once: after a rejection, the same command with other inputs or another workflow is sent', async () => {
    const { once, wfr, state, accepted, path } = await prepareOnce();
    state.answers = [reject, reject];
    expect((await once(['customre=A'])).exitCode).toBe(5);
    expect((await once(['customer=A', 'x=1'])).exitCode).toBe(5);
    const { exitCode } = await wfr(['run', 'v', '--once', 'my.once', 'customer=A']);
    expect(exitCode).toBe(0);
    expect(accepted).toEqual([{ customer: 'A' }]);
    expect((await wfr(['results', path])).exitCode).toBe(0);
    expect((await once(['customer=A'])).stderr).toContain('the workflow v, not w');
  });

  test('run --once: a service that could not be reached is asked again', async () => {
    const { once, cwd, env, posts } = await prepareOnce();
    const down = await once(['a=1'], { cwd, env: { WFR_BASE_URL: CLOSED_URL } });
    expect(down.exitCode).toBe(7);
    expect((await once(['a=1'], { cwd, env })).exitCode).toBe(0);
    expect(posts().length).toBe(1);
  });

  test('run --once: a FAILED run exits 1 each time, and --retry-failed triggers another', async () => {
    const { once, state, posts } = await prepareOnce();
    state.run = FAILED;
    for (let time = 0; time < 2; time++) {
      const { exitCode, stdout, stderr } = await once();
      expect({ exitCode, stdout, posts: posts().length }).toEqual({ exitCode: 1, stdout: '', posts: 1 });
      expect(stderr).toMatch(/^Failed at step Check \(.*\)\n\| no credit\n/m);
      const note = 'Nothing was triggered; for another run, add --retry-failed.\n';
      expect(stderr.endsWith(note)).toBe(time === 1);
    }
    state.run = aFinishedRun();
    expect((await once(['a=1', '--retry-failed'])).exitCode).toBe(0);
    expect((await once(['a=1', '--retry-failed'])).exitCode).toBe(0);
    expect(posts().length).toBe(2);
  });

  test('run --once: a run that the service has forgotten exits 7, and --retry-failed triggers another (fault 99)', async () => {
    const { once, state, posts } = await prepareOnce();
    state.run = undefined;
    const first = await once(['a=1', '--detach']);
    expect(first.exitCode).toBe(0);
    for (let time = 0; time < 2; time++) {
      const { exitCode, stderr } = await once();
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 7, posts: 1 });
      expect(stderr).toContain('the service no longer knows run run-1 (404), recorded in my.once');
      expect(stderr).toContain('--retry-failed');
    }
    state.run = aFinishedRun();
    expect((await once(['a=1', '--retry-failed'])).exitCode).toBe(0);
    expect(posts().length).toBe(2);
  });

  test('run --once --detach: prints the id and exits 0 each time, without a GET, even after the run FAILED', async () => {
    const { once, state, requests, polls, posts } = await prepareOnce();
    state.run = FAILED;
    for (let time = 0; time < 2; time++)
      expect(await once(['a=1', '--detach'])).toMatchObject({ exitCode: 0, stdout: 'run-1\n' });
    expect(requests.length).toBe(1);
    expect((await once()).exitCode).toBe(1);
    const seen = polls();
    expect(await once(['a=1', '--detach'])).toMatchObject({ exitCode: 0, stdout: 'run-1\n' });
    expect({ polls: polls(), posts: posts().length }).toEqual({ polls: seen, posts: 1 });
  });

  test('run --once --detach --retry-failed: reads the run first, and triggers another only if it FAILED', async () => {
    const { once, state, polls, posts } = await prepareOnce();
    state.run = aRun();
    await once(['a=1', '--detach']);
    expect(await once(['a=1', '--detach', '--retry-failed'])).toMatchObject({
      exitCode: 0,
      stdout: 'run-1\n',
    });
    expect({ polls: polls(), posts: posts().length }).toEqual({ polls: 1, posts: 1 });
    state.run = FAILED;
    expect(await once(['a=1', '--detach', '--retry-failed'])).toMatchObject({
      exitCode: 0,
      stdout: 'run-2\n',
    });
    expect({ polls: polls(), posts: posts().length }).toEqual({ polls: 2, posts: 2 });
  });

  test('run --once --detach: -o json exits 2, because a later command has only the id', async () => {
    const { once, requests } = await prepareOnce();
    const { exitCode, stderr } = await once(['a=1', '--detach', '--json']);
    expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
    expect(stderr).toContain('--detach and --once print the id');
  });
});

describe('run --once: other values than recorded', () => {
  test('run --once: another workflow, service or input exits 2, names each, and says how to watch the run (fault 100)', async () => {
    const { once, wfr, cwd, requests } = await prepareOnce();
    await once(['a=1', 'b=2', '--detach']);
    const { exitCode, stderr } = await wfr(['run', 'v', '--once', 'my.once', 'a=9', 'c=3'], {
      cwd,
      env: { WFR_BASE_URL: CLOSED_URL },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the workflow w, not v');
    expect(stderr).toMatch(/the baseUrl http:\/\/127\.0\.0\.1:\d+\//);
    expect(stderr).toContain(
      `, not ${CLOSED_URL}/, with another value of a, with the input b, which this command lacks, without the input c; use another file`,
    );
    expect(stderr).toContain('wfr watch run-1');
    expect(requests.length).toBe(1);
  });

  test('run --once: other inputs than an unknown request had exit 2, even with --resend-unknown', async () => {
    const { once, state, posts } = await prepareOnce();
    state.answers = [loseAnswer];
    await once();
    expect((await once(['a=2', '--resend-unknown'])).exitCode).toBe(2);
    expect(posts().length).toBe(1);
  });

  test('run --once: the bytes and media type of a document count, and not its path', async () => {
    const { once, write, posts } = await prepareOnce();
    write('a.pdf', 'scan');
    write('b.pdf', 'scan');
    write('c.pdf', 'another scan');
    await once(['doc@a.pdf']);
    expect((await once(['doc@b.pdf'])).exitCode).toBe(0);
    expect((await once(['doc@-;type=application/pdf'], { stdin: 'scan' })).exitCode).toBe(0);
    for (const other of ['doc@c.pdf', 'doc@a.pdf;type=image/png']) {
      const { exitCode, stderr } = await once([other]);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('with another value of doc;');
    }
    expect(posts().length).toBe(1);
  });

  test('run --once: insignificant white space in JSON does not count, and any other character does', async () => {
    const { once, write, posts } = await prepareOnce();
    write('inputs.json', '{\n  "list": [1.0, "a \\" b"],\n "s": "x"}');
    await once(['list:=[1.0,"a \\" b"]', 's=x']);
    expect((await once(['--inputs-file', 'inputs.json'])).exitCode).toBe(0);
    expect((await once(['list:= [ 1.0 ,\t"a \\" b" ]', 's=x'])).exitCode).toBe(0);
    for (const other of ['list:=[1.00,"a \\" b"]', 'list:=[1.0,"a \\"  b"]', 'list:=[1.0,"a \\"b"]'])
      expect((await once([other, 's=x'])).exitCode).toBe(2);
    expect(posts().length).toBe(1);
  });

  test('run --once: the file has no value of an input, and equal inputs have other digests in another file', async () => {
    const { once, wfr, path, cwd } = await prepareOnce();
    await once(['code=my-secret-value', '--detach']);
    await wfr(['run', 'w', '--once', 'other.once', 'code=my-secret-value', '--detach']);
    const digest = (file: string) => /"code":"([0-9a-f]{64})"/.exec(readFileSync(file, 'utf8'))?.[1];
    expect(readFileSync(path, 'utf8')).not.toContain('my-secret-value');
    expect(digest(path)).toBeDefined();
    expect(digest(path)).not.toBe(digest(join(cwd, 'other.once')));
  });
});

describe('run --once: the file', () => {
  test.each([
    ['empty', '', 'it exists and is empty'],
    ['of something else', 'hello\n', 'it was not written by wfr run --once'],
    ['cut inside its first line', '{"event":"batch","wor', 'it was not written by wfr run --once'],
    [
      'of a batch',
      '{"event":"batch","workflow":"w","baseUrl":"x","shard":"1/1"}\n',
      'it was not written by wfr run --once',
    ],
  ])('run --once: a file that is %s exits 2 and is left alone', async (_what, text, message) => {
    const { once, path, requests } = await prepareOnce();
    writeFileSync(path, text);
    const { exitCode, stderr } = await once();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--once my.once: ');
    expect(stderr).toContain(message);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(requests).toEqual([]);
  });

  test('batch: the file of run --once exits 2 as --results', async () => {
    const { once, wfr, write, posts } = await prepareOnce();
    await once();
    write('rows.jsonl', '{"a":"1"}\n');
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', 'my.once']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'my.once: belongs to a command with --once; correct that, or use another file with --results',
    );
    expect(posts().length).toBe(1);
  });

  test.skipIf(LACKS.removalOfOpenFiles)(
    'run --once: a file that is removed while it is opened exits 2, and nothing is sent',
    async () => {
      const { once, path, requests } = await prepareOnce();
      const { open } = promises;
      replaceFunction(promises, 'open', (file, flags, mode) => {
        if (file === path && flags !== 'r') rmSync(path);
        return open(file, flags, mode);
      });
      const { exitCode, stderr } = await once();
      expect({ exitCode, requests, isThere: existsSync(path) }).toEqual({
        exitCode: 2,
        requests: [],
        isThere: false,
      });
      expect(stderr).toContain('--once my.once: no such file');
    },
  );

  test('run --once: cut after any byte, the file never leads to a second run of a sent request (fault 101)', async () => {
    const { once, path, accepted, cwd, env, wfr } = await prepareOnce();
    await once();
    const whole = readFileSync(path);
    const sent = whole.indexOf('\n', whole.indexOf('{"event":"sent"')) + 1;
    const step = 28 / effort(4);
    for (let length = sent; length <= whole.length; length += step) {
      writeFileSync(path, whole.subarray(0, length));
      const { exitCode } = await wfr(['run', 'w', '--once', 'my.once', 'a=1'], {
        cwd,
        env,
        self: { isAlive: () => false },
      });
      expect([0, 6]).toContain(exitCode);
    }
    expect(accepted.length).toBe(1);
  });

  test.each([
    [1, 'the file', 0, [0, 1]],
    [2, 'the lock', 0, [0, 1]],
    [3, 'intent', 0, [0, 1]],
    [4, 'sent', 0, [0, 1]],
    [5, 'accepted', 1, [6, 1]],
  ] as const)(
    'run --once: a disk that is full from write %i on, of %s, never leads to a second run (fault 102)',
    async (write, _what, runs, then) => {
      const { once, accepted, cwd } = await prepareOnce();
      const restore = fillDisk(cwd, write);
      const { exitCode, stderr } = await once();
      restore();
      expect({ exitCode, runs: accepted.length }).toEqual({ exitCode: runs === 0 ? 2 : 0, runs });
      expect(stderr).toContain('no space left on the disk (ENOSPC)');
      const next = await once();
      expect([next.exitCode, accepted.length]).toEqual(then);
    },
  );

  test('run --once: a folder that does not exist exits 2 and sends nothing', async () => {
    const { wfr, requests } = await prepareOnce();
    const { exitCode, stderr } = await wfr(['run', 'w', '--once', 'missing/my.once', 'a=1']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/--once missing\/my\.once: the folder \S+missing does not exist \(ENOENT\)\n/);
    expect(requests).toEqual([]);
  });

  test('run --once: a read-only file system exits 2, names it and sends nothing', async () => {
    const { once, requests } = await prepareOnce();
    const { open } = promises;
    replaceFunction(promises, 'open', (path, flags, ...rest) =>
      flags === 'r'
        ? open(path, flags, ...rest)
        : Promise.reject(Object.assign(new Error(), { code: 'EROFS' })),
    );
    const { exitCode, stderr } = await once();
    expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
    expect(stderr).toContain('--once my.once: read-only file system (EROFS)');
  });

  test.skipIf(LACKS.fileModes || process.getuid?.() === 0)(
    'run --once: a read-only folder exits 2 and sends nothing',
    async () => {
      const { wfr, cwd, requests } = await prepareOnce();
      mkdirSync(join(cwd, 'sealed'));
      chmodSync(join(cwd, 'sealed'), 0o555);
      expect((await wfr(['run', 'w', '--once', 'sealed/my.once', 'a=1'])).exitCode).toBe(2);
      expect(requests).toEqual([]);
    },
  );

  test('run --once: no temporary file is left beside it', async () => {
    const { once, cwd } = await prepareOnce();
    await once();
    expect(readdirSync(cwd)).toEqual(['my.once']);
  });

  test('results: the file of run --once has one row', async () => {
    const { once, wfr } = await prepareOnce();
    await once();
    const { exitCode, stdout } = await wfr(['results', 'my.once']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^1 row: 1 finished\nBegan 20.*\n\nTo list the outputs: .*\nTo save the outputs: .*\n$/,
    );
  });

  test('results: the duration of a run that had ended before the next --once command read it is not known', async () => {
    const { once, wfr } = await prepareOnce();
    const durationOf = async () =>
      JSON.parse((await wfr(['results', 'my.once', '-o', 'jsonl'])).stdout).duration;
    await once(['a=1', '--detach']);
    await once(['a=1']);
    expect(await durationOf()).toBe(null);
    await once(['a=1', '--once', 'other.once']);
    const { stdout } = await wfr(['results', 'other.once', '-o', 'jsonl']);
    expect(typeof JSON.parse(stdout).duration).toBe('number');
  });

  test('results --report html: the file of run --once has the names of its inputs, and no value', async () => {
    const { once, wfr, cwd } = await prepareOnce();
    await once(['customer=a secret', 'n:=1']);
    await wfr(['results', 'my.once', '--report', 'html=r.html']);
    const page = readFileSync(join(cwd, 'r.html'), 'utf8');
    expect(readPageRows(page)).toMatchObject([{ id: 'run-1', inputs: 'customer, n' }]);
    expect(page).not.toContain('a secret');
  });

  test('run --once --dry-run: creates no file', async () => {
    const { once, path } = await prepareOnce();
    expect((await once(['a=1', '--dry-run'])).exitCode).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  test('run: the flags that settle a recorded run require --once', async () => {
    const { wfr, requests } = await prepareOnce();
    const { exitCode, stderr } = await wfr(['run', 'w', '--retry-failed', '--adopt', 'x']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--adopt requires --once <file>');
    expect(stderr).toContain('--retry-failed requires --once <file>');
    expect(requests).toEqual([]);
  });
});

const fails = (code: string) => () => Promise.reject(Object.assign(new Error(), { code }));

describe('run --once: a file system without hard links', () => {
  test('run --once: two processes that create the file at once trigger one run (fault 110)', async () => {
    for (let round = 0; round < 5; round++) {
      const { once, accepted, cwd } = await prepareOnce();
      replaceFunction(promises, 'link', fails('ENOSYS'));
      const results = await Promise.all([1, 2].map((pid) => once(['a=1'], { self: { pid } })));
      expect([...results.map(({ exitCode }) => exitCode), accepted.length]).toEqual([0, 0, 1]);
      expect(readdirSync(cwd)).toEqual(['my.once']);
    }
  });

  test('run --once: of a new file that a full disk cuts short nothing is left, and the same command sends', async () => {
    const { once, accepted, cwd } = await prepareOnce();
    replaceFunction(promises, 'link', fails('ENOSYS'));
    const restore = replaceFunction(promises, 'copyFile', fails('ENOSPC'));
    expect([(await once()).exitCode, readdirSync(cwd), accepted.length]).toEqual([2, [], 0]);
    restore();
    expect([(await once()).exitCode, accepted.length]).toEqual([0, 1]);
  });

  test('run --once: a file that another process has created and not yet written is waited for', async () => {
    const { once, path, accepted } = await prepareOnce();
    writeFileSync(path, '');
    const header = { event: 'batch', format: 3, shard: '1/1', salt: '0'.repeat(32) };
    const clock = new VirtualClock();
    const write = () =>
      writeFileSync(
        path,
        `${JSON.stringify({ ...header, workflow: 'w', baseUrl: 'http://127.0.0.1:1/' })}\n`,
      );
    clock.after(500, write);
    expect((await once([], { clock })).exitCode).toBe(0);
    expect(accepted.length).toBe(1);
  });
});

describe('run --once: a file system that hangs', () => {
  test('run --once: the result is printed although its end cannot be recorded, and a second signal ends wfr (fault 112)', async () => {
    const { once, path } = await prepareOnce();
    const { open } = promises;
    const signals = new Signals();
    replaceFunction(promises, 'open', async (opened, ...rest) => {
      const isHanging = opened === path && readFileSync(path, 'utf8').includes('"accepted"');
      return isHanging ? new Promise(() => {}) : open(opened, ...rest);
    });
    const { exitCode, stdout } = await once([], {
      signals,
      clock: realClock,
      onOutput: (_text, stream) => {
        if (stream !== 'stdout') return;
        signals.raise('SIGINT');
        signals.raise('SIGINT');
      },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '{\n  "total": 1\n}\n' });
  });

  test('run --once: a file that cannot be opened is waited for until the first signal', async () => {
    const { once, requests } = await prepareOnce();
    const signals = new Signals();
    replaceFunction(promises, 'lstat', () => {
      setImmediate(() => signals.raise('SIGTERM'));
      return new Promise<never>(() => {});
    });
    expect((await once([], { signals })).exitCode).toBe(143);
    expect(requests).toEqual([]);
  });
});

describe('run --once: two processes', () => {
  test('run --once: a second process waits for the first to be accepted, then watches the same run (fault 98)', async () => {
    const { once, state, accepted, posts } = await prepareOnce();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let onRequest = () => {};
    const requested = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    state.answers = [
      async (_request, reply) => {
        onRequest();
        await held;
        accepted.push({});
        reply.send(201, aRun({ id: 'run-1', status: 'PENDING' }));
      },
    ];
    const first = once(['a=1'], { self: { pid: 11 } });
    await requested;
    const second = once(['a=1'], {
      self: { pid: 22 },
      onOutput: (text) => {
        if (text.includes('Waiting for process 11 on test-host')) release();
      },
    });
    for (const { exitCode, stdout } of await Promise.all([first, second]))
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
    expect((await second).stderr).toContain('Ctrl-C sends nothing');
    expect(posts().length).toBe(1);
  });

  test('run --once: Ctrl-C while waiting for another process exits 130 and sends nothing', async () => {
    const { once, path, requests, state } = await prepareOnce();
    state.answers = [reject];
    await once();
    const before = requests.length;
    appendClaim(path, {});
    const signals = new Signals();
    const { exitCode, stderr } = await once(['a=1'], {
      signals,
      onOutput: (text) => {
        if (text.includes('Waiting for process 4242')) signals.raise('SIGINT');
      },
    });
    expect({ exitCode, sent: requests.length - before }).toEqual({ exitCode: 130, sent: 0 });
    expect(stderr).toMatch(/\nwfr: cancelled; nothing was sent\n$/);
  });

  test('run --once: the lock of a process that was killed is taken over', async () => {
    const { once, path, posts, state } = await prepareOnce();
    state.answers = [reject];
    await once();
    appendClaim(path, {});
    expect((await once(['a=1'], { self: { isAlive: () => false } })).exitCode).toBe(0);
    expect(posts().length).toBe(2);
  });

  test('run --once: a file that a process on another machine has locked exits 2 and names it', async () => {
    const { once, path, requests, state } = await prepareOnce();
    state.answers = [reject];
    await once();
    appendClaim(path, { host: 'elsewhere', space: 'other-boot pid:[1]' });
    const { exitCode, stderr } = await once(['a=1'], { clock: new VirtualClock() });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--once my.once: process 4242 on elsewhere is using it');
    expect(requests.length).toBe(1);
  });
});
