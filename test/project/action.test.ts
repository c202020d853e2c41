/** The GitHub action and the files of examples/ci: their shell code, run in the environment of a runner. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateAction, validateWorkflow } from '@action-validator/core';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, ROOT, start } from '../helpers/process.js';
import { FAILING, fastClock, INVOICE, SLOW, startTestSandbox, stoppedClock } from '../helpers/sandbox.js';
import { acceptThenShow, aFinishedRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

interface Step {
  id?: string;
  run?: string;
  env?: Record<string, string>;
  uses?: string;
  if?: string;
  with?: Record<string, string>;
}

interface Action {
  inputs: Record<string, { required?: boolean; default?: string }>;
  outputs: Record<string, { value: string }>;
  runs: { steps: Step[] };
}

const read = <T>(path: string) => parse(readFileSync(join(ROOT, path), 'utf8')) as T;
const action = read<Action>('action.yml');
const [installStep, runStep, valueStep] = action.runs.steps;
const fast = { clock: fastClock };

/** Runs the steps of the action in a workspace with a document, with inputs as a runner passes them. */
async function runAction(
  inputs: Record<string, string>,
  env: Record<string, string> = {},
  actionPath = ROOT,
) {
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
  const runner = { CI: 'true', GITHUB_ACTIONS: 'true', GITHUB_ACTION_PATH: actionPath, RUNNER_TEMP: cwd };
  const files = { GITHUB_OUTPUT: join(cwd, '.output'), GITHUB_STEP_SUMMARY: join(cwd, '.summary') };
  for (const file of Object.values(files)) writeFileSync(file, '');
  const runStepOf = (step: Step | undefined) => {
    const given = Object.entries(step?.env ?? {}).map(([name, expression]) => {
      const input = /^\$\{\{ inputs\.([a-z-]+) \}\}$/.exec(expression)?.[1];
      if (input === undefined) return [name, /github\.token/.test(expression) ? 'of-github' : expression];
      return [name, inputs[input] ?? action.inputs[input]?.default ?? ''];
    });
    const all = { ...runner, ...files, ...env, ...Object.fromEntries(given) };
    return start('bash', ['-e', '-c', step?.run ?? ''], all, { cwd }).ended;
  };
  const installed = await runStepOf(installStep);
  expect(installed).toMatchObject({ exitCode: 0, stdout: '' });
  const ended = await runStepOf(runStep);
  if (inputs.get !== undefined && ended.exitCode === 0) await runStepOf(valueStep);
  const left = () => readdirSync(cwd).filter((name) => !name.startsWith('.'));
  return { ...ended, installed: installed.stderr, outputs: readFileSync(files.GITHUB_OUTPUT, 'utf8'), left };
}

describe.skipIf(LACKS.bash)('GitHub action', () => {
  // Most of their time the concurrent ones wait for the next poll.
  test.concurrent('GitHub action: with once, a second attempt prints the recorded run and triggers none', async ({
    onTestFinished,
  }) => {
    const { env, posts } = await startTestSandbox(fast, onTestFinished);
    const inputs = {
      workflow: INVOICE,
      inputs: 'invoice@scan.pdf\ncustomer=ACME',
      'base-url': env.WFR_BASE_URL,
      token: env.WFR_TOKEN,
      once: join(temporaryFolder(), 'invoice.once'),
      report: '',
    };
    const first = await runAction(inputs);
    const second = await runAction(inputs);
    expect([first.exitCode, second.exitCode, posts()]).toEqual([0, 0, 1]);
    expect(second.stdout).toBe(first.stdout);
  });

  test.concurrent('GitHub action: sends a document from lines of inputs, and prints the output', async ({
    onTestFinished,
  }) => {
    const { env } = await startTestSandbox(fast, onTestFinished);
    const { exitCode, stdout, stderr } = await runAction({
      workflow: INVOICE,
      inputs: 'invoice@scan.pdf\r\n\ncustomer=ACME Ltd\n',
      'base-url': env.WFR_BASE_URL,
      token: env.WFR_TOKEN,
      report: '',
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('Finished: ') });
    expect(JSON.parse(stdout)).toMatchObject({ customer: 'ACME Ltd', document: { bytes: 1696 } });
  });

  test.concurrent('GitHub action: with get, one value is an output and not in the log, and it exits 65 where there is none', async ({
    onTestFinished,
  }) => {
    const { env } = await startTestSandbox(fast, onTestFinished);
    const inputs = {
      workflow: INVOICE,
      'inputs-json': JSON.stringify({ customer: 'ACME $(touch pwned)\n::error::x\n##vso[x]' }),
      inputs: 'invoice@scan.pdf',
      'base-url': env.WFR_BASE_URL,
      token: env.WFR_TOKEN,
      report: '',
    };
    const { exitCode, stdout, stderr, outputs, left } = await runAction({ ...inputs, get: '/customer' });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    expect(stderr).not.toMatch(/^::(?!add-mask)|##vso/m);
    const [, delimiter, value] = /^value<<(wfr-[0-9a-f]{32})\n(.*)\n\1\n$/s.exec(outputs) ?? [];
    expect([delimiter === undefined, value]).toEqual([false, 'ACME $(touch pwned)\n::error::x\n##vso[x]']);
    const missing = await runAction({ ...inputs, get: '/$(touch pwned) x' });
    expect(missing).toMatchObject({
      exitCode: 65,
      stdout: '',
      stderr: expect.stringContaining('the output has no value at /$(touch pwned) x'),
    });
    expect([left(), missing.left()]).toEqual([['scan.pdf'], ['scan.pdf']]);
  });

  test('GitHub action: no input is interpreted by the shell or as a flag', async () => {
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aFinishedRun()));
    const text = '$(touch pwned)`touch pwned`"; touch pwned; \'*\\';
    const token = '$(touch$IFS./pwned)"`touch$IFS./pwned`';
    const inputs = {
      workflow: text,
      inputs: `a=${text}\n b=  x `,
      'base-url': baseUrl,
      token,
      report: '',
    };
    const { exitCode, left } = await runAction(inputs);
    expect({ exitCode, left: left() }).toEqual({ exitCode: 0, left: ['scan.pdf'] });
    const [request] = posts();
    expect(request?.headers.authorization).toBe(`Bearer ${token}`);
    const { workflowId, inputs: sent } = JSON.parse(String(await request?.body()));
    expect({ workflowId, sent }).toEqual({ workflowId: text, sent: { a: text, ' b': '  x ' } });
    const flag = await runAction({ ...inputs, inputs: '--dry-run' });
    expect(flag).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('wfr: error: --dry-run: not an input'),
    });
  });

  test.concurrent('GitHub action: has the exit code of wfr, obeys the timeout, and keeps the variables of the job', async ({
    onTestFinished,
  }) => {
    const { env } = await startTestSandbox(fast, onTestFinished);
    const inputs = { workflow: FAILING, inputs: 'customer=x', report: '' };
    expect((await runAction(inputs, env)).exitCode).toBe(1);
    expect((await runAction({ ...inputs, token: 'wrong' }, env)).exitCode).toBe(4);
    const { env: slow } = await startTestSandbox({}, onTestFinished);
    const label = { workflow: SLOW, inputs: 'label=x', timeout: '50ms', report: '' };
    expect((await runAction(label, slow)).exitCode).toBe(8);
  });

  test('GitHub action: a value of inputs-json is never another item, a flag or a file', async () => {
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aFinishedRun()));
    const title = 'x\nscan@scan.pdf\n--dry-run\n@/etc/passwd\n$(touch pwned)';
    const inputs = { workflow: 'w', inputs: 'scan@scan.pdf', 'base-url': baseUrl, token: 't', report: '' };
    const json = `{"title": ${JSON.stringify(title)}, "amount": 12.50, "file": "@scan.pdf"}\n`;
    const { exitCode, left } = await runAction({ ...inputs, 'inputs-json': json });
    expect({ exitCode, left: left() }).toEqual({ exitCode: 0, left: ['scan.pdf'] });
    const [request] = posts();
    const body = String(await request?.body());
    expect(JSON.parse(body).inputs).toEqual({
      title,
      amount: 12.5,
      file: '@scan.pdf',
      scan: expect.stringMatching(/^data:application\/pdf;/),
    });
    expect(body).toContain('"amount":12.50');
  });

  test('GitHub action: inputs-json rejects $document at any depth before anything is sent', async () => {
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aFinishedRun()));
    const inputs = { workflow: 'w', 'base-url': baseUrl, token: 't', report: '' };
    const json = '{"title": [{"a": {"\\u0024document": "scan.pdf"}}]}';
    const { exitCode, stderr } = await runAction({ ...inputs, 'inputs-json': json });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('"$document" at line 1, column 19 is not allowed');
  });

  test('GitHub action: masks the token before anything else, also one with characters of workflow commands', async () => {
    const path = checkout();
    const inputs = { workflow: 'w', token: 'a%b\r\nc' };
    const first = await runAction(inputs, { PATH: `${path}:${process.env.PATH}` }, path);
    expect(first.stderr).toBe('::add-mask::a%25b%0D%0Ac\n');
    const fromJob = await runAction({ workflow: 'w' }, { WFR_TOKEN: 'of the job' }, path);
    expect(fromJob.stderr).toBe('::add-mask::of the job\n');
    expect((await runAction({ workflow: 'w' }, {}, path)).stderr).toBe('');
  });

  /** Returns a checkout of the action with a wfr that prints its arguments, and an npm that builds it. */
  function checkout() {
    const path = temporaryFolder();
    cpSync(join(ROOT, 'action'), join(path, 'action'), { recursive: true });
    mkdirSync(join(path, 'bin'));
    writeFileSync(join(path, 'bin/wfr.js'), 'console.log(JSON.stringify(process.argv.slice(2)))');
    const npm = '#!/bin/sh\necho "npm $* in $PWD"; env\n';
    writeFileSync(join(path, 'npm'), npm, { mode: 0o755 });
    const build = `require('fs').mkdirSync('dist'); require('fs').writeFileSync('dist/main.js', '');
      console.log('build', Object.keys(process.env).join());`;
    writeFileSync(
      join(path, 'build.mjs'),
      `import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url); ${build}`,
    );
    return path;
  }

  test('GitHub action: builds its checkout once, without install scripts and without the secrets of the step', async () => {
    const path = checkout();
    const secrets = {
      WFR_TOKEN: 'secret',
      NODE_AUTH_TOKEN: 'secret',
      'MY-KEY': 'secret',
      GITHUB_TOKEN: 'secret',
    };
    const settings = {
      NPM_CONFIG_REGISTRY: 'https://npm.example',
      https_proxy: 'http://proxy',
      NODE_OPTIONS: '',
    };
    const env = { PATH: `${path}:${process.env.PATH}`, ...settings, ...secrets };
    const inputs = { workflow: 'w', inputs: 'a=1', token: 'secret' };
    const first = await runAction(inputs, env, path);
    const [npm, ...variables] = first.installed.trimEnd().split('\n');
    expect(first.stderr).toBe('::add-mask::secret\n');
    expect(npm).toBe(`npm ci --include=dev --ignore-scripts --no-audit --no-fund in ${path}`);
    expect(variables).toContain('NPM_CONFIG_REGISTRY=https://npm.example');
    expect(variables).toContain('https_proxy=http://proxy');
    const others = variables.filter((variable) => !/^(PATH|PWD)=/.test(variable));
    expect(others.join()).not.toMatch(/secret|INPUT_|GITHUB_|NODE_OPTIONS/);
    expect(variables.at(-1)).toMatch(/^build (?!.*(TOKEN|KEY|INPUT)).*PATH/);
    expect(JSON.parse(first.stdout)).toEqual(['run', '--report=github', '--', 'w', 'a=1']);
    expect((await runAction(inputs, env, path)).installed).toBe('');
  });

  test('GitHub action: takes the build of a release that is attested for its tag, and builds otherwise, without the token', async () => {
    const runner = join(temporaryFolder(), '_actions/owner/wfr');
    mkdirSync(runner, { recursive: true });
    const packed = temporaryFolder();
    mkdirSync(join(packed, 'package/dist'), { recursive: true });
    writeFileSync(join(packed, 'package/dist/main.js'), 'of the release');
    const asked = join(packed, 'asked');
    const seesToken = `case "$(env)" in *secret*) echo secret >>"${asked}" ;; esac`;
    const curl = `#!/bin/sh\n${seesToken}\nfile=$5; for url; do :; done; echo "$url" >>"${asked}"
      case $url in *v9*) exit 22 ;; *) tar -czf "$file" -C "${packed}" package ;; esac\n`;
    const gh = `#!/bin/sh\n${seesToken}\nshift 2; file=$(basename "$1"); shift; echo "$file $* $GH_TOKEN" >>"${asked}"
      case $file in wfr-1.2.0.tgz) exit 0 ;; *) exit 1 ;; esac\n`;
    const run = async (ref: string, hasGh = true) => {
      const path = join(runner, ref);
      rmSync(path, { recursive: true, force: true });
      cpSync(checkout(), path, { recursive: true });
      writeFileSync(join(path, 'curl'), curl, { mode: 0o755 });
      writeFileSync(join(path, 'gh'), hasGh ? gh : '#!/bin/sh\nexit 127', { mode: 0o755 });
      const env = { PATH: `${path}:${process.env.PATH}`, WFR_TOKEN: 'secret', WFR_TOKEN_FILE: 'secret' };
      const { installed } = await runAction({ workflow: 'w', token: 'secret' }, env, path);
      const isOfRelease = readFileSync(join(path, 'dist/main.js'), 'utf8') === 'of the release';
      return isOfRelease && !installed.includes('npm ci');
    };
    expect(await run('v1.2.0')).toBe(true);
    const url = (version: string) =>
      `https://github.com/owner/wfr/releases/download/v${version}/wfr-${version}.tgz`;
    const verified = (version: string) =>
      `wfr-${version}.tgz --repo owner/wfr --cert-identity https://github.com/owner/wfr/.github/workflows/release.yml@refs/tags/v${version} of-github`;
    expect(readFileSync(asked, 'utf8').trim().split('\n')).toEqual([url('1.2.0'), verified('1.2.0')]);
    rmSync(asked);
    // Not attested, not released, no tag, no gh.
    for (const ref of ['v1.3.0', 'v9.9.9', 'v1', 'main']) expect(await run(ref)).toBe(false);
    expect(await run('v1.2.0', false)).toBe(false);
    expect(readFileSync(asked, 'utf8').trim().split('\n')).toEqual([
      url('1.3.0'),
      verified('1.3.0'),
      url('9.9.9'),
      url('1.2.0'),
    ]);
  });

  test('GitHub action: passes each line of reports and the timeout to wfr', async () => {
    const path = checkout();
    mkdirSync(join(path, 'dist'));
    writeFileSync(join(path, 'dist/main.js'), '');
    const inputs = { workflow: 'w', timeout: '10m', report: 'github\njunit=my report.xml' };
    const { stdout } = await runAction(inputs, {}, path);
    const flags = ['--timeout=10m', '--report=github', '--report=junit=my report.xml'];
    expect(JSON.parse(stdout)).toEqual(['run', ...flags, '--', 'w']);
  });
});

describe('GitHub action: its definition', () => {
  test('GitHub action: action.yml and the example workflows conform to the published schemas', () => {
    const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');
    expect(validateAction(text('action.yml')).errors).toEqual([]);
    expect(validateWorkflow(text('examples/ci/github.yml')).errors).toEqual([]);
    expect(validateWorkflow(text('examples/scale/github.yml')).errors).toEqual([]);
    const wrong = text('action.yml').replace('using: composite', 'using: composed');
    expect(validateAction(wrong).errors).not.toEqual([]);
  });

  test('GitHub action: passes every input to its script, and returns the outputs of its step', () => {
    const handed = Object.values(runStep?.env ?? {});
    expect(handed).toEqual(Object.keys(action.inputs).map((name) => `\${{ inputs.${name} }}`));
    const script = readFileSync(join(ROOT, 'action/run.sh'), 'utf8');
    for (const name of Object.keys(runStep?.env ?? {})) expect(script).toContain(`\${${name}:-}`);
    expect(Object.entries(action.outputs).map(([name, { value }]) => [name, value])).toEqual([
      ...['run-id', 'status', 'output'].map((name) => [name, `\${{ steps.${runStep?.id}.outputs.${name} }}`]),
      ['value', `\${{ steps.${valueStep?.id}.outputs.value }}`],
    ]);
  });
});

describe('examples/ci', () => {
  const { jobs } = read<{ jobs: Record<string, { steps: Step[] }> }>('examples/ci/github.yml');
  const gitlab =
    read<Record<string, { script: string[]; cache: { paths: string[]; when: string; key: string } }>>(
      'examples/ci/gitlab-ci.yml',
    );
  const step = (action: string) => jobs.read?.steps.find(({ uses }) => uses?.startsWith(action));
  const github = jobs.read?.steps.find(({ run }) => run?.includes('pipeline.sh'))?.run ?? '';

  /** Runs the lines of a job twice, each time in a checkout of its own that gets `cached` from the one before. */
  async function twoAttempts(lines: string, cached: string) {
    const cwd = temporaryFolder();
    const clock = stoppedClock();
    const { env, posts } = await startTestSandbox({ clock });
    const exits: number[] = [];
    for (const [index, waitFor] of ['0', '1m'].entries()) {
      if (index > 0) clock.start();
      const checkout = join(cwd, String(index));
      mkdirSync(checkout);
      copyFileSync(join(ROOT, 'examples/ci/pipeline.sh'), join(checkout, 'pipeline.sh'));
      copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(checkout, 'scan.pdf'));
      if (index > 0) copyFileSync(join(cwd, '0', cached), join(checkout, cached));
      const variables = { ...env, WAIT_FOR: waitFor };
      exits.push((await bash(lines, variables, { cwd: checkout })).exitCode);
    }
    return { exits, posts: posts(), output: JSON.parse(readFileSync(join(cwd, '1/output.json'), 'utf8')) };
  }
  const continued = { exits: [8, 0], posts: 1, output: { customer: 'ACME' } };

  test.skipIf(LACKS.bash)(
    'examples/ci/github.yml: a second attempt continues with the run of the first',
    async () => {
      const save = step('actions/cache/save@');
      expect(await twoAttempts(`set -e; ${github}`, save?.with?.path ?? '')).toMatchObject(continued);
      expect(save?.if).toBe('always()');
    },
  );

  test('examples/ci/github.yml: an attempt restores the file of the latest attempt of the same workflow run', () => {
    const { key, path, 'restore-keys': prefix } = step('actions/cache/restore@')?.with ?? {};
    const inRun = (text = '', run: number, attempt: number) =>
      text
        .replace(/\$\{\{ github\.run_id \}\}/, String(run))
        .replace(/\$\{\{ github\.run_attempt \}\}/, String(attempt))
        .trim();
    const saved = step('actions/cache/save@')?.with;
    expect(saved).toEqual({ path, key });
    expect(inRun(key, 47, 2)).not.toBe(inRun(key, 47, 1));
    expect(inRun(saved?.key, 47, 1).startsWith(inRun(prefix, 47, 2))).toBe(true);
    for (const other of [4, 471])
      expect(inRun(saved?.key, other, 1).startsWith(inRun(prefix, 47, 1))).toBe(false);
  });

  test.skipIf(LACKS.bash)(
    'examples/ci/gitlab-ci.yml: a retry continues with the run of the first attempt',
    async () => {
      const { script = [], cache } = gitlab.read ?? {};
      const lines = script.filter((line) => line !== 'npm ci').join('\n');
      expect(await twoAttempts(`set -e; ${lines}`, cache?.paths[0] ?? '')).toMatchObject(continued);
      expect(cache).toMatchObject({ when: 'always', key: expect.stringContaining('$CI_PIPELINE_ID') });
    },
  );

  test.each([
    ['action.yml', action.runs.steps],
    ['github.yml', Object.values(jobs).flatMap(({ steps }) => steps)],
  ])('%s inserts no expression into the text of a script', (_name, steps) => {
    const programs = steps.flatMap(({ run }) => run ?? []);
    expect(programs.length).toBeGreaterThan(0);
    expect(programs.filter((program) => program.includes('${{'))).toEqual([]);
  });
});
