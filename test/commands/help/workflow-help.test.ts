/** Help on a workflow that a profile names. */
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import { writeTestConfig } from '../../helpers/config.js';

const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const CLAIMS = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';
const LONG = 'word '.repeat(20).trim();
const CONFIG = {
  defaultProfile: 'p',
  profiles: {
    p: {
      workflows: {
        invoice: {
          id: INVOICE,
          parameters: {
            scan: { type: 'document', accept: ['application/pdf', 'image/*'], description: 'The invoice' },
            'the customer': { type: 'string', description: `\u001b[2J${LONG}` },
            'a-name-that-is-too-long-for-its-column?': 'number',
          },
        },
        claims: CLAIMS,
        'my claims': { id: CLAIMS, parameters: {} },
        run: CLAIMS,
      },
    },
    q: { workflows: { invoice: CLAIMS } },
  },
};
const { env } = writeTestConfig(CONFIG);

const TEXT = `Workflow invoice of profile p: ${INVOICE}

Example:
  wfr run invoice scan@document.pdf 'the customer=text'

Parameters:
  scan@                        document (application/pdf, image/*): The invoice
  the customer=                string: \\u001b[2Jword word word word word word
                               word word word word word word word word word word
                               word word word word
  a-name-that-is-too-long-for-its-column:=
                               number, optional
`;

describe('help on a workflow', () => {
  test('help: wfr help invoice shows how to run the workflow and its parameters with their descriptions', async () => {
    const { stdout, stderr, exitCode } = await runCli(['help', 'invoice'], { env });
    expect({ stdout, stderr, exitCode }).toEqual({ stdout: TEXT, stderr: '', exitCode: 0 });
  });

  test('help: a workflow without declared parameters, and one that has none', async () => {
    const helpOn = async (name: string) => (await runCli(['help', name], { env })).stdout;
    expect(await helpOn('claims')).toBe(
      `Workflow claims of profile p: ${CLAIMS}\n\nExample:\n  wfr run claims\n\n` +
        'Its parameters are not declared; see wfr help config.\n',
    );
    expect(await helpOn('my claims')).toContain("  wfr run 'my claims'\n\nParameters:\n  none\n");
  });

  test('help: the profile is the chosen one, and a command is not a workflow', async () => {
    const { stdout } = await runCli(['--profile', 'q', 'help', 'invoice'], { env });
    expect(stdout).toContain(`Workflow invoice of profile q: ${CLAIMS}\n`);
    expect((await runCli(['help', 'run'], { env })).stdout).toMatch(/^Usage: wfr run/);
  });

  test.each([
    [['help', 'invice'], 2, 'no help on "invice"; choose one of run, status,'],
    [['run', 'invoice', '--help'], 0, ''],
    [['--help'], 0, ''],
  ])('help: %j is not about a workflow', async (args, code, message) => {
    const { stdout, stderr, exitCode } = await runCli(args, { env });
    expect(exitCode).toBe(code);
    expect(stderr).toContain(message);
    expect(stdout).not.toContain('Workflow ');
  });

  test('help: an invalid config file does not prevent the help', async () => {
    const invalid = writeTestConfig('{');
    const { stdout, stderr, exitCode } = await runCli(['help', 'run'], invalid);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toMatch(/^Usage: wfr run/);
  });
});
