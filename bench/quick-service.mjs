/**
 * A service as fast as possible, so that the client is measured: runs finish at the first poll. With the argument `at-once`
 * triggers return finished runs; with `busy` every second request is answered with 429.
 */
import { createServer } from 'node:http';

const mode = process.argv[2];
let requests = 0;
let runs = 0;
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    requests++;
    if (mode === 'busy' && requests % 2 === 0) {
      response.writeHead(429, { 'content-type': 'application/json' }).end('{"message":"too many"}');
      return;
    }
    const isTrigger = request.method === 'POST';
    const id = isTrigger ? `run-${++runs}` : request.url.split('/').at(-1);
    const status = isTrigger && mode !== 'at-once' ? 'PENDING' : 'FINISHED';
    response
      .writeHead(isTrigger ? 201 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id, versionName: 'v1', status, steps: 1, stepsCompleted: 1, output: null }));
  });
}).listen(0, '127.0.0.1', () => console.log(server.address().port));
process.on('SIGTERM', () => {
  console.log(JSON.stringify({ requests, runs }));
  process.exit();
});
