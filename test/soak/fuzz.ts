/** Fuzzes wfr with mutated responses and results files, and checks what it wrote: streams and files. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { REPORT_FILES } from '../helpers/reports.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';
import { Random } from './random.js';

export interface FuzzResult {
  /** What went wrong, with the number of the case. */
  violations: string[];
  /** How often each exit code occurred. */
  exits: Map<number, number>;
}

const TOKEN = 'SECRET-token-4711';
const HEADER = 'SECRET-header-4711';
const ARGUMENT = 'SECRET-argument-4711';
const SECRETS = [TOKEN, HEADER, ARGUMENT].flatMap((secret) => [
  secret,
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
]);
const SECRET = new RegExp(SECRETS.join('|'));
/** Stands for secrets that a service repeats, so that no mutation changes them. */
const ECHO = '\u00a4echo\u00a4';
/** Secrets as a service may repeat them, inside a string of JSON. */
const ENCODINGS: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => secret.replace(/-/g, '\\u002d'),
  (secret) => secret.replace(/[a-z]/g, (c) => `%${c.charCodeAt(0).toString(16)}`),
  (secret) => secret.replace(/-/g, '&#45;'),
];
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Texts that are put into responses and results files. */
const FRAGMENTS = [
  '\u001b]0;x\u0007',
  '\u009b31m',
  '\u202e',
  '\n::error::x\n',
  '##[error]x',
  '"\\u001b[2J"',
  '\\ud800',
  '\u0000',
  '{"',
  '[[[[[[[[',
  '1e400',
  '-1',
  '99999999999999999999',
  'null',
  '"FINISHED"',
  '"FAILED"',
  '"error":{"message":"\\u001b[31m","step":"\\u0007"},',
  '"id":"../x",',
  '"id":7,',
  '"output":"data:text/html;base64,PGI+",',
  '\r\n\r\n',
  'x'.repeat(5_000),
];

/** Changes a few bytes of a text (latin1): deletes, repeats, replaces or inserts. */
function mutate(text: string, random: Random): string {
  let mutated = text;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = random.below(mutated.length + 1);
    const length = random.below(random.chance(0.2) ? mutated.length : 12);
    const removed = mutated.slice(at, at + length);
    const replacement = random.pick([
      '',
      removed + removed,
      String.fromCharCode(random.below(256)),
      Buffer.from(random.pick(FRAGMENTS)).toString('latin1'),
    ]);
    mutated = mutated.slice(0, at) + replacement + mutated.slice(random.chance(0.5) ? at : at + length);
  }
  return mutated;
}

const VALUES: readonly unknown[] = [
  '\u001b]0;x\u0007\u009b31m',
  '\n::error::x\n##[error]x',
  '',
  'x'.repeat(5_000),
  -1,
  0,
  1e15,
  4,
  null,
  [],
  { id: '\u001b[2J', status: 'FAILED', error: { message: '\u001b[2J', step: '\u0085' } },
  { id: 'run-9', status: '\u001b[2J' },
];

/** Changes members of lines of JSON (latin1), so that most lines remain valid JSON. */
function mutateMembers(text: string, random: Random): string {
  const lines = text.trimEnd().split('\n');
  for (let count = 1 + random.below(2); count > 0; count--) {
    const at = random.below(lines.length);
    const members = JSON.parse(lines[at] ?? '') as Record<string, unknown>;
    members[random.pick(Object.keys(members))] = random.pick(VALUES);
    lines[at] = Buffer.from(JSON.stringify(members)).toString('latin1');
    if (random.chance(0.1)) lines.splice(at, 1);
  }
  return `${lines.join('\n')}\n`;
}

const STATUSES = [200, 201, 201, 201, 202, 204, 301, 303, 400, 401, 403, 404, 408, 422, 429, 500, 503];

/** Returns a response of bytes (latin1) with mutations in its body, its headers or both. */
function mutatedResponse(random: Random, secrets: readonly string[]): string {
  const run = random.pick([
    aRun(),
    aRun({ status: 'PENDING' }),
    aFinishedRun({ a: ['\u001b[2J', 'data:text/plain,x'], b: { c: 1e300 } }),
    aRun({ status: 'FAILED', error: { message: 'no\u001b[31m', step: 's\u0085' } }),
    { message: 'rejected', detail: 'why', errors: [{ field: 'a', message: 'b' }] },
    // A service that repeats what it was sent.
    { message: `the token ${ECHO} is invalid` },
    { error: ECHO },
    { [ECHO]: 1, message: 'unknown key' },
    aRun({ status: 'FAILED', error: { message: ECHO, step: ECHO } }),
    aRun({ status: ECHO }),
  ]);
  const latin1 = (text: string) => Buffer.from(text).toString('latin1');
  const echo = () => random.pick(ENCODINGS)(random.pick(secrets));
  const body = mutate(latin1(JSON.stringify(run)), random).replaceAll(latin1(ECHO), echo);
  const headers = [
    `content-length: ${body.length}`,
    'content-type: application/json',
    ...(random.chance(0.2) ? [`location: /runs/${mutate('run-1', random).replace(/[\r\n\0]/g, '')}`] : []),
    ...(random.chance(0.1) ? [`location: /runs/${encodeURIComponent(echo())}`] : []),
    ...(random.chance(0.2) ? [`retry-after: ${random.pick(['1', '1e400', '-1', 'x', '\u009b'])}`] : []),
  ].join('\r\n');
  const head = `HTTP/1.1 ${random.pick(STATUSES)} Text\r\n${headers}`;
  return `${random.chance(0.15) ? mutate(head, random) : head}\r\n\r\n${body}`;
}

const COMMANDS = [
  ['run', 'w', 'a=1'],
  ['run', 'w', '-v', '--json'],
  ['run', 'w', '-o', 'jsonl'],
  ['run', 'w', '--detach'],
  ['run', 'w', '--save-documents', 'documents'],
  ['run', 'w', 'a=1', '--once', 'once.jsonl'],
  ['status', 'run-1', '-v'],
  ['status', 'run-1', 'run-2', '-o', 'json'],
  ['watch', 'run-1', '-o', 'id'],
  ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'results.jsonl'],
];

/** Runs `count` commands against a service whose responses are all mutated. */
export async function fuzzResponses(seed: number, count: number): Promise<FuzzResult> {
  const random = new Random(seed);
  let usesCommand = false;
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    // wfr has not read the arguments of a command that it does not use.
    const secrets = [`Bearer ${TOKEN}`, HEADER, ...(usesCommand ? [ARGUMENT] : [])];
    reply.raw(mutatedResponse(random, secrets));
    // A body that is shorter than its length would only wait for a timeout.
    reply.socket.end();
  });
  const tokenCommand = [process.execPath, '-e', `console.log('${TOKEN}')`, ARGUMENT];
  const settings = { baseUrl: service.baseUrl, tokenCommand };
  const { env } = writeTestConfig({ profiles: { p: settings } });
  const cwd = temporaryFolder();
  const result: FuzzResult = { violations: [], exits: new Map() };
  for (let index = 0; index < count; index++) {
    const command = random.pick(COMMANDS);
    // Most use a variable: a process for each token would take most of the time.
    usesCommand = random.chance(0.05);
    const source = usesCommand ? ['--profile', 'p'] : ['--base-url', service.baseUrl];
    const secrets = usesCommand ? env : { WFR_TOKEN: TOKEN };
    const timeout = command[0] === 'status' || command.includes('--detach') ? [] : ['--timeout', '5s'];
    clearFolder(cwd);
    writeFileSync(join(cwd, 'rows.jsonl'), '{"a":1}\n{"a":2}\n');
    const reports = command[0] === 'status' ? [] : REPORT_FILES;
    const args = [...command, ...source, ...timeout, ...reports, '-H', `X-Key: ${HEADER}`];
    const world = { cwd, env: { XDG_STATE_HOME: join(cwd, 'state'), ...secrets }, canExec: true };
    await check(`response ${index} (seed ${seed}): ${args.join(' ')}`, args, world, result);
  }
  return result;
}

/** Runs `count` commands on mutations of a results file. */
export async function fuzzResultsFiles(seed: number, count: number): Promise<FuzzResult> {
  const random = new Random(seed);
  let runs = 0;
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    const isPost = request.method === 'POST';
    const id = isPost ? `run-${++runs}` : (request.path.split('/').at(-1) ?? '');
    reply.send(isPost ? 201 : 200, { ...(isPost ? aRun() : aFinishedRun({ x: '\u001b[2J' })), id });
  });
  const cwd = temporaryFolder();
  const world = { cwd, env: { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: TOKEN, WFR_HISTORY: '0' } };
  const batch = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'results.jsonl', '--timeout', '5s'];
  const once = ['run', 'w', 'a=1', '--once', 'results.jsonl', '--timeout', '5s'];
  const writeRows = () => writeFileSync(join(cwd, 'rows.jsonl'), '{"a":1}\n{"a":2}\n{"a":3}\n');
  const recordWith = async (args: string[]) => {
    clearFolder(cwd);
    writeRows();
    await runCli(args, world);
    return readFileSync(join(cwd, 'results.jsonl'), 'latin1');
  };
  const originals = [
    { command: batch, text: await recordWith(batch) },
    { command: once, text: await recordWith(once) },
  ];
  const result: FuzzResult = { violations: [], exits: new Map() };
  for (let index = 0; index < count; index++) {
    clearFolder(cwd);
    writeRows();
    const original = random.pick(originals);
    const mutated = random.chance(0.5) ? mutate(original.text, random) : mutateMembers(original.text, random);
    writeFileSync(join(cwd, 'results.jsonl'), mutated, 'latin1');
    const command = random.pick([['results', 'results.jsonl'], original.command]);
    const args = [...command, ...REPORT_FILES];
    const label = `results file ${index} (seed ${seed}): ${args.join(' ')}`;
    // The file itself has what the mutation put into it.
    await check(label, args, world, result, ['results.jsonl']);
  }
  return result;
}

async function check(
  label: string,
  args: string[],
  world: { cwd: string; env: Record<string, string> },
  { violations, exits }: FuzzResult,
  inputs: readonly string[] = [],
): Promise<void> {
  const { stdout, stderr, exitCode } = await runCli(args, world);
  exits.set(exitCode, (exits.get(exitCode) ?? 0) + 1);
  if (exitCode === 70) violations.push(`${label}: exit 70: ${stderr.slice(0, 1_000)}`);
  const written = [['stdout', stdout] as const, ['stderr', stderr] as const, ...filesBelow(world.cwd)];
  for (const [name, text] of written) {
    if (inputs.includes(name)) continue;
    const decoded = decode(withoutRuns(name, text, args));
    if (SECRET.test(decoded)) violations.push(`${label}: a secret in ${name}: ${around(decoded, SECRET)}`);
    // A document is written as the service sent it.
    if (name.startsWith('documents/')) continue;
    if (CONTROL.test(text)) violations.push(`${label}: a control byte in ${name}: ${around(text, CONTROL)}`);
  }
}

/** Returns what wfr wrote besides runs as the service sent them, which it never masks. */
function withoutRuns(name: string, text: string, args: readonly string[]): string {
  if (name === 'stdout' && args.some((arg) => ['json', 'jsonl', '--json'].includes(arg))) return '';
  return ['results.jsonl', 'once.jsonl'].includes(name) ? text.replace(/,"(?:id|run)":.*/g, '') : text;
}

/** Returns a text without the escapes of ENCODINGS. */
function decode(text: string): string {
  return text
    .replace(/&#(?:amp;)?45;|\\+u002d/gi, '-')
    .replace(/%([46][0-9a-f]|[57][0-9a])/gi, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function clearFolder(folder: string): void {
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  mkdirSync(folder);
}

function filesBelow(folder: string): [name: string, text: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]);
}

function around(text: string, pattern: RegExp): string {
  const at = text.search(pattern);
  return JSON.stringify(text.slice(Math.max(0, at - 80), at + 80));
}
