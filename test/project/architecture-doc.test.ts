/** The diagram in docs/architecture.md is that of the code; `npm run docs` updates it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../helpers/process.js';
import { findImports, readSources } from '../helpers/source-tree.js';

const path = join(ROOT, 'docs/architecture.md');
const doc = readFileSync(path, 'utf8');
const sources = readSources();

/** The folder of a source file, or the file itself, as a name in the diagram. */
const folderOf = (file: string) => (/^[^/]+(?=\/)/.exec(file)?.[0] ?? file).replace(/\.ts$/, '');

/** Returns the lines of the diagram, one for each folder and kind of arrow: `report --> errors & text`. */
function drawImports(): string {
  const own = findImports(sources).filter(({ to }) => sources.has(to));
  const edges = own
    .map(({ from, to, isTypeOnly }) => ({ from: folderOf(from), to: folderOf(to), isTypeOnly }))
    .filter(({ from, to }) => from !== to);
  return [...new Set([...sources.keys()].map(folderOf))]
    .sort()
    .flatMap((folder) => {
      const targets = (isTypeOnly: boolean) =>
        new Set(
          edges.filter((edge) => edge.from === folder && edge.isTypeOnly === isTypeOnly).map(({ to }) => to),
        );
      const loaded = targets(false);
      const typesOnly = [...targets(true)].filter((target) => !loaded.has(target));
      return [draw(folder, '-->', [...loaded]), draw(folder, '-.->', typesOnly)];
    })
    .join('');
}

const draw = (from: string, arrow: string, targets: string[]) =>
  targets.length === 0 ? '' : `  ${from} ${arrow} ${targets.sort().join(' & ')}\n`;

test('docs/architecture.md: the diagram shows exactly the imports between the folders of src/', async () => {
  const updated = doc.replace(/(```mermaid\nflowchart TD\n)[^`]*/, (_, head) => head + drawImports());
  await expect(updated).toMatchFileSnapshot(path);
});

test('docs/architecture.md: the table has every folder of src/', () => {
  const rows = [...doc.matchAll(/^\| `([a-z-]+)[/.`]/gm)].map(([, name]) => name);
  expect(new Set(rows)).toEqual(new Set([...sources.keys()].map(folderOf)));
});
