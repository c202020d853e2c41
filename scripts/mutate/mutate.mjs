/**
 * Changes the sources in random places, one at a time, and runs the tests that reach the place: each change that no test
 * notices is a gap, or has no effect. Places that only real processes reach are tried in a copy with a build of its own:
 * not with --in-process. `npm run mutate -- [--sample 150] [--seed 1] [--only src/batch/] [--in-process]`.
 */
import { spawn } from 'node:child_process';
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

const folder = mkdtempSync(join(tmpdir(), 'wfr-mutants-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const all = findMutants('src').filter(({ file }) => file.startsWith(values.only));
const mutants = takeSample(all, Number(values.sample));
console.log(`${mutants.length} of ${all.length} mutants, seed ${seed}`);
writeFileSync(join(folder, 'mutants.json'), JSON.stringify(mutants));
const testsOf = await findTests();
const results = [];
for (const mutant of mutants) {
  const outcome = await tryMutant(mutant);
  results.push({ ...mutant, outcome });
  if (outcome !== 'killed') console.log(describe(mutant, outcome));
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

/** Runs all tests once without a mutant; resolves with the tests that reach each: names by file. */
async function findTests() {
  const exclude = PROCESSES.flatMap((pattern) => ['--exclude', pattern]);
  await vitest(
    ['--config', 'scripts/mutate/vitest.config.mjs', ...exclude],
    { MUTANTS_FOLDER: folder },
    3 * TIMEOUT,
  );
  const tests = mutants.map(() => new Map());
  if (!existsSync(join(folder, 'reached.jsonl'))) throw new Error('no test has run');
  for (const line of readFileSync(join(folder, 'reached.jsonl'), 'utf8').trimEnd().split('\n')) {
    const { file, name, reached } = JSON.parse(line);
    for (const id of reached) tests[id].set(file, [...(tests[id].get(file) ?? []), name]);
  }
  return tests;
}

async function tryMutant(mutant) {
  const tests = testsOf[mutant.id];
  if (tests.size === 0) return values['in-process'] ? 'not reached' : tryInCopy(mutant);
  writeFileSync(join(folder, 'tests.json'), JSON.stringify([...tests.values()].flat()));
  // The tests of the folder that the mutant is in fail first.
  const near = (file) => (file.includes(`/test/${roomOf(mutant)}`) ? 0 : 1);
  const files = [...tests.keys()].sort((a, b) => near(a) - near(b));
  const env = { MUTANTS_FOLDER: folder, MUTANT: String(mutant.id) };
  const config = ['--config', 'scripts/mutate/vitest.config.mjs', '--bail', '1'];
  const first = files.slice(0, 5);
  const code = await vitest([...config, ...first], env, TIMEOUT);
  if (code !== 0 || files.length <= first.length) return code === 0 ? 'SURVIVED' : 'killed';
  return (await vitest([...config, ...files.slice(5)], env, TIMEOUT)) === 0 ? 'SURVIVED' : 'killed';
}

/** Builds a copy of the project with the mutant in it, and runs the tests that start processes. */
async function tryInCopy({ file, start, end, kind, to }) {
  const copy = join(folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  for (const name of [
    'src',
    'test',
    'bin',
    'examples',
    'scripts',
    'docs',
    'action',
    'package.json',
    'package-lock.json',
    'build.mjs',
    'vitest.config.ts',
    'config.schema.json',
    'README.md',
    'CHANGELOG.md',
    'LICENSE',
    'tsconfig.json',
  ]) {
    cpSync(name, join(copy, name), { recursive: true });
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  const source = readFileSync(file, 'utf8');
  writeFileSync(
    join(copy, file),
    source.slice(0, start) + (kind === 'expression' ? `(${to})` : to) + source.slice(end),
  );
  if ((await run(process.execPath, ['build.mjs'], {}, TIMEOUT, copy)) !== 0) return 'killed';
  return (await vitest(['--project', 'unit', '--bail', '1', ...PROCESS_TESTS], {}, TIMEOUT, copy)) === 0
    ? 'SURVIVED (processes)'
    : 'killed';
}

function vitest(args, env, timeout, cwd) {
  return run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], env, timeout, cwd);
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

function describe({ file, line, from, to }, outcome) {
  const short = (text) => (text.length > 70 ? `${text.slice(0, 70)}…` : text).replace(/\s+/g, ' ');
  return `${outcome}  ${file}:${line}  ${short(from)}  →  ${short(to) || '(left out)'}`;
}

function printTable(tried) {
  const rooms = [...new Set(tried.map(roomOf))].sort();
  const count = (room, pattern) =>
    tried.filter((each) => (room === '' || roomOf(each) === room) && pattern.test(each.outcome)).length;
  console.log(`\n${'folder'.padEnd(24)} mutants  killed  survived  not reached   killed`);
  for (const room of [...rooms, '']) {
    const [tested, killed] = [count(room, /./), count(room, /killed/)];
    const cells = [tested, killed, count(room, /SURVIVED/), count(room, /not reached/)].map((cell, index) =>
      String(cell).padStart([7, 7, 9, 12][index]),
    );
    console.log(
      `${(room || 'all').padEnd(24)} ${cells.join(' ')}   ${String(Math.round((100 * killed) / tested)).padStart(5)} %`,
    );
  }
}
