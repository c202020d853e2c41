/**
 * The ids that an unusable answer to a trigger may have meant. None of them counts before the service has shown a run of
 * that id: any of them may be the id of something else.
 */
import {
  HttpError,
  NetworkError,
  type ReceivedResponse,
  type RunEvidence,
  UnreadableResponseError,
} from '../errors.js';
import { decodeString } from '../text/json/members.js';
import { JsonScanner, JsonSyntaxError } from '../text/json/scanner.js';
import { getRun } from './get-run.js';
import { isUsableId } from './parse-run.js';
import { backoff, isTransient, MAX_RESENDS } from './retry.js';
import type { Run } from './run.js';
import { excerptOf, redactTarget, redactToken, type Service } from './service.js';

/** Members that hold an id, the likeliest first. */
const ID_NAMES = ['id', 'runId', 'run_id'];
/** Members that some services wrap a run in. */
const WRAPPERS = new Set(['run', 'data', 'result', 'response', 'payload', 'item', 'resource']);
/** The most ids that are asked for, and the most characters of one. */
const MAX_CANDIDATES = 3;
const MAX_LENGTH = 200;

/** What an unusable answer says about the run, without the token. */
export async function collectEvidence(
  answer: ReceivedResponse,
  url: URL,
  { credentials }: Service,
): Promise<RunEvidence> {
  const token = await credentials.token();
  const excerpt = redactToken(excerptOf(answer.body), token);
  return {
    ids: candidateIds(answer),
    location: redactTarget(answer.headers.location, url),
    excerpt: excerpt === '' ? undefined : excerpt,
  };
}

/** The run that the service shows for one of the ids; undefined where it shows none. Throws the signal's reason. */
export async function confirmRun(
  { ids }: RunEvidence,
  service: Service,
  signal: AbortSignal,
): Promise<Run | undefined> {
  for (const id of ids) {
    const run = await readPatiently(id, service, signal);
    if (run !== undefined) return run;
  }
  return undefined;
}

/** Reads a run a few times: a service with several copies may not know at once what one of them has created. */
async function readPatiently(id: string, service: Service, signal: AbortSignal): Promise<Run | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return (await getRun(id, service, signal)).run;
    } catch (error) {
      signal.throwIfAborted();
      if (tries >= MAX_RESENDS || !mayPass(error)) return undefined;
      await service.clock.sleep(backoff(tries, service.clock.random()), signal);
    }
  }
}

/** Whether asking again may help. Throws what is no failure of a poll. */
function mayPass(error: unknown): boolean {
  if (error instanceof NetworkError) return true;
  if (error instanceof UnreadableResponseError) return false;
  if (!(error instanceof HttpError)) throw error;
  const { status } = error.info;
  return status === 404 || isTransient(status);
}

function candidateIds({ headers, body }: ReceivedResponse): string[] {
  const ids = [...idsInBody(body), idInLocation(headers.location)].filter(
    (id) => id !== undefined && isUsableId(id) && id.length <= MAX_LENGTH && !/\p{Cc}/u.test(id),
  );
  return [...new Set(ids as string[])].slice(0, MAX_CANDIDATES);
}

/** The part of a target's path behind the last `/runs/`. */
function idInLocation(location: string | undefined): string | undefined {
  const [, encoded] = /.*\/runs\/([^/?#]+)\/?(?:[?#].*)?$/.exec(location ?? '') ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Ids in JSON that may break off anywhere: those of the object itself before those one level down. */
function idsInBody(body: Uint8Array): string[] {
  const found: { id: string; rank: number }[] = [];
  const scanner = new JsonScanner(body);
  const names: string[] = [];
  try {
    for (let last = ''; scanner.next(); last = scanner.token) {
      const token = body.subarray(scanner.start, scanner.end);
      if (scanner.token === 'key') names[scanner.depth] = decodeString(token);
      if (last !== ':' || (scanner.token !== 'string' && scanner.token !== 'number')) continue;
      const rank = ID_NAMES.indexOf(names[scanner.depth] ?? '');
      const isOfRun = scanner.depth === 1 || (scanner.depth === 2 && WRAPPERS.has(names[1] ?? ''));
      if (rank < 0 || !isOfRun) continue;
      const id =
        scanner.token === 'string' ? decodeString(token) : integerIn(token, scanner.end < body.length);
      if (id !== undefined) found.push({ id, rank: rank + scanner.depth * ID_NAMES.length });
    }
  } catch (error) {
    // A body that broke off is read as far as it came.
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ id }) => id);
}

/** The text of an integer; of one that may go on beyond the end of the body, another number would remain. */
function integerIn(token: Uint8Array, isWhole: boolean): string | undefined {
  const text = Buffer.from(token).toString('latin1');
  return isWhole && /^\d+$/.test(text) ? text : undefined;
}
