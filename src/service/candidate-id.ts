/**
 * Finds run ids in an unusable response to a trigger, and confirms them with GET: until the service returns a run of that
 * id, it may be the id of something else.
 */

import { throwUnless, WfrError } from '../errors.js';
import { decodeStart } from '../text/json/members.js';
import { JsonScanner, JsonSyntaxError } from '../text/json/scanner.js';
import { type RunEvidence, UnreadableResponseError } from './errors.js';
import { getRun } from './get-run.js';
import { isUsableId, parseId } from './parse-run.js';
import { excerptOf, type ReceivedResponse } from './response-facts.js';
import { backoff, MAX_RESENDS } from './retry.js';
import type { Run } from './run.js';
import { readLocation, type Service } from './service.js';

/** Names of members that hold an id, the likeliest first. */
const ID_NAMES = ['id', 'runId', 'run_id'];
/** Names of members in which some services wrap a run. */
const WRAPPERS = ['run', 'data', 'result', 'response', 'payload', 'item', 'resource'];
/** Most ids to confirm, and most characters of an id. */
const MAX_CANDIDATES = 3;
const MAX_LENGTH = 200;
/** Members named like an id that are looked at. */
const MAX_MEMBERS = 1_000;

/** Returns what an unusable response says about the run. */
export function collectEvidence({ headers, body }: ReceivedResponse, url: URL): RunEvidence {
  const ids = [...findIdsInBody(body), findIdInLocation(headers.location)].filter(
    (id) => isUsableId(id) && id.length <= MAX_LENGTH && !/\p{Cc}/u.test(id),
  );
  return {
    ids: [...new Set(ids)].slice(0, MAX_CANDIDATES),
    location: readLocation(headers.location, url).location,
    excerpt: excerptOf(body) || undefined,
  };
}

/**
 * Returns the first run that the service has for one of the ids, undefined if none. Retries, as the replicas of a service
 * may take time to agree that a new run exists. Throws the signal's reason.
 */
export async function confirmRun(
  { ids }: RunEvidence,
  service: Service,
  signal: AbortSignal,
): Promise<Run | undefined> {
  for (const id of ids) {
    for (let retries = 0; retries <= MAX_RESENDS; retries++) {
      if (retries > 0) await service.clock.sleep(backoff(retries - 1, service.clock.random()), signal);
      try {
        return (await getRun(id, service, signal)).run;
      } catch (error) {
        signal.throwIfAborted();
        throwUnless(error, WfrError);
        const { code, isTemporary } = error.facts;
        const isMissing = code === 'no-such-run';
        if (error instanceof UnreadableResponseError || !(isTemporary || isMissing)) break;
      }
    }
  }
  return undefined;
}

/** Returns the segment after the last `/runs/` in the Location; empty if there is none. */
function findIdInLocation(location = ''): string {
  const [, encoded = ''] = /^[^?#]*\/runs\/([^/?#]+)\/?(?:[?#]|$)/.exec(location) ?? [];
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

/** Returns the ids in JSON that may be truncated: those of the object itself before those one level below. */
function findIdsInBody(body: Uint8Array): string[] {
  const found: { rank: number; id: string }[] = [];
  const scanner = new JsonScanner(body, 2);
  /** The names that lead to the current value, by their levels. */
  const names: string[] = [];
  try {
    for (let last = ''; found.length < MAX_MEMBERS && scanner.next(); last = scanner.token) {
      const { token, end, depth } = scanner;
      if (token === 'key') names[depth] = decodeStart(scanner.text, MAX_LENGTH);
      if (last !== ':' || (token !== 'string' && token !== 'number')) continue;
      const rank = ID_NAMES.indexOf(names[depth] ?? '');
      const isOfRun = depth === 1 || WRAPPERS.includes(names[1] ?? '');
      if (rank < 0 || !isOfRun) continue;
      // Truncation may have removed digits of a number.
      if (token === 'number' && end === body.length) continue;
      found.push({ rank: rank + depth * ID_NAMES.length, id: parseId(scanner.text) ?? '' });
    }
  } catch (error) {
    // A truncated body is read up to its end.
    throwUnless(error, JsonSyntaxError);
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ id }) => id);
}
