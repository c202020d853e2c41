/** The README is true: its commands run, its tables are those of the program. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EXIT_CODE_MEANINGS } from '../../src/exit-code.js';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT, start, startWfr } from '../helpers/process.js';
import { startTestSandbox } from '../helpers/sandbox.js';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );

const [configFile = '', workflowFile = ''] = blocks('json');

/** What jq does in the README, for a machine that has none. */
const JQ = 'jq() { node -p "JSON.parse(require(\'fs\').readFileSync(0)).document.sha256"; }; export -f jq\n';

describe('the commands of the README', () => {
  const [demo, tests, settings, ...others] = blocks('sh');
  /** Lines of which each ends with the exit code that stands behind it. */
  const codes = others.filter((block) => block.includes('./pipeline.sh'));
  const tasks = others.filter((block) => !codes.includes(block));

  test('begin with the two that set everything up', () => {
    expect(demo).toBe('npm ci && npm run demo\n');
    expect(tests).toBe('npm ci && npm test\n');
    expect(settings).toContain('export WFR_BASE_URL=https://');
    expect(tasks.length).toBe(11);
  });

  test('the demo prints what the README shows', async () => {
    const { stdout, stderr, exitCode } = await start('npm', ['run', '--silent', 'demo'], {}, { cwd: ROOT })
      .ended;
    expect(exitCode).toBe(0);
    const [shown = ''] = blocks('text');
    expect(shown).toContain(stdout);
    expect(stderr).toMatch(/^Run [0-9a-f-]{36} \(version invoice v3\)$/m);
    expect(stderr).toMatch(/^Finished: run [0-9a-f-]{36}, 4 of 4 steps in \d.*, version invoice v3$/m);
  });

  test.each(tasks.map((task) => [task]))('%s', async (task) => {
    const cwd = temporaryFolder();
    copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
    const { env } = await startTestSandbox({
      clock: { now: Date.now, monotonic: () => performance.now() * 20 },
    });
    mkdirSync(join(cwd, 'wfr'));
    writeFileSync(join(cwd, 'wfr/config.json'), configFile);
    const isFailing = task.includes('case $?');
    const { exitCode, stdout, stderr } = await bash(JQ + task, { ...env, XDG_CONFIG_HOME: cwd }, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.not.stringContaining('wfr: ') });
    if (isFailing) expect(stdout).toBe('the run failed: its step and message are above\n');
    if (task.includes('jq')) expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
  });

  test.concurrent.each(codes.flatMap((block) => block.trim().split('\n')).map((line) => [line]))(
    '%s',
    async (line) => {
      const cwd = temporaryFolder();
      copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
      copyFileSync(join(ROOT, 'examples/ci/pipeline.sh'), join(cwd, 'pipeline.sh'));
      const [command = '', code] = line.split(/ +# (\d+): /);
      expect((await bash(command, {}, { cwd })).exitCode).toBe(Number(code));
    },
  );

  test('the step of a GitHub workflow gives the action no input that it does not have', () => {
    const [step] = parse(blocks('yaml')[1] ?? '');
    const action = parse(readFileSync(join(ROOT, 'action.yml'), 'utf8'));
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(step.uses).toBe(`owner/wfr@v${version}`);
  });

  test('the workflow file is one that the sandbox takes', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'w.json'), workflowFile);
    const { stdout, exitCode } = await startWfr(['sandbox', '--workflows', 'w.json', '--list'], {}, { cwd })
      .ended;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('scan@document.pdf pages:=1');
  });
});

test('the README has the table of exit codes', () => {
  for (const [codes, meaning] of EXIT_CODE_MEANINGS)
    expect(readme.replace(/ +\|/g, ' |')).toContain(`\n| ${codes} | ${meaning} |\n`);
});

test('every variable that wfr reads is in the README and in wfr help environment', async () => {
  const { stdout } = await startWfr(['help', 'environment']).ended;
  for (const name of [
    'WFR_BASE_URL',
    'WFR_TOKEN',
    'WFR_TOKEN_FILE',
    'WFR_ALLOW_HTTP',
    'WFR_WORKFLOW_ID_FIELD',
    'WFR_PROFILE',
    'WFR_CONFIG',
    'HTTPS_PROXY',
    'NO_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'NO_COLOR',
    'FORCE_COLOR',
    'CI',
    'TERM',
    'GITHUB_STEP_SUMMARY',
    'GITHUB_OUTPUT',
  ]) {
    expect(readme).toContain(name);
    expect(stdout).toContain(name);
  }
});
