/**
 * Changes the sources in random places, one at a time, in a copy of the project with a build of its own, and runs the tests
 * until one fails: a change that no test notices is a gap, or has no effect.
 * `npm run mutate -- [--sample 150] [--seed 1] [--only src/service/]`
 */
import { execFileSync, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

/** Pairs of operators and methods; each may be mistaken for the other. */
const PAIRS = [
  ['<', '<='],
  ['>', '>='],
  ['===', '!=='],
  ['+', '-'],
  ['*', '/'],
  ['&&', '||'],
  ['+=', '-='],
  ['startsWith', 'endsWith'],
  ['some', 'every'],
  ['min', 'max'],
  ['floor', 'ceil'],
  ['indexOf', 'lastIndexOf'],
  ['padStart', 'padEnd'],
];
const MISTAKES = new Map([...PAIRS, ...PAIRS.map(([a, b]) => [b, a])]);
const OMITTED_CALLS = /^(trim|trimEnd|filter|sort|reverse|slice|toWellFormed|replace|replaceAll)$/;
/** A run of the tests that takes longer (ms) never ends: the change was noticed. */
const TIMEOUT = 600_000;

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '150' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    only: { type: 'string', default: 'src/' },
  },
});
const mutants = takeSample(findSources().flatMap(findMutants), values.seed, Number(values.sample));
const copy = makeCopy();
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

console.log(`${mutants.length} changes, seed ${values.seed}`);
if (!(await run('build.mjs')) || !(await passes('test'))) throw new Error('the tests fail without a change');
const counts = { noticed: 0, MISSED: 0 };
for (const mutant of mutants) {
  const outcome = (await isNoticed(mutant)) ? 'noticed' : 'MISSED';
  counts[outcome] += 1;
  console.log(`${outcome}  ${mutant.file}:${mutant.line}  ${mutant.from}  →  ${mutant.to || '(left out)'}`);
}
console.log(`${counts.noticed} noticed, ${counts.MISSED} missed`);

function findSources() {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).map((name) => `src/${name}`);
  return files.filter((file) => /(?<!\.d)\.ts$/.test(file) && file.startsWith(values.only)).sort();
}

/** Takes `count` of the mutants, in the order of their digests, so that a seed repeats them. */
function takeSample(found, seed, count) {
  const digest = (mutant) => hash('sha256', seed + JSON.stringify(mutant));
  return found.sort((a, b) => (digest(a) < digest(b) ? -1 : 1)).slice(0, count);
}

/** Copies what git knows of the project. The copy uses the packages of this one. */
function makeCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'wfr-mutants-'));
  const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const name of tracked) cpSync(name, join(folder, name));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Runs the tests of the change's own folder first: most changes are noticed there. */
async function isNoticed({ file, start, end, to }) {
  const source = readFileSync(file, 'utf8');
  writeFileSync(join(copy, file), source.slice(0, start) + to + source.slice(end));
  try {
    if (!(await run('build.mjs'))) return true;
    for (const folder of [dirname(file).replace(/^src/, 'test'), 'test']) {
      if (!(await passes(folder))) return true;
    }
    return false;
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

/** Resolves with whether the tests of a folder pass. What a busy machine lets fail once is tried again. */
async function passes(folder) {
  return (await runTests(folder)) || (await runTests(folder));
}

/** Runs the tests of a folder; those of test/project are about more than the sources. */
function runTests(folder) {
  const flags = ['--project=unit', '--bail=1', '--passWithNoTests', '--exclude=test/project/**'];
  return run('node_modules/vitest/vitest.mjs', 'run', ...flags, `${folder}/`);
}

/** Resolves with whether a script succeeds in the copy; one that takes too long is killed with its children. */
function run(...args) {
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', detached: true });
  const kill = () => process.kill(-child.pid, 'SIGKILL');
  const timer = setTimeout(kill, TIMEOUT);
  process.once('exit', kill);
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      process.removeListener('exit', kill);
      resolve(code === 0);
    });
  });
}

/** Returns what could be changed in a file: `{ file, line, start, end, from, to }`, offsets in characters. */
function findMutants(file) {
  const source = readFileSync(file, 'utf8');
  const found = [];
  const text = ({ start, end }) => source.slice(start, end);
  const add = (node, to) => {
    const line = source.slice(0, node.start).split('\n').length;
    const from = text(node).replace(/\s+/g, ' ').slice(0, 80);
    found.push({ file, line, start: node.start, end: node.end, from, to });
  };
  const visit = (node, parent, key) => {
    // Types have no effect; `value as Type` and `value!` do.
    if (node.type.startsWith('TS')) return node.expression && visit(node.expression, node, 'expression');
    if (/^(ImportDeclaration|Export(All|Named)Declaration)$/.test(node.type) && node.source) return;
    const isName =
      key === 'key' || key === 'source' || parent.directive || parent.type === 'TaggedTemplateExpression';
    if (!isName) mutate(node, parent, text, add);
    for (const [name, child] of Object.entries(node))
      for (const each of [child].flat()) if (typeof each?.type === 'string') visit(each, node, name);
  };
  visit(parseAst(source, { lang: 'ts', astType: 'ts' }), { type: 'none' }, '');
  return found;
}

function mutate(node, parent, text, add) {
  const { type, operator, value } = node;
  const other = MISTAKES.get(operator);
  if (/^(Binary|Logical|Assignment)Expression$/.test(type) && other)
    add(
      node,
      type.startsWith('A')
        ? `${text(node.left)} ${other} ${text(node.right)}`
        : `((${text(node.left)}) ${other} (${text(node.right)}))`,
    );
  else if (operator === '??' || operator === '!') add(node, `(${text(node.left ?? node.argument)})`);
  else if (type === 'ConditionalExpression' || type === 'IfStatement')
    for (const to of ['true', 'false']) add(node.test, to);
  else if (type === 'Literal' && typeof value === 'string') add(node, value === '' ? "'mutant'" : "''");
  else if (type === 'Literal' && typeof value === 'number') add(node, `${value + 1}`);
  else if (type === 'Literal' && typeof value === 'boolean') add(node, `${!value}`);
  else if (type === 'TemplateLiteral') add(node, "''");
  else if (type === 'ArrayExpression' && node.elements.length > 0) add(node, '[]');
  else if (type === 'ObjectExpression' && node.properties.length > 0) add(node, '({})');
  else if (type === 'ArrowFunctionExpression' && node.expression) add(node.body, 'undefined');
  else if (type === 'ExpressionStatement' && !node.directive && node.expression.callee?.type !== 'Super')
    add(node, ';');
  else if (type === 'BlockStatement' && node.body.length > 0) add(node, '{}');
  else if (type === 'MemberExpression' && parent.callee === node && !node.computed) {
    const { name } = node.property;
    if (OMITTED_CALLS.test(name)) add(parent, text(node.object));
    if (MISTAKES.has(name)) add(node.property, MISTAKES.get(name));
  }
}
