/** GET /runs/{id}: a run as it is now. */
import { HttpError } from '../errors.js';
import type { Run } from './run.js';
import {
  httpErrorInfo,
  requestHeaders,
  retryAfterOf,
  runIn,
  runsUrl,
  type Service,
  unreadableResponse,
} from './service.js';
import type { HttpResponse } from './transport.js';

/** A Run as it was read, and the milliseconds that the service asked to be left alone for. */
export interface RunResponse {
  run: Run;
  retryAfter: number | undefined;
}

/**
 * Reads a run. A token that is refused is read from its source once more. Throws RefusedError, NetworkError,
 * UnreadableAnswerError or the signal's reason.
 */
export async function getRun(id: string, service: Service, signal: AbortSignal): Promise<RunResponse> {
  const url = runsUrl(service.baseUrl, id);
  let { answer, token } = await read(url, service, signal);
  if (answer.status === 401 && (await service.credentials.refresh(token, signal))) {
    ({ answer, token } = await read(url, service, signal));
  }
  if (answer.status < 200 || answer.status > 299)
    throw new HttpError(httpErrorInfo('GET', url, answer, service, token));
  const run = runIn(answer);
  if (run.id.toLowerCase() !== id.toLowerCase()) throw unreadableResponse('it is about another run', answer);
  if (run.status === undefined) throw unreadableResponse('it has no status', answer);
  return { run, retryAfter: retryAfterOf(answer, service) };
}

/** The answer, and the token that was sent. */
async function read(
  url: URL,
  service: Service,
  signal: AbortSignal,
): Promise<{ answer: HttpResponse; token: string | undefined }> {
  await service.rateLimiter?.acquire(signal);
  service.events.request('GET', url.href);
  const token = await service.credentials.token(signal);
  const answer = await service.transport.get(url.pathname, requestHeaders(service, token), signal);
  service.events.response(answer.status, answer.durationMs);
  service.rateLimiter?.onResponse(answer.status, retryAfterOf(answer, service));
  return { answer, token };
}
