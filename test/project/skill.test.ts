/** The skill for agents: it is short, complete, and true. Its commands run in readme.test.ts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EXIT_CODE_MEANINGS } from '../../src/exit-code.js';
import { runCli } from '../helpers/cli.js';
import { ROOT } from '../helpers/process.js';

const skill = readFileSync(join(ROOT, 'skills/wfr/SKILL.md'), 'utf8');

describe('skills/wfr/SKILL.md', () => {
  test('help --skill: prints the file of the package', async () => {
    expect(await runCli(['help', '--skill'])).toMatchObject({ stdout: skill, stderr: '', exitCode: 0 });
  });

  test('the skill begins with its name, that of its folder, and a description of when to use it', () => {
    const [, header = ''] = /^---\n(\S[\s\S]*?)\n---\n/.exec(skill) ?? [];
    const { name, description, ...others } = parse(header);
    expect({ name, others }).toEqual({ name: 'wfr', others: {} });
    expect(description).toContain('Use it to');
    expect(description.length).toBeLessThan(1_024);
  });

  test('the skill has at most 120 lines', () => {
    expect(skill.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  test('the skill has the next step after every exit code', () => {
    const rows = [...skill.matchAll(/^\| \*{0,2}(\d[\d-]*)\*{0,2} +\|/gm)].map(([, codes]) => codes);
    const codes = EXIT_CODE_MEANINGS.map(([codes]) => codes.replace(', 130, ', '-'));
    expect(rows).toEqual(codes);
  });

  test('every command and flag of the skill exists', async () => {
    const commands = new Set([...skill.matchAll(/\bwfr ([a-z]+)/g)].map(([, command = '']) => command));
    expect([...commands]).toEqual(
      expect.arrayContaining(['run', 'watch', 'status', 'batch', 'results', 'sandbox']),
    );
    const helps = await Promise.all([...commands].map((command) => runCli(['help', command])));
    expect(helps.map(({ exitCode }) => exitCode)).toEqual(helps.map(() => 0));
    const known = helps.map(({ stdout }) => stdout).join('');
    const flags = new Set([...skill.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag));
    expect(flags.size).toBeGreaterThan(8);
    expect([...flags].filter((flag) => !known.includes(flag))).toEqual([]);
  });
});
