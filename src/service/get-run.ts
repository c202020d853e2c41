/** GET /runs/{id}: reads the current state of a run. */
import { HttpError } from './http-error.js';
import type { ResponsePlace } from './response-memory.js';
import {
  httpErrorInfo,
  parseRunResponse,
  retryAfterOf,
  runsUrl,
  type Service,
  sendRequest,
  unreadableResponse,
} from './service.js';

/** A Run and the response's Retry-After in milliseconds. */
export type RunResponse = Awaited<ReturnType<typeof getRun>>;

/**
 * Reads a run. If the token is rejected, reads it from its source again and retries once. Throws HttpError, NetworkError,
 * UnreadableResponseError, NoRoomError or the signal's reason.
 */
export async function getRun(id: string, service: Service, signal: AbortSignal, place?: ResponsePlace) {
  const url = runsUrl(service.baseUrl, id);
  const { transport, credentials } = service;
  const send = () =>
    sendRequest('GET', url, service, signal, (headers) =>
      transport.get(url.pathname, headers, signal, place),
    );
  let { response, token } = await send();
  if (response.status === 401 && (await credentials.refresh(token, signal)))
    ({ response, token } = await send());
  if (response.status < 200 || response.status > 299)
    throw new HttpError(httpErrorInfo('GET', url, response, service));
  const run = parseRunResponse(response);
  if (run.id !== id) throw unreadableResponse('it is about another run', response);
  if (run.status === undefined) throw unreadableResponse('it has no status', response);
  return { run, retryAfter: retryAfterOf(response, service) };
}
