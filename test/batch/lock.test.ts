/** The lock of a results file: one process at a time, through any path; a replaced process stops. */
import {
  appendFileSync,
  copyFileSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  appendClaim,
  BATCH_ARGS,
  claimLine,
  eventNamesByRow,
  FINISHED_ROW,
  numberedRows,
  prepareBatch,
  readEvents,
  readLatestToken,
  startBatchService,
} from '../helpers/batch.js';
import { runCli, Signals } from '../helpers/cli.js';
import { realClock, VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const errorWithCode = (code: string) => Object.assign(new Error(code), { code });

const isDead = { isAlive: () => false };

describe('batch: the lock of a results file', () => {
  test('batch: a results file that another process has open exits 2 and names the process (fault 76)', async () => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    appendClaim(path, {});
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--results out.jsonl: process 4242 on test-host is using it');
    expect(stderr).toContain('copy the file and use the copy');
    expect(requests).toEqual([]);
  });

  test('batch: a symbolic link and a hard link share the lock of the file (fault 81)', async () => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    appendClaim(path, {});
    if (!LACKS.symlinks) symlinkSync('out.jsonl', join(cwd, 'symbolic.jsonl'));
    linkSync(path, join(cwd, 'hard.jsonl'));
    for (const name of LACKS.symlinks ? ['hard.jsonl'] : ['symbolic.jsonl', 'hard.jsonl']) {
      const { exitCode, stderr } = await wfr([...BATCH_ARGS.slice(0, 4), '--results', name], { cwd });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`--results ${name}: process 4242 on test-host is using it`);
    }
    expect(requests).toEqual([]);
  });

  test('batch: the lock of a process that has ended is taken over, and released at the end', async () => {
    const { cwd, path, wfr } = await prepareBatch(2);
    appendClaim(path, {});
    expect((await wfr(BATCH_ARGS, { cwd, self: isDead })).exitCode).toBe(0);
    const events = readEvents(path);
    expect(events[1]).toMatchObject({ event: 'open', after: '0badcafe' });
    expect(events.at(-1)).toMatchObject({ event: 'close', by: readLatestToken(path) });
    expect(readdirSync(cwd).sort()).toEqual(['out.jsonl', 'rows.jsonl']);
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
  });

  test('batch: the lock of another machine is never taken over, and does not apply to a copy of the file', async () => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    appendClaim(path, { host: 'elsewhere', space: 'other-boot pid:[1]' });
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd, self: isDead });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('process 4242 on elsewhere is using it');
    expect(requests).toEqual([]);
    copyFileSync(path, join(cwd, 'copy.jsonl'));
    expect((await wfr([...BATCH_ARGS.slice(0, 4), '--results', 'copy.jsonl'], { cwd })).exitCode).toBe(0);
  });

  test.each([
    ['although the device number of its file differs there', { space: 'other' }, {}],
    ['although neither says which process ids it has', { space: '' }, { space: '' }],
  ])('batch: the lock of another machine is not taken over, %s', async (_why, owner, self) => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    writeFileSync(path, '');
    appendClaim(path, { host: 'elsewhere', ...owner }, { file: `99:${statSync(path).ino}` });
    const { exitCode } = await wfr(BATCH_ARGS, { cwd, self: { ...isDead, ...self } });
    expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
  });

  test('batch: a copy of a results file whose owner is alive is not locked after 26 s without changes', async () => {
    const { cwd, path, wfr } = await prepareBatch(2);
    const clock = new VirtualClock();
    appendClaim(path, {});
    copyFileSync(path, join(cwd, 'copy.jsonl'));
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(2);
    expect((await wfr([...BATCH_ARGS.slice(0, 4), '--results', 'copy.jsonl'], { cwd, clock })).exitCode).toBe(
      0,
    );
    expect(clock.sleeps.slice(0, 13)).toEqual(Array(13).fill(2_000));
  });

  test("batch: an owner in another container counts as alive only while the file's modification time or size changes", async () => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    const clock = new VirtualClock();
    const time = new Date(clock.start);
    appendClaim(path, { host: 'a-container', pid: 1, space: 'test pid:[1]' });
    const changes = [
      () => utimesSync(path, time, time),
      () => {
        appendFileSync(path, '{"event":"close","by":"000000aa"}\n');
        // As on a file system with coarse times.
        utimesSync(path, time, time);
      },
    ];
    for (const change of changes) {
      clock.after(5_000, change);
      expect(await wfr(BATCH_ARGS, { cwd, clock })).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('process 1 on a-container is using it'),
      });
      expect(requests).toEqual([]);
    }
    expect((await wfr(BATCH_ARGS, { cwd, clock })).exitCode).toBe(0);
  });

  test.each([undefined, 'elsewhere:1'])(
    'batch: an owner whose heartbeat is seen late, as sshfs keeps attributes for 20 s, is not replaced (file %s)',
    async (file) => {
      const { cwd, path, wfr, requests } = await prepareBatch(2);
      const clock = new VirtualClock();
      appendClaim(path, {}, file === undefined ? {} : { file });
      clock.after(file === undefined ? 9_000 : 24_000, () =>
        utimesSync(path, new Date(), new Date(Date.now() + 60_000)),
      );
      const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd, clock, self: { isAlive: () => undefined } });
      expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
      expect(stderr).toContain('process 4242 on test-host is using it');
    },
  );

  test('batch: where the system does not say when a process started, an owner without a heartbeat is replaced', async () => {
    const { cwd, path, wfr } = await prepareBatch(2);
    const clock = new VirtualClock();
    appendClaim(path, {});
    const { exitCode } = await wfr(BATCH_ARGS, { cwd, clock, self: { isAlive: () => undefined } });
    expect({ exitCode, waited: clock.sleeps.slice(0, 5) }).toEqual({
      exitCode: 0,
      waited: Array(5).fill(2_000),
    });
  });

  test('batch: a new pod with the host name and process id of the one that was killed replaces it', async () => {
    const { cwd, path, wfr } = await prepareBatch(2);
    for (const space of ['test', 'test pid:[2]']) {
      appendClaim(path, { pid: 1, space, started: '10' });
      const self = { pid: 1, space: 'test', started: '999', isAlive: () => true };
      expect((await wfr(BATCH_ARGS, { cwd, self })).exitCode).toBe(0);
    }
  });

  test('batch: a process that was replaced does not release the file when it ends', async () => {
    const { cwd, path, wfr, requests } = await prepareBatch(2);
    appendClaim(path, { token: '000000aa' });
    appendClaim(path, {}, { after: '000000aa' });
    appendFileSync(path, '{"event":"close","by":"000000aa"}\n');
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, requests }).toEqual({ exitCode: 2, requests: [] });
    expect(stderr).toContain('process 4242 on test-host is using it');
  });

  test('batch: of two processes that start at once, one works and the other exits 2', async () => {
    for (let round = 0; round < 10; round++) {
      const { cwd, path, wfr, triggered } = await prepareBatch(3);
      writeFileSync(path, '');
      linkSync(path, join(cwd, 'other.jsonl'));
      const one = wfr(BATCH_ARGS, { cwd, self: { pid: 1 } });
      const two = wfr([...BATCH_ARGS.slice(0, 4), '--results', 'other.jsonl'], { cwd, self: { pid: 2 } });
      const exits = [(await one).exitCode, (await two).exitCode];
      // The second may start after the first one has ended; then it has nothing to do.
      expect([
        [0, 2],
        [2, 0],
        [0, 0],
      ]).toContainEqual(exits);
      expect(triggered).toHaveLength(3);
      expect(eventNamesByRow(path)).toEqual({ 1: FINISHED_ROW, 2: FINISHED_ROW, 3: FINISHED_ROW });
    }
  });

  test('batch: a partial line of a killed process is ignored, and no claim is lost', async () => {
    const { cwd, path, wfr, posts } = await prepareBatch(2);
    await wfr(BATCH_ARGS, { cwd });
    const whole = readFileSync(path, 'utf8');
    const cut = whole.indexOf('"ended"') + 20;
    writeFileSync(path, whole.slice(0, cut));
    expect((await wfr(BATCH_ARGS, { cwd, self: isDead })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
    const later = readFileSync(path, 'utf8').slice(cut);
    expect(later).toMatch(/^\n\{"event":"open".*"torn":true/);
    expect(later).toContain('"ended"');
    expect((await wfr(['results', 'out.jsonl'], { cwd })).stdout).toMatch(
      /^2 rows: 2 finished\nBegan 20.*\n\nTo list the outputs: .*\nTo save the outputs: .*\n$/,
    );
  });

  test('results: a partial line before a claim is ignored; anywhere else it exits 2 with its line number', async () => {
    const { cwd, path, wfr } = await prepareBatch(1);
    await wfr(BATCH_ARGS, { cwd });
    const whole = readFileSync(path, 'utf8');
    appendFileSync(path, '{"event":"se\n');
    appendClaim(path, {}, { torn: true });
    expect((await wfr(['results', 'out.jsonl'], { cwd })).exitCode).toBe(0);
    writeFileSync(path, whole.replace('{"event":"sent"', '{"event":"sent'));
    const { exitCode, stderr } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/out\.jsonl:\d: is not a line of a results file/);
  });
});

type Write = (data: Buffer) => Promise<{ bytesWritten: number; buffer: Buffer }>;

/** Changes the functions of results files that are opened from now on to be written. */
function changeFiles(change: (handle: promises.FileHandle, path: string) => void): void {
  const { open } = promises;
  replaceFunction(promises, 'open', async (path, flags, mode) => {
    const handle = await open(path, flags, mode);
    if (flags !== 'r' && String(path).endsWith('out.jsonl')) change(handle, String(path));
    return handle;
  });
}

/** Replaces how files write that are opened from now on; `write` is a file's own function. */
function replaceWrites(replaced: (data: Buffer, write: Write, path: string) => ReturnType<Write>): void {
  changeFiles((handle, path) => {
    const write = handle.write.bind(handle) as Write;
    handle.write = ((data: Buffer) => replaced(data, write, path)) as typeof handle.write;
  });
}

describe('batch: a process that has lost its results file', () => {
  /** Runs a batch in which `onFirstPost` is called when the first row has been sent. Its run does not end by default. */
  async function runInterruptedBatch(
    onFirstPost: (path: string, cwd: string) => void,
    { rows = 5, onPoll }: { rows?: number; onPoll?: Handler } = { onPoll: () => {} },
  ) {
    const cwd = folderWith({ 'rows.jsonl': numberedRows(rows) });
    const path = join(cwd, 'out.jsonl');
    let count = 0;
    // Called for complete requests; one that is held back may have sent its head.
    const { wfr } = await startBatchService((_request, reply) => {
      if (++count === 1) onFirstPost(path, cwd);
      reply.send(201, aRun({ id: `run-${count}` }));
    }, onPoll);
    const result = await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd });
    return { cwd, path, completePosts: count, ...result };
  }

  test('batch: after another process has taken the file over, no further row is sent and wfr exits 74', async () => {
    const { path, exitCode, stderr, completePosts } = await runInterruptedBatch((path) =>
      appendClaim(path, {}, { after: readLatestToken(path) }),
    );
    expect(completePosts).toBe(1);
    expect(exitCode).toBe(74);
    expect(stderr).toContain('cannot write out.jsonl: process 4242 on test-host has taken it over');
    expect(stderr).toContain('In progress when it stopped: rows.jsonl:1 (run-1).');
    // The claim is noticed after this line, and nothing is written any more.
    expect(readEvents(path).at(-1)).toMatchObject({ event: 'accepted', row: 1 });
  });

  test('batch: a claim right after a line of the owner is noticed with that line', async () => {
    let isClaimed = false;
    replaceWrites(async (data, write, path) => {
      const written = await write(data);
      if (!isClaimed && data.includes('"accepted"')) {
        isClaimed = true;
        appendClaim(path, {}, { after: readLatestToken(path) });
      }
      return written;
    });
    const { exitCode, stderr, completePosts } = await runInterruptedBatch(() => {});
    expect({ exitCode, completePosts }).toEqual({ exitCode: 74, completePosts: 1 });
    expect(stderr).toContain('cannot write out.jsonl: process 4242 on test-host has taken it over');
  });

  test.each([1, 20, 60])(
    'batch: a claim of which only %i bytes are there at first is noticed once it is complete',
    async (bytes) => {
      const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
      const path = join(cwd, 'out.jsonl');
      let polls = 0;
      let rest = '';
      const { wfr } = await startBatchService(
        (_request, reply) => reply.send(201, aRun({ id: 'run-1' })),
        (_request, reply) => {
          polls++;
          if (polls === 1) {
            const claim = claimLine(path, {}, { after: readLatestToken(path) });
            appendFileSync(path, claim.slice(0, bytes));
            rest = claim.slice(bytes);
          }
          // By then, the file has been looked at several times.
          if (polls === 20) appendFileSync(path, rest);
          reply.send(200, { ...(polls > 20 ? aFinishedRun() : aRun()), id: 'run-1' });
        },
      );
      const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
      expect(exitCode).toBe(74);
      expect(stderr).toContain('cannot write out.jsonl: process 4242 on test-host has taken it over');
    },
  );

  test('batch: a request is not completed if the file was taken over before its row was saved as sent (fault 82)', async () => {
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const path = join(cwd, 'out.jsonl');
    const { wfr, posts } = await startBatchService((_request, reply) => {
      appendClaim(path, {}, { after: readLatestToken(path) });
      reply.send(429, { message: 'later' }, { 'retry-after': '1' });
    });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(74);
    const bodies = await Promise.all(posts().map((request) => request.body()));
    const whole = bodies.filter(
      (body, index) => body.length === Number(posts()[index]?.headers['content-length']),
    );
    expect(whole).toHaveLength(1);
  });

  test('batch: a claim that comes too late does not affect the owner', async () => {
    const { exitCode, completePosts } = await runInterruptedBatch(
      (path) => appendClaim(path, {}, { after: '00000000' }),
      { rows: 2 },
    );
    expect(exitCode).toBe(0);
    expect(completePosts).toBe(2);
  });

  test.for<[string, (path: string, cwd: string) => void, string, boolean?]>([
    ['renamed', (path) => renameSync(path, `${path}.old`), 'it was removed or renamed'],
    ['removed', (path) => rmSync(path), 'it was removed or renamed', LACKS.removalOfOpenFiles],
    [
      'replaced',
      (path, cwd) => {
        copyFileSync(path, join(cwd, 'new'));
        renameSync(join(cwd, 'new'), path);
      },
      'it was replaced by another file',
      LACKS.removalOfOpenFiles,
    ],
    ['truncated', (path) => truncateSync(path, 10), 'it was truncated by another program'],
  ])(
    'batch: a results file that is %s exits 74 and lists the rows in progress',
    async ([_how, onFirstPost, reason, isImpossible], { skip }) => {
      skip(isImpossible === true);
      const { exitCode, stderr, completePosts } = await runInterruptedBatch(onFirstPost);
      expect(completePosts).toBe(1);
      expect(exitCode).toBe(74);
      expect(stderr).toContain(`cannot write out.jsonl: ${reason}`);
      expect(stderr).toContain('In progress when it stopped: rows.jsonl:1 (run-1).');
    },
  );

  test('batch: a results file that is removed while runs are only watched exits 74 (fault 83)', async () => {
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const path = join(cwd, 'out.jsonl');
    // Where a file that is open cannot be removed, it can be moved.
    const remove = () => (LACKS.removalOfOpenFiles ? renameSync(path, `${path}.old`) : rmSync(path));
    let polls = 0;
    const { baseUrl } = await scriptedService((request, reply) => {
      if (request.method === 'GET' && ++polls === 3) remove();
      reply.send(200, aRun());
    });
    const { exitCode, stderr } = await runCli(BATCH_ARGS, { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(exitCode).toBe(74);
    expect(polls).toBeLessThan(50);
    expect(stderr).toContain('it was removed or renamed');
  });

  test('batch: the rest of a line is not written after the claim of another process', async () => {
    let isClaimed = false;
    replaceWrites(async (data, write, path) => {
      if (isClaimed || !data.includes('"ended"')) return write(data);
      isClaimed = true;
      const written = await write(data.subarray(0, data.indexOf('"ended"')));
      const claim = claimLine(path, {}, { after: readLatestToken(path), torn: true });
      appendFileSync(path, `\n${claim}`);
      return written;
    });
    const { cwd, path, exitCode } = await runInterruptedBatch(() => {}, {
      rows: 1,
      onPoll: (request, reply) =>
        reply.send(200, { ...aFinishedRun(), id: request.path.split('/').at(-1) ?? '' }),
    });
    expect(exitCode).toBe(74);
    expect((await runCli(['results', path], { cwd })).exitCode).toBe(8);
  });

  test('batch: with results on a file system that hangs, a second signal ends wfr and names the run', async () => {
    const signals = new Signals();
    replaceWrites(async (data, write) => {
      if (!data.includes('"accepted"')) return write(data);
      signals.raise('SIGINT');
      signals.raise('SIGINT');
      return new Promise(() => {});
    });
    const { cwd, wfr } = await prepareBatch(1);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd, signals, clock: realClock });
    expect(exitCode).toBe(130);
    expect(stderr).toContain('rows.jsonl:1  running  run-1  interrupted\n');
    expect(stderr).toContain('cannot write out.jsonl: the disk does not respond');
  });

  test('batch: a claim that follows the partial line of a killed process is made again, and both are readable', async () => {
    const { cwd, path, wfr, triggered } = await prepareBatch(1);
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    let isTorn = false;
    replaceWrites(async (data, write) => {
      if (!isTorn) appendFileSync(path, '{"event":"op');
      isTorn = true;
      return write(data);
    });
    for (const args of [BATCH_ARGS, BATCH_ARGS, ['results', path]])
      expect(await wfr(args, { cwd })).toMatchObject({ exitCode: 0 });
    expect(triggered).toHaveLength(1);
  });

  test('batch: a request whose row is not on disk as sent is not completed, and its row waits', async () => {
    changeFiles((handle, path) => {
      handle.datasync = async () => {
        if (readFileSync(path, 'utf8').includes('"sent"')) throw errorWithCode('EIO');
      };
    });
    const { cwd, wfr, triggered } = await prepareBatch(1);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, triggered }).toEqual({ exitCode: 74, triggered: [] });
    expect(stderr).toContain('1 row: 1 waiting');
  });

  test('batch: an error of the disk that closing the file reports exits 74', async () => {
    changeFiles((handle) => {
      const close = handle.close.bind(handle);
      handle.close = async () => {
        await close();
        throw errorWithCode('EIO');
      };
    });
    const { cwd, wfr } = await prepareBatch(1);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect(exitCode).toBe(74);
    expect(stderr).toContain('cannot write out.jsonl: ');
  });

  test('batch: a results file whose times must not be set is written like any other', async () => {
    changeFiles((handle) => {
      handle.utimes = () => Promise.reject(errorWithCode('EPERM'));
    });
    const { cwd, wfr } = await prepareBatch(1);
    const { exitCode, clock } = await wfr(BATCH_ARGS, { cwd });
    expect(exitCode).toBe(0);
    expect(clock.monotonic()).toBeGreaterThan(2_000);
  });

  test('batch: a line that another program leaves incomplete ends the batch with exit 74', async () => {
    replaceWrites(async (data, write, path) => {
      if (data.includes('"sent"')) appendFileSync(path, '{"event":');
      return write(data);
    });
    const { cwd, wfr, triggered } = await prepareBatch(1);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, triggered }).toEqual({ exitCode: 74, triggered: [] });
    expect(stderr).toContain('cannot write out.jsonl: another program is writing to it');
  });

  test.each<[string, (path: string) => void, string]>([
    ['that is invalid', (path) => appendFileSync(path, 'no event\n'), 'is not a line'],
    ['of another workflow', () => {}, 'belongs to a batch with the workflow'],
  ])('batch: a results file %s is released, and no timer goes on', async (_which, change, problem) => {
    const { cwd, path, wfr } = await prepareBatch(1);
    await wfr(BATCH_ARGS, { cwd });
    change(path);
    const args = BATCH_ARGS.map((arg) => (arg === 'w' && problem.includes('workflow') ? 'other' : arg));
    const { exitCode, stderr, clock } = await wfr(args, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(problem) });
    expect(readFileSync(path, 'utf8').trimEnd().split('\n').at(-1)).toContain('"close"');
    expect(clock.pending).toBe(0);
  });

  test('batch: events that a process wrote after it was replaced are ignored, except ids', async () => {
    const { cwd, path, wfr, posts } = await prepareBatch(3);
    const lines = (...events: Record<string, unknown>[]) =>
      appendFileSync(
        path,
        events.map((event) => `${JSON.stringify({ time: '2026-01-02', ...event })}\n`).join(''),
      );
    expect((await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    const [, head] = readEvents(path);
    const begun = ['recorded', 'present', 'intent'];
    const intents = readEvents(path).filter(({ event }) => begun.includes(event));
    writeFileSync(path, '');
    appendClaim(path, { token: '000000aa' });
    lines({ ...head, by: '000000aa' }, ...intents.map((intent) => ({ ...intent, by: '000000aa' })));
    lines({ event: 'sent', row: 1, by: '000000aa' });
    appendClaim(path, { token: '000000bb' }, { after: '000000aa' });
    lines({ event: 'sent', row: 2, by: '000000bb' }, { event: 'sent', row: 3, by: '000000aa' });
    // Row 2 belongs to the new owner; the old owner's event would cause a second request.
    lines({ event: 'refused', row: 2, code: 'not-triggered', reason: 'r', by: '000000aa' });
    lines({ event: 'accepted', row: 1, id: 'run-1', by: '000000aa' });
    const before = posts().length;
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd, self: isDead });
    expect(exitCode).toBe(6);
    expect(stderr).toContain('3 rows: 2 finished, 1 unknown');
    expect(posts().slice(before)).toHaveLength(1);
    expect(JSON.parse((await posts()[before]?.body())?.toString() ?? '').inputs).toEqual({ n: 3 });
  });
});
