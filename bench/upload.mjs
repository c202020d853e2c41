/** Measures uploads of documents to a service that discards them: throughput and memory. */
import { execFileSync } from 'node:child_process';
import { existsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BIN,
  FOLDER,
  isInstalled,
  measure,
  measureInTurn,
  printComparison,
  startService,
  title,
} from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 5);
const node = process.execPath;

function build(name) {
  const output = join(FOLDER, name);
  const source = join(import.meta.dirname, `${name}.c`);
  execFileSync('cc', ['-O2', '-o', output, source], { stdio: 'inherit' });
  return output;
}

function createSparseFile(name, bytes) {
  const path = join(FOLDER, name);
  writeFileSync(path, '');
  truncateSync(path, bytes);
  return path;
}

/** Creates a file with a finished request body for a document. */
function createBody(path) {
  const body = `${path}.body`;
  if (!existsSync(body)) execFileSync('sh', ['-c', `base64 -w0 ${path} > ${body}`]);
  return body;
}

const sink = await startService(build('sink'), []);
const port = sink.text.trim();
const send = build('send');
const env = { WFR_BASE_URL: `http://127.0.0.1:${port}` };
const wfr = (name, ...paths) => {
  const items = paths.map((path, index) => `d${index}@${path};type=application/pdf`);
  return { name, run: () => measure(node, [BIN, 'run', 'w', '-q', ...items], { env }) };
};

title('Documents');
const WHOLE = `
  const fs = require('fs');
  const document = 'data:application/pdf;base64,' + fs.readFileSync(process.argv[1]).toString('base64');
  fetch(process.argv[2], { method: 'POST', body: JSON.stringify({ workflowId: 'w', inputs: { document } }) })
    .then((response) => response.text());`;

for (const [label, bytes, names] of [
  ['200 MB', 200e6, ['wfr', 'limit', 'curl', 'whole']],
  ['1 GB', 1e9, ['wfr', 'limit', 'curl']],
]) {
  const path = createSparseFile(label.replace(' ', ''), bytes);
  const all = {
    wfr: wfr('wfr', path),
    limit: {
      name: 'limit: a C program sends the finished body',
      run: () => measure(send, [port, createBody(path)]),
    },
    curl: {
      name: 'base64 -w0 | curl -T-',
      run: () =>
        measure('sh', ['-c', `base64 -w0 ${path} | curl -sS -T- -X POST http://127.0.0.1:${port}/runs`]),
    },
    whole: {
      name: 'read it all, one string, JSON.stringify, fetch',
      run: () => measure(node, ['-e', WHOLE, path, `${env.WFR_BASE_URL}/runs`]),
    },
  };
  const candidates = names
    .filter((name) => name !== 'curl' || (isInstalled('curl') && isInstalled('base64')))
    .map((name) => all[name]);
  const results = await measureInTurn(candidates, ROUNDS);
  printComparison(label, results, 'wfr');
}

const documents = Array.from({ length: 100 }, (_, n) => createSparseFile(`document-${n}`, 10e6));
const candidates = [
  wfr('4 GB in one document', createSparseFile('4gb', 4e9)),
  wfr('100 documents of 10 MB', ...documents),
  wfr('one document of 1 kB', createSparseFile('1kb', 1e3)),
];
printComparison('wfr alone', await measureInTurn(candidates, 1), 'one document of 1 kB');
sink.stop();
