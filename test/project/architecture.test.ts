/** The rooms of the code: who may import whom. Data flows down this list, and imports go the same way. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

const ROOMS = [
  ['main.ts'],
  ['cli/'],
  ['commands/'],
  ['sandbox/'],
  ['report/', 'completion/'],
  ['batch/'],
  ['config/', 'history/', 'documents/'],
  ['inputs/'],
  ['follow.ts', 'failed-polls.ts', 'view/'],
  ['service/', 'exit-code.ts'],
  ['sink.ts'],
  ['interruption.ts', 'awake-time.ts'],
  ['context.ts'],
  ['output.ts'],
  [
    'json/',
    'byte-order-mark.ts',
    'capture.ts',
    'duration.ts',
    'engine.ts',
    'limits.ts',
    'make-folder.ts',
    'proc.ts',
    'path.ts',
    'same-file.ts',
    'shell-quote.ts',
    'system-error.ts',
    'url.ts',
    'version.ts',
  ],
  ['errors.ts', 'local-errors.ts'],
];

/** Which file or folder is the only importer of a package. */
const ONLY_IMPORTER: Readonly<Record<string, string>> = {
  commander: 'cli/',
  undici: 'service/transport.ts',
  ora: 'view/live-line.ts',
  chalk: 'view/format.ts',
  'mime-types': 'inputs/media-type.ts',
  'csv-parse': 'batch/csv.ts',
};

interface Import {
  from: string;
  /** Relative to src, or a package's name. */
  to: string;
  isTypeOnly: boolean;
  isDynamic: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /(?<!\.d)\.ts$/.test(file),
);
const sources = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));
const imports = [...sources].flatMap(([from, source]) => importsOf(from, source));

function importsOf(from: string, source: string): Import[] {
  const found = source.matchAll(/^(?:import|export)\b([^;']*?)from '([^']+)'|\bimport\('([^']+)'\)/gm);
  return [...found].map(([, what = '', written, dynamic]) => {
    const target = written ?? dynamic ?? '';
    const to = target.startsWith('.')
      ? relative(SRC, join(SRC, dirname(from), target)).replace(/\.js$/, '.ts')
      : target;
    const names = what.replace(/[{}]/g, '').split(',');
    const isTypeOnly =
      /^\s*type\b/.test(what) || (what.includes('{') && names.every((name) => /^\s*(type\b.*)?$/.test(name)));
    return { from, to, isTypeOnly, isDynamic: dynamic !== undefined };
  });
}

const roomOf = (file: string) =>
  ROOMS.findIndex((room) =>
    room.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place)),
  );
const own = imports.filter(({ to }) => sources.has(to));

describe('the rooms', () => {
  test('every file is in one of them, and every import was understood', () => {
    expect(files.filter((file) => roomOf(file) < 0)).toEqual([]);
    expect(own.length).toBeGreaterThan(100);
    expect(imports.filter(({ to }) => to.endsWith('.ts') && !sources.has(to))).toEqual([]);
  });

  test('no import goes back up', () => {
    // A type that a room above gives a shape to is no dependency on what it does.
    const upward = own.filter(({ from, to, isTypeOnly }) => roomOf(to) < roomOf(from) && !isTypeOnly);
    expect(upward).toEqual([]);
  });

  test('what a run is, and the errors, import nothing of ours', () => {
    expect(own.filter(({ from }) => from === 'service/run.ts' || from === 'errors.ts')).toEqual([]);
  });

  test('the view does not send, and what sends does not show', () => {
    const sends = (file: string) => file.startsWith('service/') || file === 'follow.ts';
    expect(own.filter(({ from, to }) => sends(from) && to.startsWith('view/'))).toEqual([]);
    const senders = [
      'service/create-run.ts',
      'service/get-run.ts',
      'service/transport.ts',
      'service/connect.ts',
    ];
    expect(own.filter(({ from, to }) => from.startsWith('view/') && senders.includes(to))).toEqual([]);
  });

  test('the sandbox is imported by its command alone, and shares nothing with the client', () => {
    const isOutside = ({ from, to }: Import) => to.startsWith('sandbox/') && !from.startsWith('sandbox/');
    const command = ['commands/sandbox.ts', 'commands/sandbox-options.ts'];
    expect(new Set(own.filter(isOutside).map(({ from }) => from))).toEqual(new Set(command));
    const ofSandbox = own.filter(({ from, to }) => from.startsWith('sandbox/') && !to.startsWith('sandbox/'));
    expect(ofSandbox.map(({ to }) => to)).toEqual(['duration.ts']);
    // Its command is loaded only when it is asked for.
    const loaders = own.filter(
      ({ to, isDynamic, isTypeOnly }) => command.includes(to) && !isDynamic && !isTypeOnly,
    );
    expect(loaders.map(({ from }) => from)).toEqual(['commands/sandbox.ts']);
  });

  test('reports are written by commands, and loaded only where one was asked for', () => {
    const uses = own.filter(
      ({ from, to, isTypeOnly }) => to.startsWith('report/') && !from.startsWith('report/') && !isTypeOnly,
    );
    expect(uses).toEqual([
      // The names of their kinds.
      { from: 'commands/complete-values.ts', to: 'report/requests.ts', isTypeOnly: false, isDynamic: true },
      { from: 'commands/with-reports.ts', to: 'report/reports.ts', isTypeOnly: false, isDynamic: true },
    ]);
  });

  test('the HTML page is loaded only where it was asked for', () => {
    const uses = own.filter(
      ({ from, to }) => to.startsWith('report/html/') && !from.startsWith('report/html/'),
    );
    expect(uses).toEqual([
      { from: 'report/requests.ts', to: 'report/html/page.ts', isTypeOnly: false, isDynamic: true },
    ]);
  });

  test('what completes on Tab is loaded only then', () => {
    const isOfTab = (file: string) => /^(completion\/|cli\/place|commands\/complete)/.test(file);
    const loaders = own.filter(
      ({ from, to, isTypeOnly, isDynamic }) => isOfTab(to) && !isOfTab(from) && !isTypeOnly && !isDynamic,
    );
    expect(loaders).toEqual([]);
  });

  test('each package has one importer, and there are no others', () => {
    // What is imported as text has the file's whole name, with ?raw at its end.
    const packages = imports.filter(({ to }) => !/^node:|\.(ts|json)$|\?raw$/.test(to));
    const nameOf = (to: string) => /^(@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? '';
    for (const { from, to } of packages) {
      expect([to, from]).toEqual([to, expect.stringMatching(`^${ONLY_IMPORTER[nameOf(to)]}`)]);
    }
    expect(new Set(packages.map(({ to }) => nameOf(to)))).toEqual(new Set(Object.keys(ONLY_IMPORTER)));
  });

  test.each([
    [/(?<![\w.])process\.(?!node)/, ['context.ts'], 'process'],
    [
      /(?<![.\w])(Date\.now|performance\.now|setTimeout|setInterval|new Date\(\))/,
      ['context.ts'],
      'the clock',
    ],
    [/\bMath\.random\b/, ['context.ts'], 'chance'],
    [/\bconsole\./, [], 'the console'],
    [/\bprocess\.exit\(/, [], 'process.exit'],
  ])('%s is only in %j: nothing else touches %s', (pattern, allowed) => {
    const found = [...sources]
      .filter(([, source]) => pattern.test(withoutComments(source)))
      .map(([file]) => file);
    expect(found.filter((file) => !allowed.includes(file))).toEqual([]);
  });

  test('no file is longer than about 200 lines', () => {
    const long = [...sources].filter(([, source]) => source.split('\n').length > 220).map(([file]) => file);
    expect(long).toEqual([]);
  });
});

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}
