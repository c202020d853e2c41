/** Timers that a command leaves behind would keep its process running after its result was printed. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

const ACCEPTS = acceptThenShow(aFinishedRun());
const REJECTS: Handler = (_request, reply) => reply.send(400, { message: 'no' });
const BREAKS: Handler = (_request, reply) => reply.reset();
/** Accepts triggers, and lets polls wait. */
const DELAYS: Handler = (request, reply) =>
  request.method === 'POST'
    ? reply.send(201, aRun())
    : reply.send(429, { message: 'busy' }, { 'retry-after': '200' });

test.each<[command: string, service: string, handler: Handler, exitCode: number]>([
  ['status run-1', 'that answers', ACCEPTS, 0],
  ['status run-1 run-2', 'that rejects the request', REJECTS, 5],
  ['status run-1', 'that resets connections', BREAKS, 7],
  ['watch run-1', 'that answers', ACCEPTS, 0],
  ['watch run-1 run-2', 'that rejects the request', REJECTS, 5],
  ['run w a=1', 'that answers', ACCEPTS, 0],
  ['run w a@scan.pdf', 'that answers', ACCEPTS, 0],
  ['run w a=1 --once a.once', 'that answers', ACCEPTS, 0],
  ['run w a=1', 'that rejects the request', REJECTS, 5],
  ['run w a=1', 'that resets connections', BREAKS, 6],
  ['run w a=1 --timeout 1h', 'that answers', ACCEPTS, 0],
  ['batch w --rows rows.jsonl --results out.jsonl', 'that answers', ACCEPTS, 0],
  ['batch w --rows rows.jsonl --results out.jsonl', 'that rejects the request', REJECTS, 5],
  ['batch w --rows rows.jsonl --results out.jsonl --timeout 9s', 'that delays polls', DELAYS, 8],
])('wfr %s leaves no timer behind with a service %s', async (command, _service, handler, exitCode) => {
  const clock = new VirtualClock();
  const { baseUrl } = await scriptedService(async (request, reply) => {
    await request.body();
    await handler(request, reply);
  });
  const cwd = folderWith({ 'scan.pdf': '%PDF', 'rows.jsonl': '{"a":1}\n{"a":2}\n' });
  const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't', XDG_STATE_HOME: join(temporaryFolder(), 'state') };
  const args = [
    ...command.split(' '),
    ...(/^(run|batch)/.test(command) ? ['--workflow-id-field', 'both'] : []),
  ];
  const result = await runCli(args, { clock, cwd, env });
  expect({ exitCode: result.exitCode, timers: clock.pending }).toEqual({ exitCode, timers: 0 });
});
