/** One run as it is now, for commands that do not wait for its end. */
import type { HttpError, NetworkError, UnreadableResponseError } from '../../errors.js';
import { followRun } from '../../service/follow-run.js';
import { getRun } from '../../service/get-run.js';
import type { Run } from '../../service/run.js';
import type { Service } from '../../service/service.js';

/**
 * Reads a run until the first readable answer; `onFailedPoll` is called for each failure after which it is read again
 * in `delay` ms. Throws NoSuchRunError, RefusedError, LostSightError and the signal's reason.
 */
export async function readRun(
  id: string,
  service: Service,
  signal: AbortSignal,
  onFailedPoll: (failure: NetworkError | HttpError | UnreadableResponseError, delay: number) => void,
): Promise<Run> {
  const polls = followRun(id, {
    poll: (ends) => getRun(id, service, ends),
    clock: service.clock,
    signal,
    interval: 0,
    maxInterval: 0,
    timeout: undefined,
    onFailedPoll,
  });
  for await (const run of polls) return run;
  throw new Error('a poll of a run returned nothing');
}
