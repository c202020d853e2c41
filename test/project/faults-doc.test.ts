/** Every fault in docs/faults.md is tested; `npm run docs` updates the links to the tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toPosix } from '../helpers/files.js';
import { ROOT } from '../helpers/process.js';

const path = join(ROOT, 'docs/faults.md');
const doc = readFileSync(path, 'utf8');

interface NamedTest {
  file: string;
  title: string;
}

/** The first test of each fault, by number: its title ends with "(fault 12)" or "(faults 12, 13)". */
const tests = new Map<number, NamedTest>();
const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map(toPosix)
  .filter((file) => file.endsWith('.test.ts') && file !== 'project/faults-doc.test.ts')
  .sort();
for (const file of files) {
  const text = readFileSync(join(ROOT, 'test', file), 'utf8');
  for (const [, , title = '', numbers = ''] of text.matchAll(
    /(['"`])((?:(?!\1).)*) \(faults? ([\d, ]+)\)\1/g,
  ))
    for (const number of numbers.split(', ').map(Number))
      if (!tests.has(number)) tests.set(number, { file, title });
}

const rows = [...doc.matchAll(/^\| +(\d+) +\|.*$/gm)].map(([row, number]) => ({
  row,
  number: Number(number),
}));

/** Returns a link to the file of a test; what its title is completed with is shown as "…". */
function link({ file, title }: NamedTest): string {
  const text = title.replace(/\$\{\w+\}|%[ijs]/g, '…').replaceAll('|', '\\|');
  return `[${text}](../test/${file})`;
}

describe('docs/faults.md', () => {
  test('docs/faults.md: every number has a test that names it, and every named number has a row', () => {
    const numbers = rows.map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
    expect(numbers.filter((number) => !tests.has(number))).toEqual([]);
    expect([...tests.keys()].filter((number) => !numbers.includes(number))).toEqual([]);
  });

  test('docs/faults.md: each row links to the test that names it', async () => {
    const updated = doc.replace(/^(\| +(\d+) +\|.*\|)[^|]*(?:\\\|[^|]*)*\|$/gm, (row, start, number) => {
      const found = tests.get(Number(number));
      return found === undefined ? row : `${start} ${link(found)} |`;
    });
    await expect(updated).toMatchFileSnapshot(path);
  });
});
