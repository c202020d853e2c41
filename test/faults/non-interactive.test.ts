/** Without a person: no command asks a question, and none reads standard input that it was not told to read. */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { folderWith } from '../helpers/files.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

/** Standard input that fails when it is read; on a terminal, a person could be waited for. */
function forbiddenStdin(isTTY: boolean): { stdin: Readable; isRead: () => boolean } {
  let isRead = false;
  const stdin = new Readable({
    read() {
      isRead = true;
      this.destroy(new Error('standard input was read'));
    },
  });
  return { stdin: Object.assign(stdin, { isTTY }), isRead: () => isRead };
}

const FAILED = aRun({ status: 'FAILED', error: { message: 'no', step: 's' } });

describe('without a person', () => {
  test.each([
    ['a run', ['run', 'w', 'a=1'], 0],
    ['a run with --once', ['run', 'w', '--once', 'f'], 0],
    ['a run that fails', ['run', 'failing'], 1],
    ['a run whose answer is lost', ['run', 'lost', '--once', 'f'], 6],
    ['a run without a token', ['run', 'w', '--base-url', 'https://wfr.invalid'], 4],
    ['a usage error', ['run', 'w', '--bogus'], 2],
    ['a status', ['status', 'run-1'], 0],
    ['a watch', ['watch', 'run-1'], 0],
    ['a batch', ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl'], 0],
    ['a check of a batch', ['batch', 'w', '--rows', 'rows.csv', '--check'], 0],
    ['a history', ['history'], 0],
    ['a config', ['config', 'show'], 0],
    ['a help', ['help', 'run'], 0],
  ])(
    'without a person: %s neither prompts nor reads standard input, on a terminal or not',
    async (_name, args, expected) => {
      for (const isTerminal of [true, false]) {
        const service = await scriptedService(async (request, reply) => {
          const body = (await request.body()).toString();
          if (body.includes('"lost"')) reply.reset();
          else if (body.includes('"failing"')) reply.send(201, FAILED);
          else await acceptThenShow(aFinishedRun())(request, reply);
        });
        const { stdin, isRead } = forbiddenStdin(isTerminal);
        const { exitCode } = await runCli(args, {
          env: { WFR_BASE_URL: service.baseUrl, TERM: 'xterm', XDG_STATE_HOME: temporaryFolder() },
          cwd: folderWith({ 'rows.csv': 'a\n1\n' }),
          stdin,
          ...(isTerminal && { terminal: 80 }),
        });
        expect({ exitCode, isRead: isRead() }).toEqual({ exitCode: expected, isRead: false });
      }
    },
  );

  test.each([
    ['no terminal', {}, undefined],
    ['CI', { CI: 'true', TERM: 'xterm' }, 80],
    ['TERM=dumb', { TERM: 'dumb' }, 80],
  ])('without a person: with %s, each command prints plain lines', async (_name, extra, terminal) => {
    for (const args of [
      ['run', 'w'],
      ['watch', 'run-1', 'run-2'],
      ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl'],
    ]) {
      const service = await scriptedService(async (request, reply) => {
        await request.body();
        const id = request.path.split('/')[2] ?? 'run-1';
        reply.send(200, request.method === 'POST' ? aRun() : { ...aFinishedRun(), id });
      });
      const { stderr, exitCode } = await runCli([...args, '--color', 'never'], {
        env: { WFR_BASE_URL: service.baseUrl, ...extra },
        cwd: folderWith({ 'rows.csv': 'a\n1\n2\n' }),
        ...(terminal !== undefined && { terminal }),
      });
      expect(exitCode).toBe(0);
      expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      expect(stderr).toMatch(/^2026-01-02T03:04:\d\dZ .*(FINISHED|finished)/m);
    }
  });
});
