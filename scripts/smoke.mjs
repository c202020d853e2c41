/**
 * Runs common commands with another wfr, such as an executable of another system in an emulator, and with that of this clone,
 * and prints what differs: `npm run smoke -- qemu-aarch64-static -L /usr/aarch64-linux-gnu ./wfr`
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = dirname(import.meta.dirname);
const HERE = [process.execPath, join(ROOT, 'bin/wfr.js')];
const STEPS = [{ name: 'Read', duration: '100ms' }];
const ECHO = {
  id: '11111111-0000-4000-8000-000000000000',
  versionName: 'echo v1',
  parameters: { scan: 'document', label: 'string' },
  steps: STEPS,
  output: { label: '{{label}}', digest: '{{scan.sha256}}', copy: '{{scan}}' },
};
const FAILING = {
  id: '22222222-0000-4000-8000-000000000000',
  versionName: 'failing v1',
  parameters: { label: 'string' },
  steps: STEPS,
  output: {},
  failure: { step: 'Read', message: 'unreadable' },
};
const INPUTS = ['scan@scan.pdf', 'label=x y'];
const RUN = ['run', ECHO.id, ...INPUTS, '--interval', '20ms'];
const BATCH = ['batch', ECHO.id, '--each', 'scan', 'scan*.pdf', '-i', 'label=x', '--interval', '20ms'];
const REPORTS = ['junit=r.xml', 'markdown=r.md', 'json=r.json'];

/** Each one in the same folder as those before it. */
const COMMANDS = [
  ['--version'],
  ['--help'],
  ['help', 'inputs'],
  ['--bad'],
  ['run', ECHO.id, 'scan@missing.pdf', 'label'],
  ['run', ECHO.id, 'bad', '--json'],
  ['config', 'show'],
  ['completion', 'bash'],
  [...RUN, '--dry-run'],
  RUN,
  [...RUN, '-o', 'json'],
  [...RUN, '--get', '/label'],
  [...RUN, '--get', '/missing'],
  [...RUN, '--save-documents', 'documents'],
  [...RUN, '--once', 'once.jsonl'],
  [...RUN, '--once', 'once.jsonl'],
  [...RUN, '--detach'],
  ['watch', '@last', '--interval', '20ms'],
  ['status', '@last', '-o', 'json'],
  ['status', ECHO.id],
  ['history', '--json'],
  ['run', FAILING.id, 'label=x', '--interval', '20ms', '--report', 'json=failed.json'],
  [...BATCH, '--check'],
  [
    ...BATCH,
    '--results',
    'results.jsonl',
    '--concurrency',
    '1',
    ...REPORTS.flatMap((to) => ['--report', to]),
  ],
  [...BATCH, '--results', 'results.jsonl'],
  ['results', 'results.jsonl', '-o', 'json'],
  ['sandbox', '--workflows', 'workflows.json', '--', 'wfr', ...RUN],
  ['sandbox', '--reject', '503', '--workflows', 'workflows.json', '--', 'wfr', ...RUN],
];

const work = mkdtempSync(join(tmpdir(), 'wfr-smoke-'));
const sandbox = await startSandbox();
const expected = runAll(HERE, join(work, 'here'));
const actual = runAll(process.argv.slice(2), join(work, 'there'));
sandbox.child.kill();
rmSync(work, { recursive: true, force: true });

const different = COMMANDS.filter((command, index) =>
  printDifferences(command, expected[index], actual[index]),
);
console.log(`${COMMANDS.length - different.length} commands alike, ${different.length} different`);
process.exitCode = different.length === 0 ? 0 : 1;

async function startSandbox() {
  const workflows = join(work, 'workflows.json');
  writeFileSync(workflows, JSON.stringify({ workflows: [ECHO, FAILING] }));
  const [node, wfr] = HERE;
  const stdio = ['ignore', 'pipe', 'ignore'];
  const child = spawn(node, [wfr, 'sandbox', '--workflows', workflows], { stdio });
  const text = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
  // As a line of sh, or on Windows of PowerShell.
  const assigned = (name) => new RegExp(`\\b${name} ?= ?'?([^\\s']+)`).exec(text)[1];
  return { child, env: { WFR_BASE_URL: assigned('WFR_BASE_URL'), WFR_TOKEN: assigned('WFR_TOKEN') } };
}

/** Returns, for each command, its exit code and what it wrote, by name of the file. */
function runAll([program, ...first], folder) {
  mkdirSync(folder);
  for (const name of ['scan.pdf', 'scan 2.pdf'])
    copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(folder, name));
  copyFileSync(join(work, 'workflows.json'), join(folder, 'workflows.json'));
  writeFileSync(join(folder, 'config.json'), '{}');
  const own = {
    WFR_CONFIG: 'config.json',
    XDG_STATE_HOME: join(folder, '.state'),
    LOCALAPPDATA: join(folder, '.state'),
    XDG_CACHE_HOME: folder,
  };
  const env = { ...process.env, ...sandbox.env, ...own };
  return COMMANDS.map((args) => {
    const before = new Set(readdirSync(folder, { recursive: true }));
    // Files, as a Node under Wine cannot write to a pipe.
    const stdio = [
      openSync(devNull, 'r'),
      openSync(join(folder, '.stdout'), 'w'),
      openSync(join(folder, '.stderr'), 'w'),
    ];
    const { status, error } = spawnSync(program, [...first, ...args], { cwd: folder, env, stdio });
    for (const fd of stdio) closeSync(fd);
    const made = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .filter(
        (path) => path === '.stdout' || path === '.stderr' || !(path.startsWith('.') || before.has(path)),
      );
    const texts = made.map((path) => [path, mask(readFileSync(join(folder, path), 'latin1'), folder)]);
    return { 'the exit code': error?.message ?? String(status), ...Object.fromEntries(texts) };
  });
}

/** Replaces what differs between any two runs, such as whether a run had ended before it was watched, and between systems. */
function mask(text, folder) {
  const neutral = (path) => path.replaceAll(/\\+/g, '/');
  return neutral(text)
    .replaceAll(neutral(`Z:${folder}`), '')
    .replaceAll(neutral(folder), '')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?/g, 'TIME')
    .replaceAll(/^TIMEZ? .*\n/gm, '')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(
      /"(digest|salt|inputs|host|pid|space|token|file|by|duration\w*)":\s*("[^"]*"|[\d.]+|\{[^}]*\})/g,
      '"$1"',
    )
    .replaceAll(/\b\d+(\.\d+)?( ms| s|s|ms)\b|time="[\d.]+"/g, 'DURATION')
    .replaceAll(', watched for DURATION', '')
    .replaceAll(/<(svg|ol)\b.*?<\/\1>/gs, 'FIGURE')
    .replaceAll(/ {3,}/g, '  ');
}

/** Returns whether anything differs. */
function printDifferences(command, here, there) {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])];
  const differing = names.filter((name) => here[name] !== there[name]);
  for (const name of differing)
    console.log(`wfr ${command.join(' ')}: ${name}\n- ${here[name]}\n+ ${there[name]}\n`);
  return differing.length > 0;
}
