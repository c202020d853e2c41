/**
 * Measures printing the output of a run, compared with jq, gojq and JSON.parse with JSON.stringify: `[rounds] [MB...]
 * [--only rows,string,deep,numbers] [--coded]`. The default is short: 3 rounds of rows of 60 MB.
 */
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  BIN,
  isInstalled,
  measure,
  measureInTurn,
  median,
  number,
  ratio,
  table,
  temporaryFolder,
  title,
} from './lib.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: 'rows' }, coded: { type: 'boolean', default: false } },
});
const [rounds = 3, ...sizes] = positionals.map(Number);

/** Returns the n-th element of an output, a list. */
const ELEMENTS = {
  rows: (n) =>
    JSON.stringify({
      id: n,
      name: `customer number ${n}`,
      tags: ['a', 'b\u00e9', null],
      total: n / 7,
      nested: { text: 'x'.repeat(n % 200) },
    }),
  string: (_n, size) => `"${'x'.repeat(size)}"`,
  deep: () => `${'[{"a":'.repeat(120)}1${'}]'.repeat(120)}`,
  numbers: (n) => String((n * 7919) % 1000),
};

function outputOf(shape, size) {
  const pieces = [];
  for (let length = 0, n = 0; length < size; n++) {
    const element = `${n === 0 ? '[' : ','}${ELEMENTS[shape](n, size)}`;
    pieces.push(element);
    length += element.length;
    // Millions of strings would not fit into the heap.
    if (n % 1_000 === 999) pieces.splice(-1_000, 1_000, Buffer.from(pieces.slice(-1_000).join('')));
  }
  return Buffer.concat([...pieces, ']'].map((piece) => Buffer.from(piece)));
}

const PARSE = `process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8')), null, 2))`;
const parser = {
  name: 'JSON.parse, JSON.stringify',
  run: (file) => measure(process.execPath, ['-e', PARSE, file]),
};
const others = ['jq', 'gojq']
  .filter(isInstalled)
  .map((program) => ({ name: `${program} .`, run: (file) => measure(program, ['.', file]) }));

title('Output');
const folder = temporaryFolder();
let answer = Buffer.alloc(0);
const server = createServer((_request, response) => {
  response.setHeader('content-length', answer.length);
  if (flags.coded) response.setHeader('content-encoding', 'gzip');
  response.end(answer);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const env = { WFR_BASE_URL: `http://127.0.0.1:${server.address().port}` };
const wfr = { name: 'wfr watch', run: () => measure(process.execPath, [BIN, 'watch', '-q', 'r'], { env }) };

for (const shape of flags.only.split(',')) {
  for (const megabytes of sizes.length === 0 ? [60] : sizes) {
    const output = outputOf(shape, megabytes * 1e6);
    const file = join(folder, 'output.json');
    await finished(createWriteStream(file).end(output));
    const head = '{"id":"r","status":"FINISHED","steps":1,"stepsCompleted":1,"output":';
    const run = Buffer.concat([Buffer.from(head), output, Buffer.from('}')]);
    answer = flags.coded ? gzipSync(run, { level: 1 }) : run;
    const candidates = [wfr, parser, ...others].map(({ name, run: start }) => ({
      name,
      // A string of more than 512 MiB, or too deep nesting for a program, is no figure.
      run: () => start(file).catch(() => undefined),
    }));
    const results = await measureInTurn(candidates, rounds);
    table(
      [`${shape}, ${number(megabytes)} MB`, 'CPU s', 'CPU of wfr / CPU', 'seconds', 'peak MB', 'peak / size'],
      candidates.map(({ name }) => {
        const figures = results[name];
        if (figures.includes(undefined)) return [name, 'fails', '', '', '', ''];
        const peak = median(figures.map((figure) => figure.peak));
        return [
          name,
          number(median(figures.map(({ cpu }) => cpu)), 2),
          number(
            ratio(results[wfr.name], figures, ({ cpu }) => cpu),
            2,
          ),
          number(median(figures.map(({ seconds }) => seconds)), 2),
          number(peak),
          number((peak * 1e6) / output.length, 1),
        ];
      }),
    );
  }
}
server.close();
