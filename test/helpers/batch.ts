/** Batches in tests: tables, a service, command lines and the events of a results file. */
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileId } from '../../src/platform/files.js';
import { type CliOptions, runCli } from './cli.js';
import { folderWith } from './files.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from './service.js';

export interface BatchEvent {
  event: string;
  row?: number;
  label?: string;
  id?: string;
  code?: string;
  reason?: string;
  digest?: string;
  run?: { id: string; status: string };
  owner?: { pid: number; token: string };
}

export function readEvents(path: string): BatchEvent[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line, index, lines) => {
      const isTorn = lines[index + 1]?.includes('"torn":true') && !line.endsWith('}');
      return isTorn ? [] : (JSON.parse(line) as BatchEvent);
    });
}

/** Returns the names of the events of each row, in their order, from when it was about to be sent. */
export function eventNamesByRow(path: string): Record<number, string[]> {
  const found: Record<number, string[]> = {};
  for (const { event, row } of readEvents(path)) {
    if (row !== undefined && event !== 'recorded') found[row] = [...(found[row] ?? []), event];
  }
  return found;
}

export const FINISHED_ROW = ['intent', 'sent', 'accepted', 'ended'];

export const numberedRows = (count: number) =>
  Array.from({ length: count }, (_, n) => `{"n":${n + 1}}\n`).join('');

/** Starts a service that finishes each run at its second poll, and records the triggered inputs. */
export async function startBatchService(onPost?: Handler, onPoll?: Handler) {
  const triggered: unknown[] = [];
  const polls = new Map<string, number>();
  const service = await scriptedService(async (request, reply) => {
    if (request.method === 'POST') {
      const body = await request.body();
      // An incomplete request starts no run.
      if (body.length < Number(request.headers['content-length'])) return;
      if (onPost !== undefined) return onPost(request, reply);
      const { inputs } = JSON.parse(body.toString());
      triggered.push(inputs);
      return reply.send(201, aRun({ id: `run-${triggered.length}`, status: 'PENDING' }));
    }
    if (onPoll !== undefined) return onPoll(request, reply);
    const id = request.path.split('/').at(-1) ?? '';
    const count = (polls.get(id) ?? 0) + 1;
    polls.set(id, count);
    reply.send(200, { ...(count > 1 ? aFinishedRun() : aRun()), id });
  });
  const wfr = (args: string[], options: CliOptions = {}) =>
    runCli(args, { ...options, env: { WFR_BASE_URL: service.baseUrl, ...options.env } });
  return { ...service, triggered, wfr };
}

/** Starts a batch service, and creates a folder with a table of `rows` rows for it. */
export async function prepareBatch(rows: number) {
  const cwd = folderWith({ 'rows.jsonl': numberedRows(rows) });
  return { cwd, path: join(cwd, 'out.jsonl'), ...(await startBatchService()) };
}

/** The command line of a batch with a row for each of the files that follow. */
export const EACH_SCAN = ['batch', 'w', '--each', 'scan'];

/** The command line of a batch of `rows.jsonl`, without a rate limit. */
export const BATCH_ARGS = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl', '--rate', '0'];

/** Appends the claim of another process to a results file, as if it had the file open. */
export function appendClaim(
  path: string,
  owner: Record<string, unknown>,
  members: Record<string, unknown> = {},
) {
  appendFileSync(path, '');
  appendFileSync(path, claimLine(path, owner, members));
}

/** Returns the line with which another process claims a results file. */
export function claimLine(
  path: string,
  owner: Record<string, unknown>,
  members: Record<string, unknown> = {},
): string {
  const all = { host: 'test-host', pid: 4242, space: 'test', token: '0badcafe', ...owner };
  return `${JSON.stringify({ event: 'open', owner: all, file: fileId(statSync(path, { bigint: true })), ...members })}\n`;
}

/** Returns the token of the process that claimed a results file last. */
export function readLatestToken(path: string): string {
  const claims = readEvents(path).filter(({ event }) => event === 'open');
  return claims.at(-1)?.owner?.token ?? '';
}
