/** Fault 75: this machine has no free file descriptors or memory. */
import promises from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, numberedRows, readEvents, startBatchService } from '../helpers/batch.js';
import { runCli } from '../helpers/cli.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { folderWith } from '../helpers/files.js';
import { bash, EXECUTABLE } from '../helpers/process.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { LACKS } from '../helpers/system.js';

const errorWithCode = (code: string) => Object.assign(new Error(code), { code });

/** Makes opening a file whose path has this ending fail `times` times with `code`, after `before` successes. */
function failToOpen(ending: string, code: string, before: number, times: number): void {
  const { open } = promises;
  let calls = 0;
  replaceFunction(promises, 'open', (path, ...rest) => {
    if (!String(path).endsWith(ending)) return open(path, ...rest);
    calls++;
    return calls > before && calls <= before + times
      ? Promise.reject(errorWithCode(code))
      : open(path, ...rest);
  });
}

const ROWS = '{"n":1}\n{"scan":{"$document":"scan.pdf"}}\n{"n":3}\n';

describe('a machine without free file descriptors or memory (fault 75)', () => {
  test.each(['EMFILE', 'ENFILE', 'ENOMEM'])(
    "batch: %s on opening a row's document exits 7, and the same command sends that row once (fault 75)",
    async (code) => {
      const { wfr, posts, triggered } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': ROWS, 'scan.pdf': 'scan' });
      // It is opened twice to be read before any row is sent.
      failToOpen('scan.pdf', code, 2, 1);
      const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 7, posts: 2 });
      expect(stderr).toContain(`scan.pdf cannot be read: `);
      expect(stderr).toContain(`(${code}); no run was created`);
      expect(stderr).toContain('3 rows: 2 finished, 1 unreachable; took ');
      const refused = readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'refused');
      expect(refused).toMatchObject([{ row: 2, code: 'not-triggered' }]);
      expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
      expect(triggered).toHaveLength(3);
    },
  );

  test('batch: EMFILE on opening a document during its upload exits 7, and the same command sends that row once (fault 75)', async () => {
    const { wfr, triggered } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': ROWS, 'scan.pdf': 'scan' });
    failToOpen('scan.pdf', 'EMFILE', 3, 1);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, triggered: triggered.length }).toEqual({ exitCode: 7, triggered: 2 });
    expect(stderr).toContain('scan.pdf cannot be read: too many open files (EMFILE); no run was created');
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    expect(triggered).toHaveLength(3);
  });

  test.each([0, 1])(
    'batch: EMFILE when a document is read before the rows are sent, at opening %s, exits 7, and the same command sends each row once (fault 75)',
    async (opening) => {
      const { wfr, posts, triggered } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': ROWS, 'scan.pdf': 'scan' });
      failToOpen('scan.pdf', 'EMFILE', opening, 1);
      const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 7, posts: 0 });
      expect(stderr).toContain('scan.pdf cannot be read: too many open files (EMFILE); no run was created');
      expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
      expect(triggered).toHaveLength(3);
    },
  );

  test('batch: EMFILE on opening a socket exits 7 with the code, and does not pause the other rows (fault 75)', async () => {
    const { wfr, triggered } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2}\n' });
    const { connect } = net;
    let calls = 0;
    // The first row's attempt and its three retries.
    replaceFunction(net, 'connect', ((...args: Parameters<typeof connect>) =>
      ++calls <= 4 ? new net.Socket().destroy(errorWithCode('EMFILE')) : connect(...args)) as typeof connect);
    const args = [...BATCH_ARGS, '--concurrency', '1'];
    const { exitCode, stderr } = await wfr(args, { cwd });
    expect({ exitCode, triggered }).toEqual({ exitCode: 7, triggered: [{ n: 2 }] });
    expect(stderr).toMatch(
      /rows\.jsonl:1 {2}unreachable {2}no connection to 127\.0\.0\.1:\d+ \(EMFILE\), 4 tries/,
    );
    expect(stderr).not.toContain('no row is sent for');
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([{ n: 2 }, { n: 1 }]);
  });

  test('batch: 20 consecutive rows for which no socket can be opened stop the batch, and a row that is sent restarts their count', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(45) });
    let screen = '';
    const { connect } = net;
    replaceFunction(net, 'connect', ((...args: Parameters<typeof connect>) =>
      screen.split('  unreachable  ').length === 20 && !screen.includes('  finished  ')
        ? connect(...args)
        : new net.Socket().destroy(errorWithCode('EMFILE'))) as typeof connect);
    const onOutput = (text: string) => (screen = text);
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd, onOutput });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('45 rows: 1 finished, 39 unreachable, 5 waiting; ');
    expect(stderr).toContain('The service cannot be reached: no further rows were sent.\n');
  });

  test.skipIf(LACKS.procfs)(
    'run and batch: a real limit of open files exits 7 before anything is sent (fault 75)',
    async () => {
      const { baseUrl, connections, posts, triggered } = await startBatchService();
      const env = { WFR_BASE_URL: baseUrl };
      // Each file of /proc is copied, and its copy is kept open.
      const names = Array.from({ length: 200 }, (_, n) => `d${n}`);
      const copied = { $document: '/proc/self/comm', type: 'a/b' };
      const row = JSON.stringify(Object.fromEntries(names.map((name) => [name, copied])));
      const cwd = folderWith({ 'rows.jsonl': `${row}\n`, 'inputs.json': row });
      const run = await bash('ulimit -n 60; wfr run w --inputs-file inputs.json --detach', env, { cwd });
      expect({ exitCode: run.exitCode, connections: connections() }).toEqual({ exitCode: 7, connections: 0 });
      expect(run.stderr).toContain('/proc/self/comm cannot be read: too many open files (EMFILE)');
      expect(run.stderr).toContain('ulimit -n');
      const batch = `wfr ${BATCH_ARGS.join(' ')} --files-under /proc --interval 20ms`;
      const limited = await bash(`ulimit -n 60; ${batch}`, env, { cwd });
      expect({ exitCode: limited.exitCode, posts: posts().length }).toEqual({ exitCode: 7, posts: 0 });
      expect((await bash(batch, env, { cwd })).exitCode).toBe(0);
      expect(triggered).toHaveLength(1);
    },
  );

  test.skipIf(LACKS.procfs)(
    'batch: a limit of 40 open files lowers --concurrency 200, with a warning, and all rows are sent (fault 75)',
    async () => {
      const { baseUrl, triggered } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': numberedRows(300) });
      const command = `ulimit -n 40; wfr ${BATCH_ARGS.join(' ')} --concurrency 200 --interval 20ms`;
      const { exitCode, stderr } = await bash(command, { WFR_BASE_URL: baseUrl }, { cwd });
      expect(stderr).toContain(
        'warning: --concurrency 200 is lowered to 4: this process may open only 40 files (ulimit -n)',
      );
      expect({ exitCode, rows: triggered.length }).toEqual({ exitCode: 0, rows: 300 });
    },
  );

  test.skipIf(LACKS.procfs)(
    'batch: a results file that reaches the limit of its size before a row was sent lists no row as sent (fault 73)',
    async () => {
      const { baseUrl, triggered } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': numberedRows(20) });
      const command = `ulimit -f 1; wfr ${BATCH_ARGS.join(' ')} --concurrency 20`;
      const { exitCode, stderr } = await bash(command, { WFR_BASE_URL: baseUrl }, { cwd });
      expect({ exitCode, rows: triggered.length }).toEqual({ exitCode: 74, rows: 0 });
      expect(stderr).toContain('cannot write out.jsonl: only ');
      expect(stderr).not.toContain('no response');
    },
  );

  // Other versions of V8 end the process, or need less; an executable has its own.
  test.skipIf(LACKS.procfs || EXECUTABLE !== undefined || !process.version.startsWith('v20.'))(
    'run: too little address space for the HTTP parser exits 7, and nothing is sent (fault 75)',
    async () => {
      const { baseUrl, requests } = await startBatchService();
      const command = 'ulimit -v 3000000; wfr run w a=b --no-token';
      const { exitCode, stderr } = await bash(command, { WFR_BASE_URL: baseUrl });
      expect({ exitCode, requests: requests.length }).toEqual({ exitCode: 7, requests: 0 });
      expect(stderr).toContain('(ENOMEM)');
      expect(stderr).toContain('no run was created');
    },
  );

  test('run: a missing document still exits 2 (fault 75)', async () => {
    expect(
      (await runCli(['run', 'w', 'x@missing.pdf'], { env: { WFR_BASE_URL: CLOSED_URL } })).exitCode,
    ).toBe(2);
  });
});
