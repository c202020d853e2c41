/**
 * Writes what V8 compiles of each file of an executable: `node code-cache.cjs <directory>`, with the Node that the
 * executable is made of. It runs common commands against a sandbox, so that the functions they call are in it, too.
 */
'use strict';

const { existsSync, readFileSync, writeFileSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const createLoader = require('./executable-main.cjs');

const [directory] = process.argv.slice(2);
const INVOICE = ['5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', 'invoice@examples/invoice.pdf', 'customer=x'];

const scripts = new Map();
const read = (name) => {
  const path = join(directory, name);
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
};
const load = createLoader(read, scripts);

/** What the commands print. */
let printed = '';
process.stdout.write = (text, ...rest) => {
  printed += text;
  rest.find((value) => typeof value === 'function')?.();
  return true;
};
process.stderr.write = process.stdout.write;

async function writeCaches() {
  const { main, processContext } = load('dist/main.js');
  const wfr = async (...args) => {
    printed = '';
    await main(args, processContext());
    return printed;
  };

  void wfr('sandbox', '--slow', '0.01');
  while (!/WFR_TOKEN=\S+\n/.test(printed)) await new Promise((resolve) => setTimeout(resolve, 10));
  process.env.WFR_BASE_URL = /WFR_BASE_URL=(\S+)/.exec(printed)[1];
  process.env.WFR_TOKEN = /WFR_TOKEN=(\S+)/.exec(printed)[1];

  await wfr('--version');
  await wfr('--help');
  await wfr('run', '--help');
  await wfr('--bad');
  await wfr('run', ...INVOICE, '--dry-run');
  await wfr('run', ...INVOICE, '--interval', '20ms');
  const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(await wfr('run', ...INVOICE, '--detach'))[0];
  const status = await wfr('status', id);
  if (!status.includes(id)) throw new Error(`status printed: ${status}`);
  await wfr('watch', id, '--interval', '20ms');

  for (const name of JSON.parse(readFileSync(join(directory, 'names.json'), 'utf8'))) load(name);
  for (const [name, script] of scripts)
    writeFileSync(join(directory, `${name}.cache`), script.createCachedData());
}

writeCaches().then(
  () => process.exit(0),
  (error) => {
    writeSync(2, `${error.stack}\n`);
    process.exit(1);
  },
);
