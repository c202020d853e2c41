/** Measures the start-up time of commands, compared with `node -e 0` and other tools. */
import { execFileSync } from 'node:child_process';
import { BIN, isInstalled, measure, measureInTurn, printComparison, startService, title } from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 21);
const node = process.execPath;

title('Start-up');
const sandbox = await startService(node, [BIN, 'sandbox']);
const [, baseUrl, token] = /WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=(\S+)/.exec(sandbox.text);
const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: token };
const trigger = ['run', '51000000-2f3a-4b4c-9d5e-6f7a8b9c0d1e', 'label=x', '--detach'];
const id = execFileSync(node, [BIN, ...trigger], { env, encoding: 'utf8', stdio: 'pipe' }).trim();

const wfr = (name, args, options = {}) => ({ name, run: () => measure(node, [BIN, ...args], options) });
const candidates = [
  { name: 'node -e 0', run: () => measure(node, ['-e', '0']) },
  wfr('wfr --version', ['--version']),
  wfr('wfr --help', ['--help']),
  wfr('wfr run w bad (a usage error)', ['run', 'w', 'bad'], { env, expect: 2 }),
  wfr('wfr --bad (a usage error)', ['--bad'], { expect: 2 }),
  wfr('wfr status <id>, loopback', ['status', id], { env }),
];
if (isInstalled('gh')) candidates.push({ name: 'gh --version', run: () => measure('gh', ['--version']) });
if (isInstalled('http'))
  candidates.push({ name: 'http --version', run: () => measure('http', ['--version']) });

const results = await measureInTurn(candidates, ROUNDS);
printComparison('whole process', results, 'node -e 0');
sandbox.stop();
