/** `wfr sandbox -- command`, as a real process. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderWith } from '../../helpers/files.js';
import { bash, EXECUTABLE, startWfr } from '../../helpers/process.js';
import { SLOW } from '../../helpers/sandbox.js';
import { LACKS } from '../../helpers/system.js';

describe('sandbox -- command', () => {
  test('sandbox: the command gets the settings of the sandbox, and its exit code is passed on', async () => {
    const script = `const { WFR_BASE_URL, WFR_TOKEN } = process.env;
      console.log(WFR_BASE_URL + ' ' + WFR_TOKEN); process.exitCode = 23;`;
    const command = [process.execPath, '-e', script];
    const { exitCode, stdout } = await startWfr(['sandbox', '--', ...command]).ended;
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1 [\w-]{22,}\n$/);
    expect(exitCode).toBe(23);
  });

  test.skipIf(LACKS.bash)('sandbox: the command can run a workflow of the sandbox', async () => {
    const line = `wfr sandbox -- bash -c 'wfr run ${SLOW} label=x --detach'`;
    const { exitCode, stdout } = await bash(line);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  });

  test.skipIf(LACKS.bash)(
    'sandbox: wfr suggests no command that would need the sandbox after its end, but a script may continue',
    async () => {
      const run = `run ${SLOW} label=x --timeout 0 --interval 20ms`;
      const alone = await bash(`wfr sandbox -- wfr ${run}`);
      expect(alone.exitCode).toBe(8);
      expect(alone.stderr).toMatch(/^Run [0-9a-f-]{36} \(version slow v1\)\n/);
      expect(alone.stderr).toMatch(/ (PENDING|RUNNING) .*; the run continues\.\n/m);
      expect(alone.stderr).not.toContain('wfr watch');
      const script = await bash(`wfr sandbox -- bash -c 'wfr ${run}; exit 0'`);
      expect(script.stderr.match(/^To watch it: wfr watch/gm)?.length).toBe(2);
    },
  );

  // An executable is made of Node, which has the module.
  test.skipIf(EXECUTABLE)(
    'sandbox -- wfr: starts wfr where the runtime lacks node:sea, as Bun and Deno do',
    async () => {
      const folder = folderWith({
        'no-sea.cjs': `const Module = require('node:module');
        const load = Module._load;
        Module._load = (id, ...rest) => {
          if (id === 'node:sea') throw new Error('no such built-in module');
          return load(id, ...rest);
        };`,
      });
      // Between quotation marks, a backslash escapes.
      const env = { NODE_OPTIONS: `--require ${JSON.stringify(join(folder, 'no-sea.cjs'))}` };
      const args = ['sandbox', '--', 'wfr', 'run', SLOW, 'label=x', '--detach'];
      const { stdout, exitCode } = await startWfr(args, env).ended;
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    },
  );

  test.skipIf(LACKS.signals)(
    'sandbox: signals are passed to the command, and wfr ends by the signal that ended it',
    async () => {
      const trapped = startWfr([
        'sandbox',
        '--',
        'bash',
        '-c',
        'trap "exit 9" TERM; echo ready; while :; do read -rt 1 <> <(:); done',
      ]);
      await trapped.waitForOutput('ready');
      trapped.child.kill('SIGTERM');
      expect((await trapped.ended).exitCode).toBe(9);
      const untrapped = startWfr(['sandbox', '--', 'bash', '-c', 'echo ready; read <> <(:)']);
      await untrapped.waitForOutput('ready');
      untrapped.child.kill('SIGTERM');
      expect(await untrapped.ended).toMatchObject({ signal: 'SIGTERM', exitCode: 143 });
    },
  );

  test.skipIf(LACKS.signals)(
    'sandbox: a command that ends by any other signal gets the exit code that a shell reports',
    async () => {
      expect((await startWfr(['sandbox', '--', 'bash', '-c', 'kill -PIPE $$']).ended).exitCode).toBe(141);
      expect((await startWfr(['sandbox', '--', 'bash', '-c', 'kill -USR1 $$']).ended).exitCode).toBe(138);
    },
  );

  test('sandbox: flags after -- belong to the command', async () => {
    const folder = folderWith({ 'echo.cjs': `console.log(process.argv.slice(2).join(' '))` });
    const command = [process.execPath, join(folder, 'echo.cjs'), '--help', '--port', 'x'];
    const { stdout } = await startWfr(['sandbox', '--slow', '1', '--', ...command]).ended;
    expect(stdout).toBe('--help --port x\n');
  });
});
