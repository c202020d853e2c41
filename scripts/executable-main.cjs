/** Where an executable starts: runs bin/wfr.js and dist/ from its assets, each file when it is first required. */
'use strict';

const { getRawAsset, isSea } = require('node:sea');
const { Script } = require('node:vm');

/**
 * Returns `load(name)`, which gives what the file `name` exports. `read(name)` gives a file's bytes: its source in the
 * wrapper of CommonJS, and for `name.cache` what V8 compiled of it. `scripts` is filled with what was loaded.
 */
function createLoader(read, scripts = new Map()) {
  const modules = new Map();
  const requireFrom = (id) => (id.startsWith('./') ? load(`dist/${id.slice(2)}`) : require(id));

  function load(name) {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const cachedData = read(`${name}.cache`);
    const script = new Script(read(name).latin1Slice(), {
      filename: name,
      ...(cachedData.length > 0 && { cachedData }),
    });
    scripts.set(name, script);
    script.runInThisContext()(module.exports, requireFrom, module);
    return module.exports;
  }
  return load;
}

if (isSea()) {
  const load = createLoader((name) => Buffer.from(getRawAsset(name)));
  const run = load('bin/wfr.js');
  // All has been written by then; without the end of V8's heap, a start takes a twentieth less time.
  run(() => load('dist/main.js')).then(() => process.exit());
} else {
  module.exports = createLoader;
}
