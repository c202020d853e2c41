/** `wfr run --once` in tests: a service that records what it accepts, and commands as several processes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliOptions, runCli, temporaryFolder } from './cli.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from './service.js';

/** Starts a service; the status of its runs can be set, and the next answers to triggers can be replaced. */
export async function prepareOnce() {
  const state = { run: aFinishedRun() as Record<string, unknown> | undefined, answers: [] as Handler[] };
  const accepted: unknown[] = [];
  const service = await scriptedService(async (request, reply) => {
    if (request.method === 'POST') {
      const body = await request.body();
      if (body.length < Number(request.headers['content-length'])) return;
      const answer = state.answers.shift();
      if (answer !== undefined) return answer(request, reply);
      accepted.push(JSON.parse(body.toString()).inputs);
      return reply.send(201, aRun({ id: `run-${accepted.length}`, status: 'PENDING' }));
    }
    const id = request.path.split('/').at(-1);
    if (state.run === undefined) return reply.send(404, { message: 'forgotten' });
    reply.send(200, { ...state.run, id });
  });
  const cwd = temporaryFolder();
  const env = { WFR_BASE_URL: service.baseUrl };
  const wfr = (args: string[], options: CliOptions = {}) => runCli(args, { cwd, env, ...options });
  return {
    ...service,
    state,
    accepted,
    cwd,
    env,
    path: join(cwd, 'my.once'),
    write: (name: string, text: string) => writeFileSync(join(cwd, name), text),
    wfr,
    /** Runs `wfr run w --once my.once` with further arguments. */
    once: (args: string[] = ['a=1'], options: CliOptions = {}) =>
      wfr(['run', 'w', '--once', 'my.once', ...args], options),
    polls: () => service.requests.filter(({ method }) => method === 'GET').length,
  };
}

/** Answers a complete trigger by closing the connection. */
export const loseAnswer: Handler = (_request, reply) => reply.reset();

/** Rejects a trigger. */
export const reject: Handler = (_request, reply) => reply.send(400, { message: 'customer is missing' });
