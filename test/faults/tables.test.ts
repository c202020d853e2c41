/** Tables that change, hang or are very long, and rows that name what is no file. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  copyFileSync,
  openSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, EACH_SCAN, startBatchService } from '../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith } from '../helpers/files.js';
import { aRun } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

/** Rows of 100 kB, of which a read has only a few. */
const longRows = (letter: string) =>
  Array.from({ length: 20 }, () => `{"text":"${letter.repeat(100_000)}"}\n`).join('');

describe('a table that is written while it is read', () => {
  test.each([
    ['replaced by as many bytes', (path: string) => writeFileSync(path, longRows('b'))],
    [
      'replaced by as many bytes of the same time',
      (path: string) => {
        writeFileSync(path, longRows('b'));
        utimesSync(path, 1, 1);
      },
    ],
    ['cut', (path: string) => writeFileSync(path, longRows('b').slice(0, 700_050))],
    ['removed', (path: string) => truncateSync(path)],
    ['continued', (path: string) => writeFileSync(path, longRows('a').slice(0, 50), { flag: 'a' })],
  ])(
    'batch: a table whose content is %s stops the batch before a row of neither version is sent (fault 108)',
    async (name, write) => {
      const cwd = folderWith({ 'rows.jsonl': longRows('a') });
      utimesSync(join(cwd, 'rows.jsonl'), 1, 1);
      const texts = new Set<string>();
      let posts = 0;
      const service = await startBatchService(async (request, reply) => {
        texts.add(JSON.parse((await request.body()).toString()).inputs.text);
        if (posts++ === 0) write(join(cwd, 'rows.jsonl'));
        reply.send(201, aRun({ id: `run-${posts}`, status: 'FINISHED', output: {} }));
      });
      const { exitCode, stderr } = await service.wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd });
      expect([...texts]).toEqual(['a'.repeat(100_000)]);
      expect({ exitCode, posts: posts < 20 || name === 'continued' }).toEqual({ exitCode: 3, posts: true });
      expect(stderr).toMatch(
        /error: rows\.jsonl changed while wfr read it; run the same command again once it is complete$/m,
      );
    },
  );

  test('batch: a table that is replaced by another file is read on as it was', async () => {
    const cwd = folderWith({ 'rows.jsonl': longRows('a'), 'new.jsonl': longRows('b') });
    const texts = new Set<string>();
    const service = await startBatchService(async (request, reply) => {
      texts.add(JSON.parse((await request.body()).toString()).inputs.text);
      if (texts.size === 1) copyFileSync(join(cwd, 'new.jsonl'), join(cwd, 'next.jsonl'));
      renameSync(join(cwd, 'next.jsonl'), join(cwd, 'rows.jsonl'));
      reply.send(201, aRun({ status: 'FINISHED', output: {} }));
    });
    const { exitCode, stderr } = await service.wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd });
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('20 rows: 20 finished')]);
    expect([...texts]).toEqual(['a'.repeat(100_000)]);
  });
});

describe('a signal before rows are sent', () => {
  const SIGNALS = [['SIGINT', 130] as const, ['SIGTERM', 143] as const];

  /** Raises a signal again and again once `isReady`, until the command has ended. */
  async function interrupt(
    signal: 'SIGINT' | 'SIGTERM',
    args: string[],
    options: CliOptions,
    isReady = () => true,
  ) {
    const signals = new Signals();
    const raising = setInterval(() => isReady() && signals.raise(signal), 50);
    const env = { WFR_BASE_URL: 'http://127.0.0.1:9' };
    return runCli(args, { ...options, env, signals }).finally(() => clearInterval(raising));
  }

  test.skipIf(LACKS.fifos).each(SIGNALS)(
    'batch: %s ends a command that waits for a table from a pipe (fault 109)',
    async (signal, code) => {
      const cwd = folderWith({});
      execFileSync('mkfifo', ['pipe'], { cwd });
      const args = ['batch', 'w', '--rows', 'pipe', '--check'];
      const withoutWriter = await interrupt(signal, args, { cwd });
      const openWriter = () => openSync(join(cwd, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK);
      const writer = openWriter();
      const withWriter = await interrupt(signal, args, { cwd });
      closeSync(writer);
      // A command may end before Node has opened the pipe for it; without a writer, that would block a thread for ever.
      for (; process.getActiveResourcesInfo().includes('FSReqPromise'); await delay(1))
        closeSync(openWriter());
      expect([withoutWriter.exitCode, withWriter.exitCode]).toEqual([code, code]);
    },
  );

  test.each(SIGNALS)(
    'results: one %s ends the wait for a table on standard input (fault 109)',
    async (signal, code) => {
      const events = ['{"event":"batch","format":3,"workflow":"w","baseUrl":"http://a/","shard":"1/1"}', ''];
      const cwd = folderWith({ 'out.jsonl': events.join('\n') });
      let isRead = false;
      let raised = 0;
      const stdin = new Readable({
        read() {
          isRead = true;
        },
      });
      const isReady = () => isRead && raised++ === 0;
      const args = ['results', 'out.jsonl', '--rows', '-'];
      expect(await interrupt(signal, args, { stdin, cwd }, isReady)).toMatchObject({
        exitCode: code,
        stderr: 'wfr: interrupted\n',
      });
      // The copy of the table is closed at its end, where no process ends.
      stdin.push(null);
    },
  );

  test.each(SIGNALS)('batch: %s ends --check of a long table at once (fault 109)', async (signal, code) => {
    let isRead = false;
    const stdin = Readable.from(
      (function* () {
        yield Buffer.from(`n\n${'1\n'.repeat(1_000_000)}`);
        isRead = true;
      })(),
    );
    const elapsed = startTimer();
    const args = ['batch', 'w', '--rows', '-', '--check'];
    const { exitCode } = await interrupt(signal, args, { stdin }, () => isRead);
    expect(exitCode).toBe(code);
    expect(elapsed()).toBeLessThan(3_000);
  });

  test.each(SIGNALS)(
    'batch: %s ends the reading of a long table at once (fault 109)',
    async (signal, code) => {
      let isRead = false;
      const stdin = Readable.from(
        (function* () {
          yield Buffer.from(`n\n${'1\n'.repeat(1_000_000)}`);
          isRead = true;
        })(),
      );
      const elapsed = startTimer();
      const args = ['batch', 'w', '--rows', '-', '--results', 'out.jsonl'];
      const { exitCode } = await interrupt(signal, args, { stdin }, () => isRead);
      expect(exitCode).toBe(code);
      expect(elapsed()).toBeLessThan(3_000);
    },
  );
});

describe('rows that name no regular file', () => {
  test.skipIf(LACKS.fifos).each([
    ['a document of a table', 'doc@;type=a/b\npipe\n', ['--rows', 'rows.csv'], 'rows.csv:2: doc@pipe'],
    ['a text of a table', 'doc@=\npipe\n', ['--rows', 'rows.csv'], 'rows.csv:2: doc@=pipe'],
    ['JSON of a table', 'doc@:=\npipe\n', ['--rows', 'rows.csv'], 'rows.csv:2: doc@:=pipe'],
    [
      'a document in JSON',
      '{"doc":{"$document":"pipe","type":"a/b"}}',
      ['--rows', 'rows.csv', '--delimiter', 'x'],
      '',
    ],
  ])('batch: a pipe as %s is invalid, and is not opened', async (name, rows, flags, message) => {
    if (name === 'a document in JSON') flags = ['--rows', 'rows.jsonl'];
    const file = flags[1] ?? '';
    const cwd = folderWith({ [file]: rows });
    execFileSync('mkfifo', ['pipe'], { cwd });
    const env = { WFR_BASE_URL: 'http://127.0.0.1:9' };
    const { exitCode, stderr } = await runCli(['batch', 'w', ...flags, '--check'], { cwd, env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${message || 'rows.jsonl:1: doc: pipe'}: is not a regular file`);
  });

  test.skipIf(LACKS.fifos)('batch: a pipe among the files of --each or in -i is invalid', async () => {
    const cwd = folderWith({ 'a.pdf': 'x' });
    execFileSync('mkfifo', ['pipe'], { cwd });
    const env = { WFR_BASE_URL: 'http://127.0.0.1:9' };
    const each = await runCli([...EACH_SCAN, 'a.pdf', 'pipe', '--check'], { cwd, env });
    expect([each.exitCode, each.stderr]).toEqual([2, expect.stringContaining('pipe: is not a regular file')]);
    const all = await runCli([...EACH_SCAN, 'a.pdf', '-i', 'note@=pipe', '--check'], { cwd, env });
    expect([all.exitCode, all.stderr]).toEqual([2, expect.stringContaining('note@=pipe: is not a')]);
  });
});
