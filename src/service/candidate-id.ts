/**
 * Finds run ids in an unusable response to a trigger, and confirms them with GET: until the service returns a run of that
 * id, it may be the id of something else.
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

/** Names of members that hold an id, the likeliest first. */
const ID_NAMES = ['id', 'runId', 'run_id'];
/** Names of members in which some services wrap a run. */
const WRAPPERS = new Set(['run', 'data', 'result', 'response', 'payload', 'item', 'resource']);
/** Most ids to confirm, and most characters of an id. */
const MAX_CANDIDATES = 3;
const MAX_LENGTH = 200;

/** Returns what an unusable response says about the run, with the token redacted. */
export async function collectEvidence(
  response: ReceivedResponse,
  url: URL,
  { credentials }: Service,
): Promise<RunEvidence> {
  const token = await credentials.token();
  const excerpt = redactToken(excerptOf(response.body), token);
  return {
    ids: findIds(response),
    location: redactTarget(response.headers.location, url),
    excerpt: excerpt === '' ? undefined : excerpt,
  };
}

/** Returns the first run that the service has for one of the ids, undefined if none. Throws the signal's reason. */
export async function confirmRun(
  { ids }: RunEvidence,
  service: Service,
  signal: AbortSignal,
): Promise<Run | undefined> {
  for (const id of ids) {
    const run = await getRunWithRetries(id, service, signal);
    if (run !== undefined) return run;
  }
  return undefined;
}

/** Reads a run, with retries: the replicas of a service may take time to agree that a new run exists. */
async function getRunWithRetries(
  id: string,
  service: Service,
  signal: AbortSignal,
): Promise<Run | undefined> {
  for (let retries = 0; ; retries++) {
    try {
      return (await getRun(id, service, signal)).run;
    } catch (error) {
      signal.throwIfAborted();
      if (retries >= MAX_RESENDS || !isRetryable(error)) return undefined;
      await service.clock.sleep(backoff(retries, service.clock.random()), signal);
    }
  }
}

/** Returns whether a retry may succeed. Rethrows an error that is not a failed poll. */
function isRetryable(error: unknown): boolean {
  if (error instanceof NetworkError) return true;
  if (error instanceof UnreadableResponseError) return false;
  if (!(error instanceof HttpError)) throw error;
  const { status } = error.info;
  return status === 404 || isTransient(status);
}

function findIds({ headers, body }: ReceivedResponse): string[] {
  const ids = [...findIdsInBody(body), findIdInLocation(headers.location)].filter(
    (id) => id !== undefined && isUsableId(id) && id.length <= MAX_LENGTH && !/\p{Cc}/u.test(id),
  );
  return [...new Set(ids as string[])].slice(0, MAX_CANDIDATES);
}

/** Returns the segment after the last `/runs/` in the Location. */
function findIdInLocation(location: string | undefined): string | undefined {
  const [, encoded] = /.*\/runs\/([^/?#]+)\/?(?:[?#].*)?$/.exec(location ?? '') ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Returns the ids in JSON that may be truncated: those of the object itself before those one level below. */
function findIdsInBody(body: Uint8Array): string[] {
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
        scanner.token === 'string' ? decodeString(token) : parseInteger(token, scanner.end < body.length);
      if (id !== undefined) found.push({ id, rank: rank + scanner.depth * ID_NAMES.length });
    }
  } catch (error) {
    // A truncated body is read up to its end.
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ id }) => id);
}

/** Returns the text of an integer; undefined if truncation may have removed digits. */
function parseInteger(token: Uint8Array, isWhole: boolean): string | undefined {
  const text = Buffer.from(token).toString('latin1');
  return isWhole && /^\d+$/.test(text) ? text : undefined;
}
