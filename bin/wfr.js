#!/usr/bin/env node
// The only place that sets the exit code or raises a signal. An old Node must be able to parse this file, so that it can
// say which one wfr needs: no `async`, `?.` or `catch {}` here.
'use strict';

const INTERNAL_ERROR = { code: 'internal', exitCode: 70 };
const UNSUPPORTED_NODE = { code: 'usage', exitCode: 2 };

/** Runs wfr; `load` returns what dist/main.js exports. */
function run(load) {
  return Promise.resolve()
    .then(() => {
      const wfr = load();
      const docs = load === loadFromFile ? pathOf('docs') : undefined;
      return wfr.main(process.argv.slice(2), wfr.processContext(docs)).then((exit) => finish(exit, wfr));
    })
    .catch(printInternalError);
}

function finish(exit, wfr) {
  if (typeof exit === 'number') {
    process.exitCode = exit;
    return;
  }
  process.exitCode = wfr.SIGNAL_EXIT_CODES[exit];
  // Without our listeners the signal ends the process as usual, and stops a shell's loop of runs.
  process.removeAllListeners(exit);
  if (process.platform !== 'win32') process.kill(process.pid, exit);
}

function printInternalError(error) {
  const { code, message, stack = error } = Object(error);
  if (code === 'MODULE_NOT_FOUND' && /dist[\\/]main\.js/.test(message)) {
    const fix = 'npm ci --include=dev && npm run build';
    printError(INTERNAL_ERROR, `error: this clone has not been built; run: ${fix}`);
  } else {
    const details = sanitize(String(stack)).split('\n');
    printError(INTERNAL_ERROR, 'internal error; please report it with this:', details);
  }
}

/** Prints what wfr itself cannot print: as text, or with --json as data, whose schema is error.schema.json. */
function printError({ code, exitCode }, text, details = []) {
  process.exitCode = exitCode;
  const message = text.replace(/^error: /, '');
  const error = { code, exitCode, message, details, hints: [] };
  // All members that src/outcome/error-data.ts has, in its order.
  Object.assign(error, { retryable: false, retryAfterMs: null, attempts: null, runMayExist: false });
  Object.assign(error, { candidateId: null, runId: null, step: null, differs: [], resume: null });
  Object.assign(error, { service: null, runCount: 0, runs: [] });
  const lines = requestsData() ? [JSON.stringify({ error })] : [`wfr: ${text}`].concat(details);
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Returns whether errors are data, as src/main.ts decides it. */
function requestsData() {
  const [flags] = `\0${process.argv.slice(2).join('\0')}\0`.split('\0--\0');
  return /\0(--json(=[^\0]*)?|(--output[=\0]|-[dqv]*o[=\0]?)jsonl?)(\0|$)/.test(flags);
}

/** Returns what dist/main.js exports. */
function loadFromFile() {
  useCompileCache();
  return require(pathOf('dist/main.js'));
}

/** Returns the path of a file or folder of the package. */
function pathOf(name) {
  const { realpathSync } = require('node:fs');
  const { dirname, join } = require('node:path');
  // With --preserve-symlinks-main, __filename is the link on PATH.
  return join(dirname(realpathSync.native(__filename)), '..', name);
}

/** Escapes what a terminal or a CI log would act on. wfr's own sanitizer may be what could not be loaded. */
function sanitize(text) {
  const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const unsafe =
    /[^\n\P{C}]|[\p{Default_Ignorable_Code_Point}\u2028\u2029]|:(?=:)(?<=^[^\S\n]*:)|(?<=#)#(?=[A-Za-z]*\[)/gmu;
  return text.replace(unsafe, (character) => character.split('').map(escapeUnit).join(''));
}

/**
 * Lets Node 22.8 and later keep compiled code, which makes a request 7 % faster. The contents of the folder are executed,
 * so nobody else may be able to replace it; Node's default is shared by all users of the machine.
 */
function useCompileCache() {
  const { enableCompileCache } = require('node:module');
  const caches = enableCompileCache && findCaches(process.env);
  const folder = caches && openOwnFolder(caches, 'wfr');
  if (!folder) return;
  // Node makes a folder in it at once, with the umask.
  const umask = process.umask(0o077);
  enableCompileCache(folder);
  process.umask(umask);
}

/** A relative folder could belong to somebody else. */
function findCaches({ XDG_CACHE_HOME, LOCALAPPDATA, HOME }) {
  const { isAbsolute } = require('node:path');
  if (process.platform === 'win32')
    return LOCALAPPDATA && isAbsolute(LOCALAPPDATA) ? LOCALAPPDATA : undefined;
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
  return HOME && isAbsolute(HOME) ? `${HOME}/.cache` : undefined;
}

/**
 * Makes the folder if it is missing. Returns its path without links; undefined if another user can write to it or to a
 * folder above it, as they could then replace it. Windows keeps it in the user's profile.
 */
function openOwnFolder(parent, name) {
  const { lstatSync, mkdirSync, realpathSync } = require('node:fs');
  const { basename, dirname, join } = require('node:path');
  if (process.platform === 'win32') return join(parent, name);
  const exists = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  try {
    const above = exists(parent)
      ? realpathSync.native(parent)
      : join(realpathSync.native(dirname(parent)), basename(parent));
    const folder = join(above, name);
    // Not with `recursive`, which never returns in /proc.
    for (const path of [above, folder]) {
      if (exists(path)) continue;
      if (!isSafe(dirname(path))) return undefined;
      mkdirSync(path, 0o700);
    }
    const { uid, mode } = lstatSync(folder);
    return uid === process.geteuid() && (mode & 0o022) === 0 && isSafe(folder) ? folder : undefined;
  } catch (_error) {
    return undefined;
  }
}

/** Returns whether only this user and root can write to a folder and to each one above it, or rename what is in it. */
function isSafe(path) {
  const { lstatSync } = require('node:fs');
  const { dirname } = require('node:path');
  const stats = lstatSync(path);
  const isOurs = stats.isDirectory() && (stats.uid === process.geteuid() || stats.uid === 0);
  const isShared = (stats.mode & 0o022) !== 0 && (stats.mode & 0o1000) === 0;
  return isOurs && !isShared && (dirname(path) === path || isSafe(dirname(path)));
}

/** Whether this Node is at least the one that package.json asks for. */
function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > 20 || (major === 20 && minor >= 19);
}

// The executable runs this file as a part of itself.
if (require.main !== module) {
  module.exports = run;
} else if (isSupported(process.versions.node)) {
  run(loadFromFile);
} else {
  printError(UNSUPPORTED_NODE, `error: wfr needs Node.js 20.19 or later; this is ${process.versions.node}`);
}
