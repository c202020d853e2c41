/** Every fault in docs/faults.md is tested; `npm run docs` updates the names of the tests' files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toPosix } from '../helpers/files.js';
import { ROOT } from '../helpers/process.js';

const path = join(ROOT, 'docs/faults.md');
const doc = readFileSync(path, 'utf8');

/** The file with the first test of each fault, by number: its title ends with "(fault 12)" or "(faults 12, 13)". */
const tests = new Map<number, string>();
const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map(toPosix)
  .filter((file) => file.endsWith('.test.ts') && file !== 'project/faults-doc.test.ts')
  .sort();
for (const file of files) {
  const text = readFileSync(join(ROOT, 'test', file), 'utf8');
  for (const [, numbers = ''] of text.matchAll(/ \(faults? ([\d, ]+)\)['"`]/g))
    for (const number of numbers.split(', ').map(Number)) if (!tests.has(number)) tests.set(number, file);
}

describe('docs/faults.md', () => {
  test('docs/faults.md: every number has a test that names it, and every named number has a row', () => {
    const numbers = Array.from(doc.matchAll(/^\| *(\d+) *\|/gm), ([, number]) => Number(number));
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
    expect(numbers.filter((number) => !tests.has(number))).toEqual([]);
    expect([...tests.keys()].filter((number) => !numbers.includes(number))).toEqual([]);
  });

  test('docs/faults.md: each row names the file of its first test, and no cell is padded', async () => {
    const updated = doc.replace(/^\| *(\d+) *\|.*\|$/gm, (row, number) => {
      const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
      const file = tests.get(Number(number))?.replace(/\.test\.ts$/, '');
      return [...cells.slice(0, 7), file ?? cells[7], ''].join('|');
    });
    await expect(updated).toMatchFileSnapshot(path);
  });
});
