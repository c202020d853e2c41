/** Turns one mutant on and runs only the tests that reach it; without one, records which tests reach which mutants. */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';

const { MUTANT, MUTANTS_FOLDER } = process.env;
const active = MUTANT ? Number(MUTANT) : undefined;
const tests =
  active === undefined ? undefined : JSON.parse(readFileSync(`${MUTANTS_FOLDER}/tests.json`, 'utf8'));
let reached = new Set();
globalThis.isMutant = (id) => {
  reached.add(id);
  return id === active;
};

const nameOf = (task) => (task.suite ? `${nameOf(task.suite)} > ` : '') + task.name;
let isFirst = true;
let started = 0;

beforeEach((context) => {
  const name = nameOf(context.task);
  if (tests !== undefined && !tests.includes(name)) return context.skip();
  // What the modules themselves reach belongs to every test of the file.
  if (!isFirst) reached = new Set(atImport);
  else atImport = new Set(reached);
  isFirst = false;
  started = performance.now();
});
let atImport = new Set();

afterEach(({ task }) => {
  if (active !== undefined) return;
  const line = JSON.stringify({
    file: expect.getState().testPath,
    name: nameOf(task),
    reached: [...reached],
    hasFailed: task.result?.state === 'fail',
    ms: Math.round(performance.now() - started),
  });
  appendFileSync(`${MUTANTS_FOLDER}/reached.jsonl`, `${line}\n`);
});
