/** Faults of this machine: files, streams, terminals. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { bash, startWfr } from '../helpers/process.js';
import { acceptsAndShows, aFinishedRun, scriptedService } from '../helpers/service.js';

async function service(output: unknown = { total: 1 }) {
  const scripted = await scriptedService(acceptsAndShows(aFinishedRun(output)));
  return { ...scripted, env: { WFR_BASE_URL: scripted.baseUrl } };
}

const FAST = '--interval 20ms';

describe('50: files that cannot be sent', () => {
  test.each([
    ['missing', 'x@missing.pdf', 'missing.pdf: no such file (ENOENT)'],
    ['a folder', 'x@folder;type=a/b', 'folder: it is a directory (EISDIR)'],
    ['a circle of links', 'x@circle.pdf', 'circle.pdf: its symbolic links go in a circle (ELOOP)'],
    ['a dangling link', 'x@dangling.pdf', 'dangling.pdf: no such file (ENOENT)'],
    ['below a file', 'x@file.pdf/x.pdf', 'file.pdf/x.pdf: a part of the path is not a directory (ENOTDIR)'],
    ['a text that is a folder', 'x=@folder', 'folder: it is a directory (EISDIR)'],
    ['a name that is too long', `x@${'n'.repeat(300)}.pdf`, 'the name is too long (ENAMETOOLONG)'],
  ])('50: %s: the path and the reason, before anything connects', async (_name, item, words) => {
    const { env, connections } = await service();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'file.pdf'), 'x');
    symlinkSync('circle.pdf', join(cwd, 'circle.pdf'));
    symlinkSync('nowhere', join(cwd, 'dangling.pdf'));
    const { exitCode, stderr } = await runCli(['run', 'w', item], { env, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(words);
    expect(connections()).toBe(0);
  });

  test('50: unreadable', async () => {
    const { env, connections } = await service();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'secret.pdf'), 'x');
    chmodSync(join(cwd, 'secret.pdf'), 0);
    chmodSync(cwd, 0o755);
    // Root reads everything; somebody else does not.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@secret.pdf'], { env, cwd }).finally(
      () => isRoot && process.seteuid?.(0),
    );
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('secret.pdf: permission denied (EACCES)'),
    });
    expect(connections()).toBe(0);
  });
});

describe('51, 52: files without a size', () => {
  test('51: an empty file is sent as an empty document, with a warning', async () => {
    const { env, requests } = await service();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'empty.pdf'), '');
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@empty.pdf'], { env, cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toContain('warning: x@empty.pdf: the document is empty (0 bytes)\n');
    expect(String(await requests[0]?.body())).toContain('"x":"data:application/pdf;base64,"');
  });

  test.each([
    ['a FIFO', 'mkfifo pipe; (printf hello > pipe &); wfr run w "x@pipe;type=a/b" --detach', 'aGVsbG8='],
    ['standard input', 'printf hello | wfr run w "x@-;type=a/b" --detach', 'aGVsbG8='],
    [
      'a file of /proc',
      'wfr run w "x@/proc/self/comm;type=a/b" --detach',
      Buffer.from('node\n').toString('base64'),
    ],
    ['a process substitution', 'wfr run w x@<(printf hello)";type=a/b" --detach', 'aGVsbG8='],
  ])('52: %s is sent whole', async (_name, line, base64) => {
    const { env, requests } = await service();
    const { exitCode, stderr } = await bash(line, env, { cwd: temporaryFolder() });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.any(String) });
    const body = String(await requests[0]?.body());
    if (line.includes('/proc')) expect(body).toMatch(/"data:a\/b;base64,[\w+/]+=*"/);
    else expect(body).toContain(`"data:a/b;base64,${base64}"`);
    expect(requests[0]?.headers['content-length']).toBe(String(body.length));
  });

  test('52: no space for the copy is exit 2, and nothing is sent', async () => {
    const { env, connections } = await service();
    const { exitCode, stderr } = await bash('printf hello | TMPDIR=/proc wfr run w "x@-;type=a/b"', env);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('standard input could not be copied to /proc: ');
    expect(connections()).toBe(0);
  });
});

describe('55: a disk that fails', () => {
  test('55: in the middle of a document: the path and the code, and no run', async () => {
    const { env, posts } = await service();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'x.pdf'), Buffer.alloc(9_000_000));
    const handle = await open(join(cwd, 'x.pdf'));
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    let reads = 0;
    const { read } = prototype;
    const broken = vi.spyOn(prototype, 'read').mockImplementation(function (
      this: typeof handle,
      ...args: unknown[]
    ) {
      if (reads++ === 4) return Promise.reject(Object.assign(new Error(), { code: 'EIO' }));
      return Reflect.apply(read, this, args);
    } as never);
    onTestFinished(() => broken.mockRestore());
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@x.pdf'], { env, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'x.pdf cannot be read: the disk reported an input/output error (EIO); no run was created',
    );
    const [request] = posts();
    expect(request?.received).toBeLessThan(Number(request?.headers['content-length']));
    expect(posts().length).toBe(1);
  });

  test('55: before anything is sent, as /proc/self/mem does', async () => {
    const { env, connections } = await service();
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@/proc/self/mem;type=a/b'], { env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('(EIO)');
    expect(connections()).toBe(0);
  });
});

describe('standard output', () => {
  test('67: head -c 1 ends the output, not the exit code', async () => {
    const { env } = await service('x'.repeat(3_000_000));
    const { stdout, stderr } = await bash(`wfr run w ${FAST} | head -c 1; echo " $PIPESTATUS"`, env);
    expect(stdout).toBe('" 0\n');
    expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
  });

  test('67: a reader that goes away while the run is watched does not end the watching', async () => {
    const { env, requests } = await service();
    const { stdout } = await bash(
      `wfr run w ${FAST} -o jsonl | head -c 1 >/dev/null; echo "$PIPESTATUS"`,
      env,
    );
    expect(stdout).toBe('0\n');
    expect(requests.length).toBe(2);
  });

  test('68: a closed one is no fault', async () => {
    const { env } = await service();
    expect((await bash(`wfr run w ${FAST} >&-`, env)).exitCode).toBe(0);
  });

  test('69: a full disk is 74, with the id', async () => {
    const { env, posts } = await service();
    for (const format of ['text', 'json', 'jsonl', 'id']) {
      const { exitCode, stderr } = await bash(`wfr run w ${FAST} -o ${format} > /dev/full`, env);
      expect(exitCode).toBe(74);
      expect(stderr).toContain('wfr: cannot write the result: no space left on the disk (ENOSPC)\n');
      expect(stderr).toContain('To watch it: wfr watch run-1\n');
    }
    expect((await bash(`wfr run w --detach > /dev/full`, env)).exitCode).toBe(74);
    expect((await bash(`wfr --help > /dev/full`, env)).exitCode).toBe(74);
    expect(posts().length).toBe(5);
  });

  test('71: a slow reader gets all 10 MB', async () => {
    const { env } = await service('y'.repeat(10_000_000));
    const { stdout } = await bash(`wfr run w ${FAST} 2>/dev/null | (read -rt 0.3 <> <(:); wc -c)`, env);
    expect(stdout.trim()).toBe('10000003');
  });

  test('71: in process, each write waits for the last', async () => {
    const { env } = await service('z'.repeat(1_000_000));
    let pending = 0;
    let most = 0;
    let total = 0;
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        total += chunk.length;
        setImmediate(callback);
      },
    });
    const write = stdout.write.bind(stdout);
    stdout.write = ((chunk: Buffer, done: () => void) => {
      most = Math.max(most, ++pending);
      return write(chunk, () => {
        pending--;
        done();
      });
    }) as never;
    expect((await runCli(['run', 'w'], { env, stdout })).exitCode).toBe(0);
    expect({ most, total }).toEqual({ most: 1, total: 1_000_003 });
  });
});

describe('standard error', () => {
  test('70: closed, or its reader gone, the run goes on', async () => {
    const { env } = await service();
    for (const redirect of ['2>&-', '2>/dev/full', '2> >(head -n1 >/dev/null)']) {
      expect(await bash(`wfr run w -v ${FAST} ${redirect}`, env)).toMatchObject({
        exitCode: 0,
        stdout: '{\n  "total": 1\n}\n',
      });
    }
  });
});

describe('where there is nobody', () => {
  test('77: nothing waits for input', async () => {
    const { env } = await service();
    // A pipe that never ends would hold up whoever reads it.
    const wfr = startWfr(['run', 'w', '--interval', '20ms'], env, { stdio: ['pipe', 'pipe', 'pipe'] });
    expect((await wfr.ended).exitCode).toBe(0);
  });

  test.each([
    ['TERM=dumb', { TERM: 'dumb' }],
    ['CI', { CI: 'true', TERM: 'xterm' }],
    ['a terminal without a size', { TERM: 'xterm' }, 0],
  ] as [string, Record<string, string>, number?][])(
    '78: %s gets plain lines, without a spinner',
    async (_name, extra, columns = 80) => {
      const { env } = await service();
      const { stderr, exitCode } = await runCli(['run', 'w', '--color', 'never'], {
        env: { ...env, ...extra },
        terminal: columns,
      });
      expect(exitCode).toBe(0);
      expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      expect(stderr).toContain('2026-01-02T03:04:05Z PENDING  0 of 4 steps\n');
    },
  );

  test('78: NO_COLOR leaves the live line and takes the colours', async () => {
    const { env } = await service();
    const { stderr } = await runCli(['run', 'w'], {
      env: { ...env, NO_COLOR: '1', TERM: 'xterm' },
      terminal: 80,
    });
    expect(stderr).toContain('PENDING  0 of 4 steps');
    expect(stderr).not.toMatch(/\u001b\[[0-9;]*m/);
    // The cursor comes back.
    expect(stderr.lastIndexOf('\u001b[?25h')).toBeGreaterThan(stderr.lastIndexOf('\u001b[?25l'));
  });

  test('78: colours on a terminal, or when they are asked for', async () => {
    const { env } = await service();
    const colored = (world: Parameters<typeof runCli>[1], ...flags: string[]) =>
      runCli(['run', 'w', '--detach', ...flags], { ...world, env: { ...env, ...world?.env } }).then(
        ({ stderr }) => stderr.includes('\u001b[1m'),
      );
    expect(await colored({ terminal: 80, env: { TERM: 'xterm' } })).toBe(true);
    expect(await colored({})).toBe(false);
    expect(await colored({ env: { FORCE_COLOR: '1' } })).toBe(true);
    expect(await colored({ env: { FORCE_COLOR: '0' }, terminal: 80 })).toBe(false);
    expect(await colored({}, '--color', 'always')).toBe(true);
    expect(await colored({ terminal: 80 }, '--color=never')).toBe(false);
  });

  test('no HOME and a working folder that cannot be written to are no fault', async () => {
    const { env } = await service();
    const { exitCode } = await bash(`env -u HOME wfr run w ${FAST}`, env, { cwd: '/proc' });
    expect(exitCode).toBe(0);
  });

  test('75: a document needs one open file at a time', async () => {
    const { env, requests } = await service();
    const cwd = temporaryFolder();
    const items = Array.from({ length: 200 }, (_, n) => `d${n}@${n}.pdf`);
    for (let n = 0; n < 200; n++) writeFileSync(join(cwd, `${n}.pdf`), `document ${n}`);
    const { exitCode } = await bash(`ulimit -n 40; wfr run w ${items.join(' ')} --detach`, env, { cwd });
    expect(exitCode).toBe(0);
    const { inputs } = JSON.parse(String(await requests[0]?.body()));
    expect(Buffer.from(inputs.d199.split(',')[1], 'base64').toString()).toBe('document 199');
  });
});
