/** The rules of the source tree: imports go down a list of folders, and each outside thing has one importer. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../helpers/process.js';
import { findImports, type Import, readSources } from '../helpers/source-tree.js';

/** Data flows down this list, and imports go the same way. */
const LAYERS = [
  'main.ts',
  'program.ts',
  'commands/',
  'report/',
  'view/',
  'runs/',
  'outcome/',
  'table/',
  'output-documents/',
  'config/',
  'history/',
  'inputs/',
  'service/',
  'sandbox/',
  'platform/',
  'parameters/',
  'errors.ts',
  'text/',
  'exit-code.ts',
];

/** The only importers of each package. */
const IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  commander: ['program.ts', 'commands/'],
  undici: ['service/transport.ts'],
  ora: ['view/progress/painter.ts'],
  chalk: ['view/presentation.ts'],
  'mime-types': ['inputs/media-type.ts'],
  'cross-spawn': ['platform/exec.ts'],
  tinyglobby: ['inputs/folder-files.ts'],
  'string-width': ['view/table.ts'],
};

const sources = readSources();
const files = [...sources.keys()];
const imports = findImports(sources);

const isIn = (path: string, file: string) => (path.endsWith('/') ? file.startsWith(path) : file === path);
const layerOf = (file: string) => LAYERS.findIndex((layer) => isIn(layer, file));
const own = imports.filter(({ to }) => sources.has(to));

describe('the source tree', () => {
  test('every file belongs to a layer, and every relative import names a file', () => {
    expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
    expect(own.length).toBeGreaterThan(100);
    expect(imports.filter(({ to }) => to.endsWith('.ts') && !sources.has(to))).toEqual([]);
  });

  test('docs/architecture.md lists the layers in their order', () => {
    const doc = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
    const listed = Array.from(doc.matchAll(/^\| `([a-z-]+(?:\.ts|\/))/gm), ([, layer]) => layer);
    expect([...new Set(listed)]).toEqual(LAYERS);
  });

  test('no file imports from a layer above its own, not even a type', () => {
    const upward = own.filter(({ from, to }) => layerOf(to) < layerOf(from));
    expect(upward).toEqual([]);
  });

  test('no files import each other in a circle, not even for types', () => {
    expect(files.filter((file) => reachableFrom(file, own).has(file))).toEqual([]);
  });

  test('exit-code.ts and service/run.ts import nothing of ours', () => {
    expect(own.filter(({ from }) => from === 'service/run.ts' || from === 'exit-code.ts')).toEqual([]);
  });

  test('service/, outcome/ and runs/ never import view/', () => {
    const isBelow = ({ from }: Import) => /^(service|outcome|runs)\//.test(from);
    expect(own.filter((use) => isBelow(use) && use.to.startsWith('view/'))).toEqual([]);
  });

  test('view/ never imports what sends', () => {
    const senders = ['create-run.ts', 'get-run.ts', 'follow-run.ts', 'transport.ts', 'connect.ts'];
    for (const sender of senders) expect(files).toContain(`service/${sender}`);
    const uses = own.filter(({ from }) => from.startsWith('view/'));
    expect(uses.filter(({ to }) => senders.some((sender) => to === `service/${sender}`))).toEqual([]);
  });

  test('the sandbox is imported by its command alone, and imports only parameters/ and text/', () => {
    const across = own.filter(({ from, to }) => from.startsWith('sandbox/') !== to.startsWith('sandbox/'));
    const isAllowed = ({ from, to }: Import) =>
      from.startsWith('commands/sandbox/') || /^(parameters|text)\//.test(to);
    expect(across.filter((use) => !isAllowed(use))).toEqual([]);
  });

  test('a command imports no other command, except that completion knows them all', () => {
    const commandOf = (file: string) => /^commands\/([^/]+)\//.exec(file)?.[1];
    const isAllowed = ({ from, to }: Import) =>
      [commandOf(from), 'shared', undefined].includes(commandOf(to)) || commandOf(from) === 'completion';
    const ofCommands = own.filter(({ from }) => commandOf(from) !== undefined);
    expect(ofCommands.filter((use) => !isAllowed(use))).toEqual([]);
  });

  test('every start loads commander and the flags of the commands, and no other package or work', () => {
    const isLoaded = ({ isDynamic, isTypeOnly }: Import) => !isDynamic && !isTypeOnly;
    const loaded = reachableFrom('main.ts', imports.filter(isLoaded));
    expect([...loaded].filter((name) => !/^node:|\.(ts|json)$/.test(name))).toEqual(['commander']);
    const isOfStart = (file: string) =>
      /^([^/]+|platform\/.*|text\/(nearest|secret-mask|wrap)|report\/formats|commands\/(shared\/.*|[^/]+\/flags))\.ts$/.test(
        file,
      );
    expect([...loaded].filter((name) => sources.has(name) && !isOfStart(name))).toEqual([]);
  });

  test('reports are loaded only where one was requested', () => {
    const isReport = (file: string) => file.startsWith('report/') && file !== 'report/formats.ts';
    const uses = own.filter(({ from, to }) => isReport(to) && !isReport(from));
    expect(uses.filter(({ isTypeOnly, isDynamic }) => !isTypeOnly && !isDynamic)).toEqual([]);
  });

  test('each package has its own importers, and no other package is imported', () => {
    // What is imported as text has the file's whole name, with ?raw at its end.
    const packages = imports.filter(({ to }) => !/^node:|\.(ts|json)$|\?raw$/.test(to));
    const nameOf = (to: string) => /^(@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? '';
    const isAllowed = ({ from, to }: Import) => IMPORTERS[nameOf(to)]?.some((path) => isIn(path, from));
    expect(packages.filter((use) => !isAllowed(use))).toEqual([]);
    expect(new Set(packages.map(({ to }) => nameOf(to)))).toEqual(new Set(Object.keys(IMPORTERS)));
  });

  test.each([
    ['process', /(?<![\w.])process\.(?!node)/],
    ['the clock', /(?<![.\w])(Date\.now|performance\.now|setTimeout|setInterval|new Date\(\))/],
    ['random numbers', /\bMath\.random\b/],
  ])('only platform/context.ts uses %s', (_thing, pattern) => {
    expect(filesWith(pattern)).toEqual(['platform/context.ts']);
  });

  test.each([
    ['the console', /\bconsole\./],
    ['process.exit()', /\bprocess\.exit\(/],
  ])('no file uses %s', (_thing, pattern) => {
    expect(filesWith(pattern)).toEqual([]);
  });
});

/** Everything that `file` leads to through `uses`; `file` itself only where there is a way back to it. */
function reachableFrom(file: string, uses: readonly Import[], seen = new Set<string>()): Set<string> {
  for (const { from, to } of uses) {
    if (from === file && !seen.has(to)) reachableFrom(to, uses, seen.add(to));
  }
  return seen;
}

function filesWith(pattern: RegExp): string[] {
  return [...sources].filter(([, source]) => pattern.test(withoutComments(source))).map(([file]) => file);
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}
