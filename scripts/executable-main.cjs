/** Where an executable starts: build.mjs makes one file of bin/wfr.js and src/, in which each module runs when it is needed. */
const run = require('../bin/wfr.js');

// All has been written by then; without the end of V8's heap, a start takes a twentieth less time.
run(() => require('../src/main.ts')).then(() => process.exit());
