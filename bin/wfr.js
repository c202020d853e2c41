#!/usr/bin/env node
// The only place that sets the exit code or raises a signal. wfr is loaded inside a try: a defect that shows only there
// has the exit code of a defect, too.
'use strict';

const DEFECT = 70;

async function run() {
  try {
    keepCompiledCode();
    const { main, processContext, SIGNAL_EXIT_CODES } = require('../dist/main.js');
    const exit = await main(process.argv.slice(2), processContext());
    if (typeof exit === 'number') {
      process.exitCode = exit;
      return;
    }
    process.exitCode = SIGNAL_EXIT_CODES[exit];
    // Nobody of ours listens any longer: the signal ends the process as it should, and a shell's loop of runs stops.
    process.removeAllListeners(exit);
    if (process.platform !== 'win32') process.kill(process.pid, exit);
  } catch (error) {
    if (error?.code === 'MODULE_NOT_FOUND' && error.message.includes('dist/main.js')) {
      process.stderr.write('wfr: this is a clone that has not been built: npm run build\n');
      process.exitCode = DEFECT;
      return;
    }
    process.stderr.write(
      `wfr: this is a defect of wfr itself; please report it with what follows\n${error?.stack}\n`,
    );
    process.exitCode = DEFECT;
  }
}

/**
 * Node 22.8 and later can keep what V8 has compiled: a request takes a fifteenth less time. Node's own choice of a folder
 * is shared by all users of the machine, and what lies there is run; so it is one of this user's.
 */
function keepCompiledCode() {
  const { XDG_CACHE_HOME, LOCALAPPDATA, HOME } = process.env;
  // A relative folder could be somebody else's, and what lies there would be run.
  const named = XDG_CACHE_HOME?.startsWith('/') ? XDG_CACHE_HOME : LOCALAPPDATA;
  const caches = named || (HOME && `${HOME}/.cache`);
  if (caches) require('node:module').enableCompileCache?.(`${caches}/wfr`);
}

run();
