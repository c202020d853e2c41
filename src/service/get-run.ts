/** GET /runs/{id}: reads the current state of a run. */
import { UnreadableResponseError } from './errors.js';
import { parseRun } from './parse-run.js';
import type { ResponsePlace } from './response-memory.js';
import { runsUrl, type Service, sendRequest } from './service.js';

/** A Run and the response's Retry-After in milliseconds. */
export type RunResponse = Awaited<ReturnType<typeof getRun>>;

/**
 * Reads a run. If the token is rejected, reads it from its source again and retries once. Throws HttpError, NetworkError,
 * UnreadableResponseError, NO_ROOM or the signal's reason.
 */
export async function getRun(id: string, service: Service, signal: AbortSignal, place?: ResponsePlace) {
  const url = runsUrl(service.baseUrl, id);
  const { transport, credentials } = service;
  const send = () =>
    sendRequest(url, service, signal, (headers) => transport.get(url.pathname, headers, signal, place), {
      runId: id,
    });
  let result = await send();
  if (result.response.status === 401 && (await credentials.refresh(result.token, signal)))
    result = await send();
  const { response, createError, retryAfter } = result;
  if (createError) throw createError();
  const run = parseRun(response);
  if (run.id !== id) throw new UnreadableResponseError('it is about another run', response);
  if (run.status === undefined) throw new UnreadableResponseError('it has no status', response);
  return { run, retryAfter };
}
