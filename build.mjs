/**
 * src/ -> dist/: CommonJS, as Node starts that faster than modules, in one file for each part that a command loads on
 * its own. The dependencies are inside, so that an installation is one package; not minified, with source maps, so that
 * a stack trace can be read.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const bundle = await rolldown({
  input: { main: 'src/main.ts' },
  platform: 'node',
  plugins: [rawText(), withoutUnused(), compiledAtOnce(), inAscii(), withPackageFiles()],
  // Says nothing where all is well, as it runs at each installation; a warning is a mistake.
  onLog(level, log) {
    if (level === 'warn') throw new Error(log.message);
  },
});
await bundle.write({
  dir: 'dist',
  cleanDir: true,
  format: 'cjs',
  sourcemap: true,
  dynamicImportInCjs: false,
  // A part is made of folders, never of files: moving a file inside its folder changes nothing of what a start loads.
  // What is in no group has a file for each `import()`, and each file costs a start a third of a millisecond.
  codeSplitting: {
    groups: [
      // What main.ts imports: every command loads it.
      { name: 'start', tags: ['$initial'] },
      // A mistake on the command line needs nothing else.
      { name: 'errors', test: inFolders('view/errors') },
      // What a command that talks to the service needs.
      {
        name: 'common',
        test: inFolders('commands/shared', 'config', 'history', 'platform', 'service', 'text', 'view'),
        minShareCount: 3,
      },
    ],
  },
  comments: { legal: true, jsdoc: false, annotation: false },
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
});
await bundle.close();

/** Path of a module in this project, with slashes: the names of the folders above must not change what is built. */
function projectPath(id) {
  return relative(import.meta.dirname, id).replaceAll('\\', '/');
}

function inFolders(...folders) {
  return (id) => folders.some((folder) => projectPath(id).startsWith(`src/${folder}/`));
}

/** `import text from './file?raw'` gives the text of the file, as it does in vitest. */
function rawText() {
  return {
    name: 'raw-text',
    load: {
      filter: { id: /\?raw$/ },
      handler: (id) => `export default ${JSON.stringify(readFileSync(id.slice(0, -'?raw'.length), 'utf8'))};`,
    },
    resolveId: {
      filter: { id: /\?raw$/ },
      handler: (id, importer) => resolve(dirname(importer), id),
    },
  };
}

/**
 * Parts of the dependencies that wfr never reaches, and that would cost time at every start: undici's HTTP/2 (ALPN
 * offers HTTP/1.1 alone) and the bodies of fetch (ours is an iterable), and commander's commands that are programs of
 * their own.
 */
function withoutUnused() {
  const STAND_INS = {
    nothing: 'module.exports = {};',
    // undici asks it for the default limit of an answer's head, and whether a stream is a server's request.
    http: 'module.exports = { maxHeaderSize: 16384, IncomingMessage: class {} };',
    // Loaded when an assertion fails, so that it fails as ever.
    assert: `module.exports = (value, message) => value || require('assert')(value, message);
      module.exports.strictEqual = (a, b, message) => a === b || require('assert').strictEqual(a, b, message);`,
  };
  const standIn = (id, importer = '') => {
    const from = projectPath(importer);
    if (from.startsWith('node_modules/commander/') && id === 'node:child_process') return 'nothing';
    if (!from.startsWith('node_modules/undici/')) return;
    if (/\/(client-h2|web\/fetch\/body)\.js$/.test(id)) return 'nothing';
    if (id === 'node:http') return 'http';
    if (id === 'node:assert') return 'assert';
  };
  return {
    name: 'without-unused',
    resolveId(id, importer) {
      const name = standIn(id, importer);
      return name && `\0${name}`;
    },
    load: (id) => STAND_INS[id.slice(1)],
  };
}

/**
 * V8 compiles a function expression in parentheses together with what is around it; an arrow function is parsed once to
 * be skipped and once more to be called.
 */
function compiledAtOnce() {
  return {
    name: 'compiled-at-once',
    renderChunk: (code) => ({
      code: code.replaceAll(/(__commonJSMin\(\()\((exports, module|exports)\) => \{/g, '$1function($2) {'),
      map: null,
    }),
  };
}

/** One letter beyond ASCII, and V8 holds the whole file as UTF-16, which takes longer to decode and to scan. */
function inAscii() {
  const escaped = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'in-ascii',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) chunk.code &&= chunk.code.replaceAll(/[^\0-\x7f]/g, escaped);
    },
  };
}

/** Says that dist/ is CommonJS, and brings along the licences of what is inside. */
function withPackageFiles() {
  const packages = new Set();
  return {
    name: 'package-files',
    moduleParsed({ id }) {
      const [folder] =
        /^node_modules\/(.*\/node_modules\/)?(@[^/]+\/)?[^/]+(?=\/)/.exec(projectPath(id)) ?? [];
      if (folder !== undefined) packages.add(folder);
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' });
      this.emitFile({
        type: 'asset',
        fileName: 'LICENSES.txt',
        source: [...packages].sort().map(licence).join('\n'),
      });
    },
  };
}

function licence(folder) {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n\n${'-'.repeat(72)}\n`;
}
