/** The workflows of .github: valid, with the least permissions, and each step a script that runs elsewhere, too. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateWorkflow } from '@action-validator/core';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../helpers/process.js';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Job {
  permissions?: Record<string, string>;
  'timeout-minutes'?: number;
  steps: Step[];
}

interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe.each(['ci', 'release'])('the workflow %s.yml', (name) => {
  const text = read(`.github/workflows/${name}.yml`);
  const { permissions, jobs } = parse(text) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test('is what the published schema allows', () => {
    // The validator's copy of the schema is older than the permission for attestations.
    const known = text.replace('attestations: write', 'deployments: write');
    expect(validateWorkflow(known).errors).toEqual([]);
    expect(validateWorkflow(known.replaceAll('runs-on', 'runs-of')).errors).not.toEqual([]);
  });

  test('names the commit of each action, with its version', () => {
    const lines = text.split('\n').filter((line) => line.includes('uses:'));
    expect(lines.length).toBe(steps.filter(({ uses }) => uses !== undefined).length);
    for (const line of lines) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    // One version of each action.
    const actions = [...new Set(lines.map((line) => line.replace(/^.*uses: /, '')))];
    expect(new Set(actions.map((action) => action.split('@')[0])).size).toBe(actions.length);
  });

  test('runs only scripts of this project, which are executable', () => {
    const programs = steps.flatMap(({ run }) => run ?? []);
    expect(programs.length).toBeGreaterThan(0);
    for (const program of programs) {
      const [script = ''] = program.split(' ');
      expect(script).toMatch(/^\.ci\/[a-z]+$/);
      expect(program).not.toContain('${{');
      if (process.platform !== 'win32') accessSync(join(ROOT, script), constants.X_OK);
    }
  });

  test('leaves no credentials in a checkout, and gives each job a time to end', () => {
    for (const { uses, with: inputs } of steps)
      if (uses?.startsWith('actions/checkout@')) expect(inputs?.['persist-credentials']).toBe(false);
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('may write nothing but what its jobs publish', () => {
    const writes = Object.entries(jobs).flatMap(([job, { permissions: own = {} }]) =>
      Object.entries(own)
        .filter(([, access]) => access === 'write')
        .map(([scope]) => `${job}: ${scope}`),
    );
    const published = [
      'attest: attestations',
      'attest: id-token',
      'npm: id-token',
      'github: contents',
      'image: packages',
    ];
    expect(writes).toEqual(name === 'release' ? published : []);
    expect(Object.values(permissions)).toEqual(name === 'release' ? [] : ['read']);
  });
});

test('ci.yml covers the oldest Node that package.json supports, and every system', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml'));
  const matrix: { system: string; node: string | number }[] = jobs.test.strategy.matrix.include;
  const nodesOf = (system: string) =>
    matrix.filter((entry) => entry.system.startsWith(system)).map(({ node }) => String(node));
  expect(nodesOf('ubuntu-24.04')).toEqual(['20.19.0', '22', '24', '26', '24']);
  expect(nodesOf('windows')).toEqual(['20.19.0', '24']);
  expect(nodesOf('macos')).toEqual(['24']);
});

test('release.yml begins with a tag alone', () => {
  expect((parse(read('.github/workflows/release.yml')) as Workflow).on).toEqual({ push: { tags: ['v*'] } });
});

test('release.yml runs the executable of every target on its system before anything is published', () => {
  const { jobs } = parse(read('.github/workflows/release.yml'));
  const tried = jobs.smoke.strategy.matrix.include.map(({ target }: { target: string }) => target);
  const targets = Object.keys(JSON.parse(read('scripts/node-binaries.json')).integrity);
  // .ci/executable runs all tests with that of linux-x64, where it is made.
  expect([...tried, 'linux-x64'].sort()).toEqual(targets.sort());
  expect(jobs.attest.needs).toEqual(['files', 'smoke']);
  expect(jobs.npm.needs).toBe('attest');
});
