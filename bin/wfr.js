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
      return wfr.main(process.argv.slice(2), wfr.processContext()).then((exit) => finish(exit, wfr));
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
    const url = 'https://github.com/owner/wfr/issues';
    const details = sanitize(String(stack)).split('\n');
    printError(INTERNAL_ERROR, `internal error; please report it at ${url} with this:`, details);
  }
}

/** Prints what wfr itself cannot print: as text, or with --json as data, whose schema is error.schema.json. */
function printError({ code, exitCode }, text, details = []) {
  process.exitCode = exitCode;
  const message = text.replace(/^error: /, '');
  const outcome = { retryable: false, runMayExist: false, runId: null, resume: null, service: null };
  const error = Object.assign({ code, exitCode, message, details, hints: [] }, outcome);
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
  const { realpathSync } = require('node:fs');
  const { dirname, join } = require('node:path');
  // With --preserve-symlinks-main, __filename is the link on PATH.
  return require(join(dirname(realpathSync(__filename)), '../dist/main.js'));
}

/** Escapes what a terminal or a CI log would act on. wfr's own sanitizer may be what could not be loaded. */
function sanitize(text) {
  const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const unsafe = /[^\n\P{C}]|[\u2028\u2029]|(?<=^\s*):(?=:)|(?<=#)#(?=[A-Za-z]*\[)/gmu;
  return text.replace(unsafe, (character) => character.split('').map(escapeUnit).join(''));
}

/**
 * Lets Node 22.8 and later keep compiled code, which makes a request 7 % faster. The contents of the folder are executed,
 * so it must be this user's own; Node's default is shared by all users of the machine.
 */
function useCompileCache() {
  const { enableCompileCache } = require('node:module');
  const caches = enableCompileCache && findCaches(process.env);
  if (!caches || !makeOwnFolder(caches, 'wfr')) return;
  // Node makes a folder in it at once, with the umask.
  const umask = process.umask(0o077);
  enableCompileCache(`${caches}/wfr`);
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

/** Makes the folder if it is missing. Returns whether it is this user's alone; Windows keeps it in the user's profile. */
function makeOwnFolder(parent, name) {
  if (process.platform === 'win32') return true;
  const { lstatSync, mkdirSync } = require('node:fs');
  const examine = () => lstatSync(`${parent}/${name}`, { throwIfNoEntry: false });
  try {
    let stats = examine();
    if (stats === undefined) {
      // Not with `recursive`, which never returns in /proc.
      for (const folder of [parent, `${parent}/${name}`]) {
        if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, 0o700);
      }
      stats = examine();
    }
    return stats.isDirectory() && stats.uid === process.geteuid() && (stats.mode & 0o022) === 0;
  } catch (_error) {
    return false;
  }
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
