/** Faults of this machine: files, streams, terminals. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { bash, startWfr } from '../helpers/process.js';
import { acceptThenShow, aFinishedRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

async function startService(output: unknown = { total: 1 }) {
  const service = await scriptedService(acceptThenShow(aFinishedRun(output)));
  return { ...service, env: { WFR_BASE_URL: service.baseUrl } };
}

const FAST = '--interval 20ms';

describe('run: files that cannot be read', () => {
  test.for<[string, string, string]>([
    ['a missing document', 'x@missing.pdf', 'missing.pdf: no such file (ENOENT)'],
    [
      'a document that is a folder',
      'x@folder;type=a/b',
      'folder: it is a folder (EISDIR); wfr batch --each takes folders',
    ],
    ['a circular symbolic link', 'x@circle.pdf', 'circle.pdf: too many symbolic links encountered (ELOOP)'],
    ['a dangling symbolic link', 'x@dangling.pdf', 'dangling.pdf: no such file (ENOENT)'],
    [
      'a document below a file',
      'x@file.pdf/x.pdf',
      'file.pdf/x.pdf: a part of the path is not a folder (ENOTDIR)',
    ],
    [
      'a text that is a folder',
      'x@=folder',
      'folder: it is a folder (EISDIR); wfr batch --each takes folders',
    ],
    ['a file name that is too long', `x@${'n'.repeat(300)}.pdf`, 'name too long (ENAMETOOLONG)'],
  ])(
    'run: %s exits 2 with the path and the reason, before any connection (fault 50)',
    async ([name, item, message], { skip }) => {
      skip(LACKS.symlinks && name.includes('symbolic link'));
      skip(LACKS.pathErrors && /below a file|too long/.test(name));
      const { env, connections } = await startService();
      const cwd = temporaryFolder();
      mkdirSync(join(cwd, 'folder'));
      writeFileSync(join(cwd, 'file.pdf'), 'x');
      if (!LACKS.symlinks) {
        symlinkSync('circle.pdf', join(cwd, 'circle.pdf'));
        symlinkSync('nowhere', join(cwd, 'dangling.pdf'));
      }
      const { exitCode, stderr } = await runCli(['run', 'w', item], { env, cwd });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`${message}\n`);
      expect(connections()).toBe(0);
    },
  );

  test.skipIf(LACKS.fileModes)(
    'run: a document without read permission exits 2 before any connection (fault 50)',
    async () => {
      const { env, connections } = await startService();
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'secret.pdf'), 'x');
      chmodSync(join(cwd, 'secret.pdf'), 0);
      chmodSync(cwd, 0o755);
      // Root may read every file, so root changes to another user.
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
    },
  );
});

describe.skipIf(LACKS.bash)('--report: descriptors that the shell has opened', () => {
  test.for<[string, string]>([
    ['/dev/stdout', '>> log'],
    ['/dev/fd/1', '> log'],
    ['/proc/self/fd/1', '>> log'],
    ['link', '>> log'],
    ['/dev/fd/7', '7>> log >&7'],
  ])(
    '--report: %s is written after the output, and never truncates the file (fault 74)',
    async ([path, redirection], { skip }) => {
      skip(LACKS.procfs && path.startsWith('/proc/'));
      const { env } = await startService();
      const cwd = temporaryFolder();
      const line = `echo before > log; ln -s /dev/stdout link; { echo first; wfr run w a=b ${FAST} --report markdown=${path}; } ${redirection}; cat log`;
      const { stdout } = await bash(line, env, { cwd });
      expect(stdout).toMatch(/^(before\n)?first\n\{\n {2}"total": 1\n\}\n\| Run \|.*\n.*\n\| run-1 \|.*\n$/);
      expect(readdirSync(cwd).sort()).toEqual(['link', 'log']);
    },
  );

  test('--report: a descriptor that was opened for reading exits 2, and nothing is sent (fault 72)', async () => {
    const { env, connections } = await startService();
    const line = 'echo before > log; wfr run w a=b --report json=/dev/fd/7 7< log; echo $?; cat log';
    const { stdout, stderr } = await bash(line, env, { cwd: temporaryFolder() });
    expect(stdout).toBe('2\nbefore\n');
    expect(stderr).toContain('--report json=/dev/fd/7: ');
    expect(connections()).toBe(0);
  });
});

describe('run: files whose size is zero or unknown', () => {
  test('run: an empty file is sent as an empty document, with a warning (fault 51)', async () => {
    const { env, requests } = await startService();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'empty.pdf'), '');
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@empty.pdf'], { env, cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toContain('warning: x@empty.pdf: the document is empty (0 bytes)\n');
    expect(String(await requests[0]?.body())).toContain('"x":"data:application/pdf;base64,"');
  });

  test.skipIf(LACKS.bash).for<[string, string, string]>([
    ['a FIFO', 'mkfifo pipe; (printf hello > pipe &); wfr run w "x@pipe;type=a/b" --detach', 'aGVsbG8='],
    ['standard input', 'printf hello | wfr run w "x@-;type=a/b" --detach', 'aGVsbG8='],
    [
      'a file of /proc',
      'wfr run w "x@/proc/self/comm;type=a/b" --detach',
      Buffer.from('node\n').toString('base64'),
    ],
    ['a process substitution', 'wfr run w x@<(printf hello)";type=a/b" --detach', 'aGVsbG8='],
  ])('run: %s is sent completely (fault 52)', async ([_name, line, base64], { skip }) => {
    skip(LACKS.procfs && line.includes('/proc'));
    const { env, requests } = await startService();
    const { exitCode, stderr } = await bash(line, env, { cwd: temporaryFolder() });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.any(String) });
    const body = String(await requests[0]?.body());
    if (line.includes('/proc')) expect(body).toMatch(/"data:a\/b;base64,[\w+/]+=*"/);
    else expect(body).toContain(`"data:a/b;base64,${base64}"`);
    expect(requests[0]?.headers['content-length']).toBe(String(body.length));
  });

  test.skipIf(LACKS.procfs || !existsSync('/sys/class/net/lo/mtu'))(
    'run: a file of /sys that reports 4096 bytes is sent with its actual content (fault 52)',
    async () => {
      const { env, requests } = await startService();
      const args = ['run', 'w', 'x@/sys/class/net/lo/mtu;type=a/b', 'y@=/sys/class/net/lo/mtu', '--detach'];
      expect(await runCli(args, { env })).toMatchObject({ exitCode: 0 });
      const mtu = readFileSync('/sys/class/net/lo/mtu');
      expect(JSON.parse(String(await requests[0]?.body())).inputs).toEqual({
        x: `data:a/b;base64,${mtu.toString('base64')}`,
        y: mtu.toString(),
      });
    },
  );

  test.skipIf(LACKS.bash)(
    'run: standard input that cannot be copied to TMPDIR exits 2, and nothing is sent (fault 52)',
    async () => {
      const { env, connections } = await startService();
      const { exitCode, stderr } = await bash('printf hello | TMPDIR=/proc wfr run w "x@-;type=a/b"', env);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('standard input cannot be copied to /proc: ');
      expect(connections()).toBe(0);
    },
  );
});

describe('run: a disk that fails', () => {
  test('run: EIO in the middle of a document exits 2 with the path and the code, and creates no run (fault 55)', async () => {
    const { env, posts } = await startService();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'x.pdf'), Buffer.alloc(9_000_000));
    await failReads(join(cwd, 'x.pdf'), (position) => position === 3 * 1536 * 1024);
    const { exitCode, stderr } = await runCli(['run', 'w', 'x@x.pdf'], { env, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'x.pdf cannot be read: the disk reported an input/output error (EIO); no run was created',
    );
    const [request] = posts();
    expect(request?.received).toBeLessThan(Number(request?.headers['content-length']));
    expect(posts().length).toBe(1);
  });

  test('run: a document is sent unchanged although the file system returns fewer bytes than asked for', async () => {
    const { env, posts } = await startService();
    const cwd = temporaryFolder();
    const content = randomBytes(4_000_000);
    writeFileSync(join(cwd, 'x.pdf'), content);
    await replaceReads(join(cwd, 'x.pdf'), (read, [into, offset, length, position]) =>
      read(into, offset, Math.min(length, 700_000), position),
    );
    expect((await runCli(['run', 'w', 'x@x.pdf'], { env, cwd })).exitCode).toBe(0);
    const { inputs } = JSON.parse(String(await posts()[0]?.body()));
    expect(inputs.x === `data:application/pdf;base64,${content.toString('base64')}`).toBe(true);
  });

  test.skipIf(LACKS.procfs)(
    'run: EIO at the beginning of a document exits 2 before any connection (fault 55)',
    async () => {
      const { env, connections } = await startService();
      const { exitCode, stderr } = await runCli(['run', 'w', 'x@/proc/self/mem;type=a/b'], { env });
      expect(exitCode).toBe(2);
      expect(stderr).toContain('(EIO)');
      expect(connections()).toBe(0);
    },
  );
});

describe('tables and inputs that cannot be read or copied', () => {
  const TABLE = 'printf "%s\\n" n {1..30000}';
  const IO_ERROR = 'the disk reported an input/output error (EIO)';

  test.skipIf(LACKS.bash).for<[string, string, string]>([
    [
      'batch: a table from standard input with a missing TMPDIR',
      'echo n | TMPDIR=/nowhere wfr batch w --rows - --check',
      '--rows standard input cannot be copied to /nowhere: no such file (ENOENT); set TMPDIR to',
    ],
    [
      'batch: a table from standard input with a TMPDIR that is a file',
      'echo n | TMPDIR=/dev/null wfr batch w --rows - --check',
      '--rows standard input cannot be copied to /dev/null: a part of the path is not a folder (ENOTDIR)',
    ],
    [
      'batch: a table from a FIFO with a missing TMPDIR',
      'mkfifo pipe; (echo n > pipe &); TMPDIR=/nowhere wfr batch w --rows pipe --check',
      '--rows pipe cannot be copied to /nowhere: no such file (ENOENT)',
    ],
    [
      'batch: a table from standard input whose copy exceeds the file size limit',
      `ulimit -f 64; ${TABLE} | TMPDIR=$PWD wfr batch w --rows - --check`,
      'file too large (EFBIG)',
    ],
    [
      'batch: a table that fails with EIO',
      'wfr batch w --rows /proc/self/mem --check',
      `/proc/self/mem: ${IO_ERROR}`,
    ],
    [
      'run: a document in a removed working folder',
      'mkdir gone; cd gone; rmdir ../gone; wfr run w x@scan.pdf',
      'scan.pdf: is a relative path, and the working folder no longer exists; give an absolute path',
    ],
    [
      'batch: a document of a table from standard input in a removed working folder',
      'mkdir gone; cd gone; rmdir ../gone; printf "d@\\nscan.pdf\\n" | wfr batch w --rows - --check',
      'standard input:2: d@scan.pdf: is a relative path, and the working folder no longer exists',
    ],
    [
      'batch: a results file in a removed working folder',
      'mkdir gone; cd gone; rmdir ../gone; echo n | wfr batch w --rows - --results out.jsonl',
      'out.jsonl: is a relative path, and the working folder no longer exists',
    ],
    [
      'run: --save-documents in a removed working folder',
      'mkdir gone; cd gone; rmdir ../gone; wfr run w a=b --save-documents out',
      'out: is a relative path, and the working folder no longer exists',
    ],
    [
      'sandbox: --workflows in a removed working folder',
      'mkdir gone; cd gone; rmdir ../gone; wfr sandbox --workflows w.json',
      'w.json: is a relative path, and the working folder no longer exists',
    ],
  ])('%s exits 2 with the path and the reason (fault 89)', async ([_name, line, message], { skip }) => {
    skip(LACKS.procfs && line.includes('/proc'));
    const { env, connections } = await startService();
    const { exitCode, stderr, stdout } = await bash(line, env, { cwd: temporaryFolder() });
    expect({ exitCode, stderr, stdout }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(message),
      stdout: '',
    });
    expect(connections()).toBe(0);
  });

  test.each([
    ['a table', ['batch', 'w', '--rows', '-', '--check']],
    ['a text', ['run', 'w', 'a@=-']],
    ['a document', ['run', 'w', 'a@-;type=a/b']],
    ['an inputs file', ['run', 'w', '--inputs-file', '-']],
  ])('standard input that fails with EIO as %s exits 2 (fault 89)', async (_name, args) => {
    const { env, connections } = await startService();
    const stdin = new Readable({
      read() {
        this.destroy(Object.assign(new Error(), { code: 'EIO' }));
      },
    });
    const { exitCode, stderr } = await runCli(args, { env, stdin });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(`standard input: ${IO_ERROR}`),
    });
    expect(connections()).toBe(0);
  });

  test.skipIf(LACKS.bash)(
    'every command works with absolute paths in a working folder that was removed (fault 89)',
    async () => {
      const { env, requests } = await startService();
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'scan.pdf'), 'x');
      writeFileSync(join(cwd, 'rows.csv'), 'n,d@\n1,scan.pdf\n');
      const gone = 'T=$PWD; mkdir gone; cd gone; rmdir ../gone;';
      for (const command of [
        `run w "x@$T/scan.pdf" a=b --save-documents "$T/out" --report "json=$T/r.json" ${FAST}`,
        `batch w --rows "$T/rows.csv" --results "$T/results.jsonl" ${FAST}`,
        'status run-1',
        'config show',
        'history',
        '--version',
      ]) {
        const { exitCode, stderr } = await bash(`${gone} wfr ${command}`, env, { cwd });
        expect([command, exitCode, stderr]).toEqual([command, 0, expect.any(String)]);
      }
      expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
    },
  );

  test('batch: a table that fails in the middle is reported, and no row is sent (fault 89)', async () => {
    const { env, posts } = await startService();
    const cwd = temporaryFolder();
    const [table, line] = [join(cwd, 'rows.jsonl'), `{"n":"${'x'.repeat(10_000)}"}\n`];
    writeFileSync(table, line.repeat(100));
    await failReads(table, (position) => position > 0);
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl', '--rate', '0'];
    const { exitCode, stderr } = await runCli(args, { env, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`wfr: error: rows.jsonl: ${IO_ERROR}\n`);
    expect(posts()).toEqual([]);
  });
});

type ReadArguments = [into: Uint8Array, offset: number, length: number, position: number];
type Read = (...args: ReadArguments) => Promise<unknown>;

/** Makes reads of the file fail with EIO at the positions that `fails` selects, until the test has finished. */
const failReads = (path: string, fails: (position: number) => boolean) =>
  replaceReads(path, async (read, args) => {
    if (fails(args[3])) throw Object.assign(new Error(), { code: 'EIO' });
    return read(...args);
  });

/** Replaces the reads of the file, until the test has finished; `replaced` gets the read of Node. */
async function replaceReads(path: string, replaced: (read: Read, args: ReadArguments) => Promise<unknown>) {
  const handle = await open(path);
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { read } = prototype;
  const { ino } = statSync(path);
  const spy = vi.spyOn(prototype, 'read').mockImplementation(function (
    this: typeof handle,
    ...args: ReadArguments
  ) {
    const original: Read = (...given) => Reflect.apply(read, this, given);
    return fstatSync(this.fd).ino === ino ? replaced(original, args) : original(...args);
  } as never);
  onTestFinished(() => spy.mockRestore());
}

describe('run: standard output', () => {
  test.skipIf(LACKS.bash)(
    'run: a reader such as head -c 1 does not change the exit code (fault 67)',
    async () => {
      const { env } = await startService('x'.repeat(3_000_000));
      const { stdout, stderr } = await bash(`wfr run w ${FAST} | head -c 1; echo " $PIPESTATUS"`, env);
      expect(stdout).toBe('" 0\n');
      expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
    },
  );

  test.skipIf(LACKS.bash)(
    'run: a reader of jsonl that exits early does not end the watching (fault 67)',
    async () => {
      const { env, requests } = await startService();
      const { stdout } = await bash(
        `wfr run w ${FAST} -o jsonl | head -c 1 >/dev/null; echo "$PIPESTATUS"`,
        env,
      );
      expect(stdout).toBe('0\n');
      expect(requests.length).toBe(2);
    },
  );

  test.skipIf(LACKS.bash)('run: a closed stdout exits 0 (fault 68)', async () => {
    const { env } = await startService();
    expect((await bash(`wfr run w ${FAST} >&-`, env)).exitCode).toBe(0);
  });

  test.skipIf(LACKS.fullDevice)(
    'run: a full disk behind stdout exits 74 and prints the watch command (fault 69)',
    async () => {
      const { env, posts } = await startService();
      for (const format of ['text', 'json', 'jsonl', 'id']) {
        const { exitCode, stderr } = await bash(`wfr run w ${FAST} -o ${format} > /dev/full`, env);
        expect(exitCode).toBe(74);
        expect(stderr).toContain('cannot write the result: no space left on the disk (ENOSPC)');
        expect(stderr).toContain('To watch it: wfr watch run-1\n');
        if (!format.startsWith('json')) expect(stderr).toContain('wfr: error: cannot write the result: ');
        else
          expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error).toMatchObject({
            code: 'output-not-written',
            runId: 'run-1',
            resume: expect.stringMatching(`^wfr watch --output ${format} (.* )?run-1$`),
          });
      }
      expect((await bash(`wfr run w --detach > /dev/full`, env)).exitCode).toBe(74);
      expect((await bash(`wfr --help > /dev/full`, env)).exitCode).toBe(74);
      expect(posts().length).toBe(5);
    },
  );

  test.skipIf(LACKS.bash)('run: a slow reader gets all 10 MB of the output (fault 71)', async () => {
    const { env } = await startService('y'.repeat(10_000_000));
    const { stdout } = await bash(`wfr run w ${FAST} 2>/dev/null | (read -rt 0.3 <> <(:); wc -c)`, env);
    expect(stdout.trim()).toBe('10000003');
  });

  test('run: each write to stdout waits for the previous one (fault 71)', async () => {
    const { env } = await startService('z'.repeat(1_000_000));
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

describe('run: standard error', () => {
  test.skipIf(LACKS.bash)(
    'run: a stderr that is closed, full or without a reader does not end the run (fault 70)',
    async () => {
      const { env } = await startService();
      for (const redirect of ['2>&-', '2>/dev/full', '2> >(head -n1 >/dev/null)']) {
        if (LACKS.fullDevice && redirect === '2>/dev/full') continue;
        expect(await bash(`wfr run w -v ${FAST} ${redirect}`, env)).toMatchObject({
          exitCode: 0,
          stdout: '{\n  "total": 1\n}\n',
        });
      }
    },
  );
});

describe('run: without a terminal or user', () => {
  test('run: an open stdin is not waited for (fault 77)', async () => {
    const { env } = await startService();
    // The pipe never ends: reading it would block.
    const wfr = startWfr(['run', 'w', '--interval', '20ms'], env, { stdio: ['pipe', 'pipe', 'pipe'] });
    expect((await wfr.ended).exitCode).toBe(0);
  });

  test.each([
    ['TERM=dumb', { TERM: 'dumb' }],
    ['CI', { CI: 'true', TERM: 'xterm' }],
    ['a terminal without a size', { TERM: 'xterm' }, 0],
  ] as [string, Record<string, string>, number?][])(
    'run: %s gets plain lines without a spinner (fault 78)',
    async (_name, extra, columns = 80) => {
      const { env } = await startService();
      const { stderr, exitCode } = await runCli(['run', 'w', '--color', 'never'], {
        env: { ...env, ...extra },
        terminal: columns,
      });
      expect(exitCode).toBe(0);
      expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      expect(stderr).toContain('2026-01-02T03:04:05Z PENDING  0 of 4 steps\n');
    },
  );

  test('run: NO_COLOR keeps the live line and removes the colours (fault 78)', async () => {
    const { env } = await startService();
    const { stderr } = await runCli(['run', 'w'], {
      env: { ...env, NO_COLOR: '1', TERM: 'xterm' },
      terminal: 80,
    });
    expect(stderr).toContain('PENDING  0 of 4 steps');
    expect(stderr).not.toMatch(/\u001b\[[0-9;]*m/);
    // The cursor is shown again.
    expect(stderr.lastIndexOf('\u001b[?25h')).toBeGreaterThan(stderr.lastIndexOf('\u001b[?25l'));
  });

  test('run: colours appear on a terminal, with FORCE_COLOR or with --color always (fault 78)', async () => {
    const { env } = await startService();
    const colored = (world: Parameters<typeof runCli>[1], ...flags: string[]) =>
      runCli(['run', 'w', '--detach', ...flags], { ...world, env: { ...env, ...world?.env } }).then(
        ({ stderr }) => stderr.includes('\u001b[1m'),
      );
    expect(await colored({ terminal: 80, env: { TERM: 'xterm' } })).toBe(true);
    expect(await colored({})).toBe(false);
    expect(await colored({ env: { FORCE_COLOR: '1' } })).toBe(true);
    expect(await colored({ env: { FORCE_COLOR: '0' }, terminal: 80 })).toBe(false);
    expect(await colored({ env: { CLICOLOR_FORCE: '1' } })).toBe(true);
    expect(await colored({ env: { CLICOLOR_FORCE: '0' } })).toBe(false);
    expect(await colored({ env: { CLICOLOR_FORCE: 'false' } })).toBe(false);
    expect(await colored({ env: { CLICOLOR_FORCE: '1', NO_COLOR: '1' } })).toBe(false);
    expect(await colored({}, '--color', 'always')).toBe(true);
    expect(await colored({ terminal: 80 }, '--color=never')).toBe(false);
  });

  test.skipIf(LACKS.procfs)('run: neither HOME nor a writable working folder is needed', async () => {
    const { env } = await startService();
    const { exitCode } = await bash(`env -u HOME wfr run w ${FAST}`, env, { cwd: '/proc' });
    expect(exitCode).toBe(0);
  });

  test.skipIf(LACKS.bash)('run: 200 documents need only one open file at a time (fault 75)', async () => {
    const { env, requests } = await startService();
    const cwd = temporaryFolder();
    const items = Array.from({ length: 200 }, (_, n) => `d${n}@${n}.pdf`);
    for (let n = 0; n < 200; n++) writeFileSync(join(cwd, `${n}.pdf`), `document ${n}`);
    const { exitCode } = await bash(`ulimit -n 40; wfr run w ${items.join(' ')} --detach`, env, { cwd });
    expect(exitCode).toBe(0);
    const { inputs } = JSON.parse(String(await requests[0]?.body()));
    expect(Buffer.from(inputs.d199.split(',')[1], 'base64').toString()).toBe('document 199');
  });
});
