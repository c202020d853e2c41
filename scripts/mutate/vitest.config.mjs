/** The tests, with the mutants of MUTANTS_FOLDER compiled into the sources. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { compileMutants } from './mutants.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const mutants = JSON.parse(readFileSync(`${process.env.MUTANTS_FOLDER}/mutants.json`, 'utf8'));
const plugin = {
  name: 'mutants',
  enforce: 'pre',
  transform(source, id) {
    const own = mutants.filter(({ file }) => `${root}${file}` === id);
    return own.length === 0 ? undefined : { code: compileMutants(source, own), map: null };
  },
};

const unit = base.test.projects.find(({ test }) => test.name === 'unit').test;
export default defineConfig({
  root,
  plugins: [plugin],
  test: {
    ...base.test,
    projects: undefined,
    ...unit,
    env: { ...unit.env, THOROUGH: '1' },
    // What a module itself reaches is recorded for each file that imports it.
    isolate: true,
    setupFiles: [...base.test.setupFiles, fileURLToPath(new URL('setup.mjs', import.meta.url))],
  },
});
