/**
 * Changes the sources in random places, one at a time, and runs the tests that reach the place: each change that no test
 * notices is a gap, or has no effect. Places that only real processes reach are tried in a copy with a build of its own:
 * not with --in-process. `npm run mutate -- [--sample 150] [--seed 1] [--only src/batch/] [--in-process] [--verbose]`;
 * --verbose lists what was noticed, too, and the test that did.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findMutants } from './mutants.mjs';

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '150' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    only: { type: 'string', default: 'src/' },
    'in-process': { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
/** Tests that start wfr as a process; the mutants are not in it. */
const PROCESSES = ['test/project/**', 'test/bin.test.ts', 'test/soak/{kill,pair}*'];
/** In the copy: the tests of processes, those that say most first. */
const PROCESS_TESTS = [
  'test/bin.test.ts',
  'test/platform',
  'test/faults',
  'test/commands/sandbox',
  'test/soak',
  'test/project/pipeline.test.ts',
];
/** A mutant that runs for longer (ms) never ends. */
const TIMEOUT = 300_000;

/** What vitest says of a test or a hook that took too long. */
const TIMED_OUT = /(Test|Hook) timed out/;
const CONFIG = ['--config', 'scripts/mutate/vitest.config.mjs'];

const folder = mkdtempSync(join(tmpdir(), 'wfr-mutants-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const RESULT = join(folder, 'result.json');

const all = findMutants('src').filter(({ file }) => file.startsWith(values.only));
const mutants = takeSample(all, Number(values.sample));
console.log(`${mutants.length} of ${all.length} mutants, seed ${seed}`);
writeFileSync(join(folder, 'mutants.json'), JSON.stringify(mutants));
const testsOf = await findTests();
let excludedInCopy = [];
const results = [];
for (const mutant of mutants) {
  const result = { ...mutant, ...(await tryMutant(mutant)) };
  results.push(result);
  if (result.outcome !== 'killed' || values.verbose) console.log(describe(result));
}
printTable(results);

/** Takes some of every folder, and the more the larger it is. */
function takeSample(found, count) {
  const random = createRandom(seed);
  const shuffled = found.map((mutant) => ({ mutant, key: random() })).sort((a, b) => a.key - b.key);
  const rooms = groupByRoom(shuffled);
  const atLeast = Math.min(4, Math.floor(count / rooms.size));
  const taken = [...rooms.values()].flatMap((room) =>
    room.slice(0, Math.max(atLeast, Math.round((room.length / found.length) * count))),
  );
  return taken.map(({ mutant }, id) => ({ id, ...mutant }));
}

function groupByRoom(shuffled) {
  const rooms = new Map();
  for (const each of shuffled)
    rooms.set(roomOf(each.mutant), [...(rooms.get(roomOf(each.mutant)) ?? []), each]);
  return rooms;
}

function roomOf({ file }) {
  const path = dirname(relative('src', file)).split(sep);
  return path[0] === '.' ? 'src/*.ts' : path.slice(0, path[0] === 'commands' ? 2 : 1).join('/');
}

/** Mulberry32. */
function createRandom(start) {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Runs all tests once without a mutant; resolves with those that reach each: `{ names, ms }` by file, in the order to run. */
async function findTests() {
  const exclude = PROCESSES.flatMap((pattern) => ['--exclude', pattern]);
  await vitest([...CONFIG, ...exclude], { MUTANTS_FOLDER: folder }, 3 * TIMEOUT);
  if (!existsSync(join(folder, 'reached.jsonl'))) throw new Error('no test has run');
  const lines = readFileSync(join(folder, 'reached.jsonl'), 'utf8').trimEnd().split('\n');
  const passed = lines.map((line) => JSON.parse(line)).filter(isPassed);
  return mutants.map((mutant) => {
    const files = new Map();
    // A module is loaded by the first test of a file that needs it, and used by others.
    const reaches = ({ reached }) => reached.includes(mutant.id);
    const loading = new Set(passed.filter(reaches).map(({ file }) => file));
    for (const test of passed) {
      if (!reaches(test) && !(mutant.atImport && loading.has(test.file))) continue;
      const { names, ms } = files.get(test.file) ?? { names: [], ms: 0 };
      files.set(test.file, { names: [...names, test.name], ms: ms + test.ms });
    }
    // Those of the folder that the mutant is in, and then the fastest, first.
    const rank = ([file, { ms }]) => (file.includes(`/test/${roomOf(mutant)}`) ? 0 : 1e9) + ms;
    return new Map([...files].sort((a, b) => rank(a) - rank(b)));
  });
}

/** Whether a test passes without a mutant: others would kill every mutant. */
function isPassed({ file, name, hasFailed }) {
  if (hasFailed) console.log(`left out, as it fails without a mutant: ${relative('.', file)}: ${name}`);
  return !hasFailed;
}

async function tryMutant(mutant) {
  const tests = testsOf[mutant.id];
  if (tests.size === 0)
    return values['in-process'] ? { outcome: 'not reached', reason: '' } : tryInCopy(mutant);
  const names = [...tests.values()].flatMap((each) => each.names);
  writeFileSync(join(folder, 'tests.json'), JSON.stringify(names));
  const env = { MUTANTS_FOLDER: folder, MUTANT: String(mutant.id) };
  const files = [...tests.keys()];
  for (const part of [files.slice(0, 2), files.slice(2, 8), files.slice(8, 32), files.slice(32)]) {
    const code = part.length === 0 ? 0 : await vitest([...CONFIG, '--bail', '1', ...part], env, TIMEOUT);
    if (code !== 0) return readFailure();
  }
  return { outcome: 'SURVIVED', reason: '' };
}

/** Builds a copy of the project with the mutant in it, and runs the tests that start processes. */
async function tryInCopy(mutant) {
  const copy = join(folder, 'copy');
  if (!existsSync(copy)) {
    const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
    for (const name of tracked) cpSync(name, join(copy, name));
    symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
    excludedInCopy = await findFailingFiles(copy);
  }
  const source = readFileSync(mutant.file, 'utf8');
  writeFileSync(join(copy, mutant.file), replaceIn(source, mutant));
  const result = await runInCopy(copy, ['--bail', '1', ...excludedInCopy]);
  writeFileSync(join(copy, mutant.file), source);
  return result;
}

/** Resolves with arguments that leave out the files that fail without a mutant. */
async function findFailingFiles(copy) {
  const { outcome } = await runInCopy(copy, []);
  if (outcome === 'SURVIVED') return [];
  const failing = failures().map(({ file }) => file);
  for (const file of failing) console.log(`left out, as it fails without a mutant: ${relative(copy, file)}`);
  return failing.flatMap((file) => ['--exclude', relative(copy, file)]);
}

async function runInCopy(copy, args) {
  if ((await run(process.execPath, ['build.mjs'], {}, TIMEOUT, copy)) !== 0)
    return { outcome: 'killed', reason: 'the build' };
  const runTests = (tests) => vitest(['--project', 'unit', ...args, ...tests], {}, 3 * TIMEOUT, copy);
  for (let tries = 1; ; tries++) {
    if ((await runTests(PROCESS_TESTS)) === 0) return { outcome: 'SURVIVED', reason: 'processes' };
    const failure = readFailure();
    // On a busy machine, a process may be late: what fails once is tried again alone.
    const files = failures().map(({ file }) => relative(copy, file));
    if (tries === 3 || files.length === 0 || (await runTests(files)) !== 0) return failure;
  }
}

function replaceIn(source, { start, end, kind, to }) {
  return source.slice(0, start) + (kind === 'expression' ? `(${to})` : to) + source.slice(end);
}

/** Returns what has noticed a mutant. */
function readFailure() {
  const failed = failures();
  const first = failed.find(({ message }) => !TIMED_OUT.test(message));
  if (first === undefined && (failed.length > 0 || !existsSync(RESULT)))
    return { outcome: 'timed out', reason: failed[0]?.name ?? `${TIMEOUT / 1000} s` };
  return { outcome: 'killed', reason: first?.name ?? 'an error outside of a test' };
}

/** Returns the tests that have failed, or the files: `{ file, name, message }`. */
function failures() {
  if (!existsSync(RESULT)) return [];
  return JSON.parse(readFileSync(RESULT, 'utf8'))
    .testResults.filter(({ status }) => status === 'failed')
    .flatMap(({ name: file, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      if (failed.length === 0) return [{ file, name: relative('.', file), message }];
      return failed.map((each) => ({ file, name: each.fullName, message: each.failureMessages.join('\n') }));
    });
}

/** Runs tests, whose results are then in the file RESULT; resolves with the exit code. */
function vitest(args, env, timeout, cwd) {
  rmSync(RESULT, { force: true });
  const report = ['--reporter', 'json', '--outputFile', RESULT];
  const all = ['node_modules/vitest/vitest.mjs', 'run', ...report, ...args];
  return run(process.execPath, all, env, timeout, cwd);
}

/** Resolves with the exit code; a process that takes too long is killed with its children. */
function run(command, args, env, timeout, cwd = process.cwd()) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: 'ignore',
    detached: true,
  });
  const kill = () => process.kill(-child.pid, 'SIGKILL');
  const timer = setTimeout(kill, timeout);
  process.once('exit', kill);
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      process.removeListener('exit', kill);
      resolve(code);
    });
  });
}

function describe({ file, line, from, to, outcome, reason }) {
  const short = (text) => (text.length > 70 ? `${text.slice(0, 70)}…` : text).replace(/\s+/g, ' ');
  const by = reason && ` (${reason})`;
  return `${outcome}  ${file}:${line}  ${short(from)}  →  ${short(to) || '(left out)'}${by}`;
}

/** A mutant with which a test does not end counts as killed. */
function printTable(tried) {
  const outcomes = ['killed', 'timed out', 'SURVIVED', 'not reached'];
  const row = (name, cells) =>
    console.log(name.padEnd(22) + cells.map((cell) => String(cell).padStart(13)).join(''));
  console.log();
  row('folder', ['mutants', ...outcomes.map((outcome) => outcome.toLowerCase()), 'noticed']);
  for (const room of [...new Set(tried.map(roomOf))].sort().concat('all')) {
    const own = tried.filter((each) => room === 'all' || roomOf(each) === room);
    const counts = outcomes.map((outcome) => own.filter((each) => each.outcome === outcome).length);
    row(room, [own.length, ...counts, `${Math.round((100 * (counts[0] + counts[1])) / own.length)} %`]);
  }
}
