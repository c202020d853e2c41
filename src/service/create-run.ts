/** POST /runs: one trigger, sent again only where it cannot have been taken. */
import {
  HttpError,
  InterruptedError,
  NetworkError,
  NotTriggeredError,
  UnknownOutcomeError,
  UnreadableResponseError,
} from '../errors.js';
import type { Interruption } from '../platform/signals.js';
import { type Input, TriggerBody } from './body.js';
import { confirmRun, evidenceIn } from './candidate-id.js';
import { type Attempt, classify, type Decision, decideResend } from './retry.js';
import type { Run } from './run.js';
import { httpErrorInfo, requestHeaders, retryAfterOf, runIn, runsUrl, type Service } from './service.js';
import { SignalGrace } from './signal-grace.js';
import {
  fieldsFor,
  spellingHint,
  variantsOf,
  type WorkflowIdField,
  type WorkflowIdFieldChoice,
} from './workflow-id-field.js';

export interface Trigger {
  workflowId: string;
  inputs: readonly Input[];
  field: WorkflowIdFieldChoice;
  /** Whether it may be sent again after a 503 with Retry-After. */
  resend503: boolean;
}

/** A run as accepted, the spelling of the workflow's field that was, and how many forms it took to find it. */
export interface Created {
  run: Run;
  variant: WorkflowIdField;
  variantsTried: number;
}

/**
 * Triggers a run. `beforeLastBytes` is awaited each time before a request becomes complete, and
 * may throw to keep it back. Throws HttpError, NotTriggeredError or UnknownOutcomeError for what
 * the service or the network did, InterruptedError for a signal, FileChangedError or FileReadError for a document.
 */
export async function createRun(
  trigger: Trigger,
  service: Service,
  interruption: Interruption,
  beforeLastBytes = async () => {},
): Promise<Created> {
  const variants = variantsOf(trigger.field);
  for (const [index, variant] of variants.entries()) {
    try {
      const run = await sendUntilDecided(trigger, variant, service, interruption, beforeLastBytes);
      return { run, variant, variantsTried: index + 1 };
    } catch (error) {
      const hint = error instanceof HttpError && variants.length > 1 ? spellingHint(error) : undefined;
      if (!(error instanceof HttpError) || hint === undefined) throw error;
      if (hint === 'perhaps' || index === variants.length - 1) throw new HttpError(error.info, hint);
    }
  }
  throw new Error('no variant was tried');
}

/** Sends one form until it is accepted, finally refused, or may not be sent again. */
async function sendUntilDecided(
  trigger: Trigger,
  form: WorkflowIdField,
  service: Service,
  interruption: Interruption,
  beforeLastBytes: () => Promise<void>,
): Promise<Run> {
  const earlier: Attempt[] = [];
  let isRenewed = false;
  for (;;) {
    const body = new TriggerBody({ fields: fieldsFor(form, trigger.workflowId), inputs: trigger.inputs });
    const { run, failure, token } = await sendOnce(body, service, interruption, beforeLastBytes);
    if (run !== undefined) return run;
    // Once in a row: a service that rejects every new token must not be asked for ever.
    isRenewed = !isRenewed && (await hasNewToken(failure, token, service, interruption));
    if (isRenewed) continue;
    const last = attemptOf(failure, body);
    const decision = decideResend(last, earlier, trigger, service.clock.random());
    if (!decision.resend)
      throw finalError(failure, last, classify(last, trigger), decision, earlier.length + 1, body);
    earlier.push(last);
    service.events.retrying(failure, last.phase, decision.delay, earlier.length);
    await service.clock.sleep(decision.delay, interruption.signal).catch(throwAsUnsent);
  }
}

/** Whether the access token was rejected, and its source has given another one. */
async function hasNewToken(
  failure: NetworkError | HttpError,
  rejected: string | undefined,
  { credentials }: Service,
  { signal }: Interruption,
): Promise<boolean> {
  if (!(failure instanceof HttpError) || failure.info.status !== 401) return false;
  return credentials.refresh(rejected, signal).catch(throwAsUnsent);
}

/** A signal between two requests: what was sent created nothing. */
function throwAsUnsent(error: unknown): never {
  throw error instanceof InterruptedError ? new InterruptedError(error.signal, 0) : error;
}

function attemptOf(failure: NetworkError | HttpError, { phase }: TriggerBody): Attempt {
  if (failure instanceof NetworkError) return { phase, fault: failure.fault };
  const { status, retryAfter, isRunLocation = false } = failure.info;
  return { phase, status, retryAfter, isRunLocation };
}

function finalError(
  failure: NetworkError | HttpError,
  last: Attempt,
  meaning: ReturnType<typeof classify>,
  decision: Decision,
  attempts: number,
  body: TriggerBody,
): Error {
  switch (meaning) {
    case 'unknown':
      return new UnknownOutcomeError(failure);
    case 'refused':
      return failure;
    case 'not-triggered': {
      const asked = 'asked' in decision ? decision.asked : undefined;
      return new NotTriggeredError(failure, last.phase, attempts, body.handedOver / body.length, asked);
    }
  }
}

/** `token` is the one that was sent, as far as the request came. */
type Sent =
  | { run: Run; failure?: undefined; token?: undefined }
  | { run?: undefined; failure: NetworkError | HttpError; token?: string | undefined };

/** One request: the Run it started, or why there is none. */
async function sendOnce(
  body: TriggerBody,
  service: Service,
  interruption: Interruption,
  beforeLastBytes: () => Promise<void>,
): Promise<Sent> {
  const { transport, events, baseUrl } = service;
  const url = runsUrl(baseUrl);
  const patience = new SignalGrace(body, service, interruption);
  try {
    await service.rateLimiter?.acquire(patience.signal);
    events.request('POST', url.href, body.length);
    const token = await service.credentials.token(patience.signal);
    const hooks = {
      commit: async () => {
        await beforeLastBytes();
        interruption.signal.throwIfAborted();
      },
      onProgress: () => events.sending(body.handedOver, body.length),
      onSent: () => events.sent(),
    };
    const answer = await transport.post(
      url.pathname,
      requestHeaders(service, token),
      body,
      hooks,
      patience.signal,
    );
    events.response(answer.status, answer.durationMs);
    service.rateLimiter?.onResponse(answer.status, retryAfterOf(answer, service));
    if (answer.status >= 200 && answer.status <= 299) return { run: runIn(answer, 'string') };
    return { failure: new HttpError(httpErrorInfo('POST', url, answer, service, token, body.length)), token };
  } catch (error) {
    if (error instanceof InterruptedError) throw new InterruptedError(error.signal, body.phase);
    // The head of a 2xx has come, so the service took the request, whatever became of the rest.
    const isTaken = error instanceof NetworkError && error.facts.status !== undefined && !error.facts.proxy;
    if (error instanceof UnreadableResponseError || isTaken) {
      return { run: await identifyRun(error, url, service, patience.signal) };
    }
    if (!(error instanceof NetworkError)) throw error;
    return { failure: error };
  } finally {
    patience.end();
  }
}

/**
 * The run that an unusable answer tells of, if the service shows it. Throws UnknownOutcomeError or InterruptedError, with
 * what the answer said.
 */
async function identifyRun(
  error: NetworkError | UnreadableResponseError,
  url: URL,
  service: Service,
  signal: AbortSignal,
): Promise<Run> {
  const { received } = error.facts;
  if (received === undefined) throw new UnknownOutcomeError(error);
  const evidence = await evidenceIn(received, url, service);
  const run = await confirmRun(evidence, service, signal).catch((reason) => {
    throw reason instanceof InterruptedError ? new InterruptedError(reason.signal, 2, evidence) : reason;
  });
  if (run === undefined) throw new UnknownOutcomeError(error, evidence);
  return run;
}
