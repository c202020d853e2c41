/**
 * Bundles src/ and its dependencies into dist/: an installation is one package. The files are CommonJS, which Node
 * starts faster than modules, one for each part that a command loads on its own. They are not minified and have source
 * maps, so that stack traces can be read. `node build.mjs <folder> scripts/executable-main.cjs` makes the one file of an
 * executable.
 */
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { billOfMaterials, licences } from './scripts/bundled-packages.mjs';

const [directory = 'dist', entry = 'src/main.ts'] = process.argv.slice(2);
const isOneFile = entry !== 'src/main.ts';
const { rolldown } = await importRolldown();

const bundle = await rolldown({
  input: { main: entry },
  platform: 'node',
  transform: { typescript: { optimizeEnums: true } },
  // Its module for import() asks for its own path, which a file inside an executable does not have.
  resolve: {
    alias: { fdir: resolve(import.meta.dirname, 'node_modules/fdir/dist/index.cjs') },
    // A module is known by its path in this project, also where node_modules is a link.
    symlinks: false,
  },
  plugins: [
    importRawText(),
    replaceUnusedParts(),
    !isOneFile && requireFallbackLate(),
    leaveOutMaps(),
    compileEagerly(),
    shrinkFiles(),
    requireLate(),
    addPackageFiles(),
  ],
  // On a slow machine, they would be a warning.
  checks: { pluginTimings: false },
  // A warning fails the build. Other messages are dropped, as every installation from git runs this.
  onLog(level, log) {
    if (level === 'warn') throw new Error(log.message);
  },
});
await bundle.write({
  dir: directory,
  cleanDir: true,
  format: 'cjs',
  sourcemap: true,
  // File, line and function are what a stack trace needs; the text of the sources would double the package.
  sourcemapExcludeSources: true,
  // The same bytes, whichever folder they are written to.
  sourcemapPathTransform: (source, map) => `../${projectPath(resolve(dirname(map), source))}`,
  dynamicImportInCjs: false,
  // Groups name folders, never files: moving a file inside its folder does not change what a start loads.
  // Other modules get a file for each `import()`; each file that a start loads costs it a third of a millisecond.
  codeSplitting: !isOneFile && {
    groups: [
      // Everything that main.ts imports statically; every command loads it.
      { name: 'start', tags: ['$initial'] },
      // The only other file that a usage error loads.
      { name: 'errors', test: inFolders('view/errors', 'outcome') },
      // What every command that talks to the service loads.
      {
        name: 'common',
        test: inFolders(
          'commands/shared',
          'config',
          'history',
          'outcome',
          'platform',
          'service',
          'text',
          'view',
        ),
        minShareCount: 5,
      },
      // What the commands load that write or read a record of runs.
      { name: 'runs', test: inFolders('runs'), minShareCount: 2 },
    ],
  },
  comments: { legal: true, jsdoc: false, annotation: false },
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
});
await bundle.close();

/** Imports rolldown. Where the development dependencies are left out, `npm ci` succeeds without a build. */
async function importRolldown() {
  try {
    return await import('rolldown');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error(
      'wfr is not built: the build needs the development dependencies. To build it: npm ci --include=dev',
    );
    process.exit(process.env.npm_lifecycle_event === 'prepare' ? 0 : 1);
  }
}

/** Returns a module's path in this project, with slashes. The folders above it must not change what is built. */
function projectPath(id) {
  return relative(import.meta.dirname, id).replaceAll('\\', '/');
}

/** Returns a function that tells whether a module is in one of these folders of src/. */
function inFolders(...folders) {
  return (id) => folders.some((folder) => projectPath(id).startsWith(`src/${folder}/`));
}

/** Makes `import text from './file?raw'` give the text of the file, as vitest does. */
function importRawText() {
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
 * Replaces parts of the dependencies that wfr never reaches: undici's HTTP/2 (ALPN offers HTTP/1.1 alone), the bodies of
 * fetch (ours is an iterable), its connector (ours opens sockets) and interceptors, and commander's commands that are
 * programs of their own. `status` takes a seventh more without the first two, and each of the others saves one part in 25
 * of some start.
 */
function replaceUnusedParts() {
  const STAND_INS = {
    nothing: 'module.exports = {};',
    // Nobody subscribes to undici's channels.
    diagnostics: 'module.exports = { channels: new Proxy({}, { get: () => ({ hasSubscribers: false }) }) };',
    // undici reads the default limit of a response's head, and checks whether a stream is a server's request.
    http: 'module.exports = { maxHeaderSize: 16384, IncomingMessage: class {} };',
    // The real module is loaded only when an assertion fails.
    assert: `module.exports = (value, message) => value || require('assert')(value, message);
      module.exports.strictEqual = (a, b, message) => a === b || require('assert').strictEqual(a, b, message);`,
  };
  const standIn = (id, importer = '') => {
    const from = projectPath(importer);
    if (from.startsWith('node_modules/commander/') && id === 'node:child_process') return 'nothing';
    if (!from.startsWith('node_modules/undici/')) return;
    if (/\/(client-h2|connect|wrap-handler|web\/fetch\/body)(\.js)?$/.test(id)) return 'nothing';
    return /^(?:node:|.*\/)(http|assert|diagnostics)(?:\.js)?$/.exec(id)?.[1];
  };
  return {
    name: 'replace-unused-parts',
    resolveId(id, importer) {
      const name = standIn(id, importer);
      return name && `\0${name}`;
    },
    load: (id) => STAND_INS[id.slice(1)],
  };
}

/** Puts undici's parser for processors without SIMD into a file of its own, which only they load. */
function requireFallbackLate() {
  const FALLBACK = 'llhttp-wasm.js';
  const path = resolve(import.meta.dirname, 'node_modules/undici/lib/llhttp', FALLBACK);
  return {
    name: 'require-fallback-late',
    resolveId: (id) =>
      id.endsWith(`/llhttp/${FALLBACK}`) ? { id: `./${FALLBACK}`, external: true } : undefined,
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: FALLBACK, source: readFileSync(path, 'utf8') });
    },
  };
}

/** Leaves the dependencies out of the source maps: their code is not changed, and has its names and files in comments. */
function leaveOutMaps() {
  return {
    name: 'leave-out-maps',
    transform: {
      filter: { id: /[\\/]node_modules[\\/]/ },
      handler: (code, id) =>
        projectPath(id).startsWith('node_modules/') ? { code, map: { mappings: '' } } : undefined,
    },
  };
}

/**
 * Turns the wrappers of bundled CommonJS modules into function expressions in parentheses, which V8 compiles with the
 * code around them. It parses an arrow function twice: once to skip it, and again when it is called.
 */
function compileEagerly() {
  return {
    name: 'compile-eagerly',
    renderChunk: (code) => ({
      code: code.replaceAll(/(__commonJSMin\(\()\((exports, module|exports)\) => \{/g, '$1function($2) {'),
      map: null,
    }),
  };
}

/**
 * Escapes letters beyond ASCII: with one of them, V8 holds the whole file as UTF-16, which is slower to decode and hash.
 * Exports values where rolldown exports getters: no variable changes after another file can have imported it.
 */
function shrinkFiles() {
  const GETTER = /^Object\.defineProperty\(exports, "(\w+)", \{[^{}]+\{\s+return (\w+);\s+\}\n\}\);$/gm;
  const escaped = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'shrink-files',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle))
        chunk.code &&= chunk.code.replaceAll(/[^\0-\x7f]/g, escaped).replaceAll(GETTER, 'exports.$1 = $2;');
    },
  };
}

/**
 * Requires modules of Node where they are used. rolldown does so at the start of the file: that of an executable would load
 * half of Node, and every command two modules that most of them never use.
 */
function requireLate() {
  const ids = isOneFile ? '[\\w:/]+' : 'node:(?:fs|timers)/promises';
  const AT_START = new RegExp(`^let (node_\\w+) = require\\("(${ids})"\\);\\n(?!\\1 = )`, 'gm');
  return {
    name: 'require-late',
    renderChunk(code) {
      const names = new Map(Array.from(code.matchAll(AT_START), ([, name, id]) => [name, id]));
      // With parentheses, because `new require("node:net").Socket()` would call what it should construct.
      const late = (use, name) => (names.has(name) ? `(require("${names.get(name)}")).` : use);
      return { code: code.replaceAll(AT_START, '').replaceAll(/(?<![.\w])(node_\w+)\./g, late), map: null };
    },
  };
}

/** Adds a package.json that declares dist/ CommonJS, and the licences and the bill of materials of the bundled packages. */
function addPackageFiles() {
  const packages = new Set();
  return {
    name: 'package-files',
    moduleParsed({ id }) {
      const [folder] =
        /^node_modules\/(.*\/node_modules\/)?(@[^/]+\/)?[^/]+(?=\/)/.exec(projectPath(id)) ?? [];
      if (folder !== undefined) packages.add(folder);
    },
    generateBundle() {
      const folders = [...packages].sort();
      const add = (fileName, source) => this.emitFile({ type: 'asset', fileName, source });
      add('package.json', '{ "type": "commonjs" }\n');
      add('LICENSES.txt', licences(folders));
      add('sbom.cdx.json', `${JSON.stringify(billOfMaterials(folders), null, 2)}\n`);
    },
  };
}
