/** What wfr learns from the system about processes, and how it is suspended: with real processes, on Linux. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { appendClaim, BATCH_ARGS, prepareBatch, readEvents } from '../helpers/batch.js';
import { temporaryFolder } from '../helpers/cli.js';
import { start, startWfr, WFR } from '../helpers/process.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

describe.skipIf(LACKS.procfs)('processes', () => {
  test('batch: the lock of a process that has ended but was never reaped is taken over', async () => {
    const { cwd, path, baseUrl } = await prepareBatch(1);
    const batch = () => startWfr(BATCH_ARGS, { WFR_BASE_URL: baseUrl }, { cwd }).ended;
    expect((await batch()).exitCode).toBe(0);
    const [claim] = readEvents(path).filter(({ event }) => event === 'open');
    const blocked = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
    const script = `console.log('zombie ' + require('child_process').spawn('true').pid); ${blocked}`;
    const parent = start(process.execPath, ['-e', script]);
    let zombie = 0;
    parent.child.stdout?.on('data', (chunk: Buffer) => {
      zombie ||= Number(/zombie (\d+)/.exec(String(chunk))?.[1] ?? 0);
    });
    await parent.waitForOutput('zombie ');
    await waitForState(zombie, 'Z');
    appendClaim(path, { ...claim?.owner, pid: zombie, token: '0badcafe' });
    const { exitCode, stderr } = await batch();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('1 finished') });
    parent.child.kill('SIGKILL');
  });

  test('batch, run --once: an owner whose process id now belongs to another process is replaced at once (fault 111)', async () => {
    const { cwd, path, baseUrl } = await prepareBatch(1);
    const once = join(cwd, 'my.once');
    const commands = [
      [BATCH_ARGS, path],
      [['run', 'w', '--once', 'my.once'], once],
    ] as const;
    for (const [args, file] of commands) {
      const wfr = () => startWfr([...args], { WFR_BASE_URL: baseUrl }, { cwd }).ended;
      expect((await wfr()).exitCode).toBe(0);
      const claim = readEvents(file).findLast(({ event }) => event === 'open');
      // The process of this test is alive, and started at another time.
      appendClaim(file, { ...claim?.owner, pid: process.pid, token: '0badcafe' });
      const started = performance.now();
      expect((await wfr()).exitCode).toBe(0);
      expect(performance.now() - started).toBeLessThan(9_000);
    }
  });

  test.skipIf(!existsSync('/usr/bin/script'))(
    'run: Ctrl-Z shows the cursor and stops the process, and fg continues the live line until the run ends',
    async () => {
      const service = await scriptedService(async (request, reply) => {
        await request.body();
        const isEnded = existsSync(join(folder, 'ended'));
        if (request.method === 'POST') return reply.send(201, aRun());
        reply.send(200, isEnded ? aFinishedRun() : aRun());
      });
      const folder = temporaryFolder();
      const command = [...WFR, 'run', 'w', '--interval', '50ms'].map((word) => `'${word}'`).join(' ');
      const terminal = start(
        'script',
        ['-qec', `stty cols 80 rows 24; echo "pid $$"; exec ${command}`, '/dev/null'],
        {
          WFR_BASE_URL: service.baseUrl,
          TERM: 'xterm-256color',
          NO_COLOR: '1',
        },
      );
      let output = '';
      terminal.child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk;
      });
      await terminal.waitForOutput('RUNNING');
      const pid = Number(/pid (\d+)/.exec(output)?.[1]);
      const before = output.length;
      process.kill(pid, 'SIGTSTP');
      await waitForState(pid, 'T');
      // script stops with its command, and continues it.
      await waitForState(terminal.child.pid ?? 0, 'T');
      terminal.child.kill('SIGCONT');
      // script may miss an end that comes at the same time as the news that its command continues.
      await terminal.waitForOutput(/\u001b\[\?25h.*\u001b\[\?25l.*RUNNING/s);
      writeFileSync(join(folder, 'ended'), '');
      const { exitCode } = await terminal.ended;
      // Shown while it was stopped, and hidden again.
      const codes = output.slice(before).match(/(?<=\u001b\[\?25)[hl]/g);
      expect({ exitCode, codes: codes?.join('') }).toEqual({
        exitCode: 0,
        codes: expect.stringContaining('hl'),
      });
      expect(output).toContain('"total": 1');
    },
  );
});

/** Resolves once /proc shows the state of a process, such as T (stopped) and Z (zombie). Rejects when it has ended. */
async function waitForState(pid: number, state: string): Promise<void> {
  for (;;) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    if (stat.slice(stat.lastIndexOf(')') + 2).startsWith(state)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
