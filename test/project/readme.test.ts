/** The README and docs/ are true: their commands run, and their tables are those of the program. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EXIT_CODE_MEANINGS } from '../../src/exit-code.js';
import { temporaryFolder } from '../helpers/cli.js';
import { bash, EXECUTABLE, ROOT, start, startWfr } from '../helpers/process.js';
import { fastClock, startTestSandbox } from '../helpers/sandbox.js';
import { LACKS } from '../helpers/system.js';

const PAGES = [
  'README.md',
  'skills/wfr/SKILL.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];
const ALL_PAGES = [...PAGES, 'CONTRIBUTING.md', 'SECURITY.md'];

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** Returns the code blocks of a page that are marked with a language. */
const blocks = (page: string, language: string) =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );

/** Every block marked `sh`; those marked `bash` cannot run here. */
const commands = PAGES.flatMap((page) => blocks(page, 'sh').map((block) => [page, block] as const));
const isSetUp = (block: string) => block.startsWith('npm ci');
/** A block in which each line ends with the exit code that it has. */
const hasExitCodes = (block: string) => block.includes('./pipeline.sh');
const tasks = commands.filter(([, block]) => !isSetUp(block) && !hasExitCodes(block));
const linesWithExitCodes = commands
  .filter(([, block]) => hasExitCodes(block))
  .flatMap(([page, block]) =>
    block
      .trim()
      .split('\n')
      .map((line) => [page, line] as const),
  );

/** What jq does in the documentation, for a machine without jq. */
const JQ = `jq() { '${process.execPath}' -p "JSON.parse(require('fs').readFileSync(0)).document.sha256"; }; export -f jq\n`;

/** Returns a folder with the document that the commands send: that of a clone, and that of an agent. */
function folderWithDocument(): string {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'examples'));
  for (const name of ['examples/invoice.pdf', 'scan.pdf'])
    copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, name));
  return cwd;
}

describe('the commands in README.md and docs/', () => {
  test('README.md: the first commands install wfr, run the demo and run the tests', () => {
    const setUp = commands.filter(([, block]) => isSetUp(block));
    expect(setUp).toEqual([
      ['README.md', 'npm ci && npm run demo\n'],
      ['README.md', 'npm ci && npm test\n'],
    ]);
    expect(tasks.length).toBeGreaterThan(15);
    expect(linesWithExitCodes.length).toBe(8);
  });

  test.skipIf(EXECUTABLE)('README.md: the demo prints what the README shows', async () => {
    const { stdout, stderr, exitCode } = await start('npm', ['run', '--silent', 'demo'], {}, { cwd: ROOT })
      .ended;
    expect(exitCode).toBe(0);
    const [shown = ''] = blocks('README.md', 'text');
    expect(shown).toContain(stdout);
    expect(stderr).toMatch(/^Run [0-9a-f-]{36} \(version invoice v3\)$/m);
    expect(stderr).toMatch(/^Finished: 4 of 4 steps in \d\S*$/m);
  });

  // Most of their time they wait for the next poll.
  test.skipIf(LACKS.bash).concurrent.for(tasks)(
    '%s: these commands succeed: %s',
    async ([_page, task], { onTestFinished }) => {
      const cwd = folderWithDocument();
      const { env } = await startTestSandbox({ clock: fastClock }, onTestFinished);
      mkdirSync(join(cwd, 'wfr'));
      writeFileSync(join(cwd, 'wfr/config.json'), blocks('docs/configuration.md', 'json')[0] ?? '');
      mkdirSync(join(cwd, '.secrets'));
      writeFileSync(join(cwd, '.secrets/workflows-test'), 'the token of the example');
      // The example's password manager, which few machines have.
      writeFileSync(join(cwd, 'pass'), '', { mode: 0o700 });
      const isFailing = task.includes('case $code');
      const { exitCode, stdout, stderr } = await bash(
        // As GitHub Actions runs a step.
        `set -e\nPATH="$PATH:${cwd}"\n${JQ}${task}`,
        { ...env, HOME: cwd, XDG_CONFIG_HOME: cwd },
        { cwd },
      );
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.not.stringContaining('wfr: ') });
      if (isFailing) expect(stdout).toBe('the run failed: its step and message are above\n');
      if (task.includes('jq')) expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
    },
  );

  test.skipIf(LACKS.bash).concurrent.each(linesWithExitCodes)(
    '%s: this line exits as it says: %s',
    async (_page, line) => {
      const cwd = folderWithDocument();
      copyFileSync(join(ROOT, 'examples/ci/pipeline.sh'), join(cwd, 'pipeline.sh'));
      const [command = '', code] = line.split(/ +# (\d+): /);
      expect((await bash(command, {}, { cwd })).exitCode).toBe(Number(code));
    },
  );

  test('docs/ci.md: the step of a GitHub workflow uses only inputs of the action', () => {
    const [, step] = parse(blocks('docs/ci.md', 'yaml')[2] ?? '');
    const action = parse(read('action.yml'));
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
    expect(step.uses).toBe('./wfr');
  });

  test('docs/ci.md: the job of GitLab keeps the record and the JUnit report, also when it fails', () => {
    const { invoice } = parse(blocks('docs/ci.md', 'yaml')[0] ?? '');
    const [, command] = invoice.script;
    expect(invoice).toMatchObject({
      cache: { paths: [/--once (\S+)/.exec(command)?.[1]], when: 'always' },
      artifacts: { reports: { junit: /junit=(\S+)/.exec(command)?.[1] }, when: 'always' },
    });
  });

  test('the pages say how to be told of an end, and what a terminal shows in its tab', () => {
    expect(read('docs/scripting.md')).toContain('`wfr watch @last && notify-send ');
    expect(read('docs/output.md')).toMatch(/\btab\b[^.]*\(OSC 9;4\)/);
  });

  test('no page or example that people paste names a placeholder or another version', () => {
    const { version } = JSON.parse(read('package.json'));
    const examples = ['ci', 'scale'].flatMap((folder) =>
      readdirSync(join(ROOT, 'examples', folder)).map((file) => `examples/${folder}/${file}`),
    );
    for (const page of [...ALL_PAGES, ...examples]) {
      const isForMaintainers = page === 'docs/install.md' || page === 'CONTRIBUTING.md';
      if (!isForMaintainers)
        expect(read(page)).not.toMatch(/\bOWNER\b|\bVERSION\b|\bowner\/|ghcr\.io|\bregistry\./);
      const versions = [...read(page).matchAll(/wfr[-:@]v?(\d+\.\d+\.\d+)/g)].map(([, other]) => other);
      expect(versions.filter((other) => other !== version)).toEqual([]);
    }
  });

  test('docs/sandbox.md: wfr sandbox --workflows accepts the workflows file', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'w.json'), blocks('docs/sandbox.md', 'json')[0] ?? '');
    const { stdout, exitCode } = await startWfr(['sandbox', '--workflows', 'w.json', '--list'], {}, { cwd })
      .ended;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\/examples\/invoice\.pdf'? pages:=1/);
  });
});

/** Returns the targets of the links on a page that are files or headings of this repository. */
const links = (page: string) =>
  [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target));

/** Returns the anchors of the headings on a page, as GitHub makes them. */
const anchors = (page: string) =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

describe('the pages', () => {
  test.each(ALL_PAGES)('%s: every link leads to a file, and to a heading of it', (page) => {
    for (const target of links(page)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      expect(existsSync(join(ROOT, file)), target).toBe(true);
      if (anchor !== undefined) expect(anchors(file)).toContain(anchor);
    }
  });

  test('README.md: every page for users is linked, and the one for maintainers only in CONTRIBUTING.md', () => {
    const pages = ALL_PAGES.filter((page) => page !== 'docs/architecture.md');
    expect(links('README.md')).toEqual(expect.arrayContaining(pages.slice(1)));
    const linking = ALL_PAGES.filter((page) =>
      links(page).some((target) => target.includes('architecture.md')),
    );
    expect(linking).toEqual(['CONTRIBUTING.md']);
  });

  test('the pages are short: the README, the CHANGELOG, those for users, and all of them', () => {
    const words = (page: string) => read(page).split(/\s+/).filter(Boolean).length;
    const sum = (pages: readonly string[]) => pages.reduce((total, page) => total + words(page), 0);
    const isForUsers = (page: string) => /^docs\/(?!architecture|faults|reference)|^README/.test(page);
    expect(words('README.md')).toBeLessThanOrEqual(1_000);
    expect(sum(ALL_PAGES.filter(isForUsers))).toBeLessThanOrEqual(7_500);
    expect(words('CHANGELOG.md')).toBeLessThanOrEqual(400);
    expect(sum([...ALL_PAGES, 'CHANGELOG.md'])).toBeLessThanOrEqual(17_000);
  });

  test('docs/scripting.md: the table of exit codes is that of wfr help exit-codes', () => {
    for (const [codes, meaning] of EXIT_CODE_MEANINGS)
      expect(read('docs/scripting.md')).toContain(`\n|${codes}|${meaning}|\n`);
  });

  test('docs/configuration.md: every environment variable is described, as in wfr help environment', async () => {
    const { stdout } = await startWfr(['help', 'environment']).ended;
    const configuration = read('docs/configuration.md');
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
      expect(configuration).toContain(name);
      expect(stdout).toContain(name);
    }
  });
});
