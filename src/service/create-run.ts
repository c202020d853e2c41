/** POST /runs: sends one trigger, and sends it again only if it cannot have been accepted. */
import {
  HttpError,
  InterruptedError,
  NetworkError,
  NotTriggeredError,
  type ReceivedResponse,
  type RunEvidence,
  UnknownOutcomeError,
  UnreadableResponseError,
  WfrError,
} from '../errors.js';
import type { Interruption } from '../platform/signals.js';
import { type Input, TriggerBody } from './body.js';
import { collectEvidence, confirmRun } from './candidate-id.js';
import { type Attempt, classify, type Decision, decideResend } from './retry.js';
import type { Run } from './run.js';
import {
  httpErrorInfo,
  onResponse,
  parseRunResponse,
  requestHeaders,
  runsUrl,
  type Service,
} from './service.js';
import type { SendHooks } from './transport.js';
import {
  fieldsFor,
  getVariantHint,
  variantsOf,
  type WorkflowIdField,
  type WorkflowIdFieldChoice,
} from './workflow-id-field.js';

export interface Trigger {
  workflowId: string;
  inputs: readonly Input[];
  field: WorkflowIdFieldChoice;
  /** Whether to send it again after a 503 with Retry-After, even after a complete body. */
  resend503: boolean;
}

/** The accepted run, the variant of the workflow's field that was accepted, and how many variants were sent. */
export interface Created {
  run: Run;
  variant: WorkflowIdField;
  variantsTried: number;
}

/** Records what becomes of a trigger, so that a later command knows whether a run may exist. */
export interface TriggerLog {
  /** Awaited before the closing bytes of each request: resolves once it is recorded; throws to withhold them. */
  sent(): Promise<void>;
  /** The latest request has created no run; another one follows if `isFinal` is false. */
  refused(error: WfrError, isFinal: boolean): void;
  /** A run may exist. */
  unknown(error: WfrError): void;
  accepted(run: Run): void;
  /** The response names an id and has not ended. */
  candidate(id: string): void;
}

/** How many requests one trigger has taken so far. */
interface SentRequests {
  count: number;
}

/**
 * Triggers a run, and records each step. Throws HttpError, NotTriggeredError or UnknownOutcomeError when no run was
 * confirmed, InterruptedError after a signal, FileChangedError or FileReadError when a document cannot be sent, and what
 * `log.sent` throws.
 */
export async function createRun(
  trigger: Trigger,
  service: Service,
  interruption: Interruption,
  log: TriggerLog,
): Promise<Created> {
  const sent: SentRequests = { count: 0 };
  try {
    const created = await tryVariants(trigger, service, interruption, log, sent);
    log.accepted(created.run);
    return created;
  } catch (error) {
    if (error instanceof WfrError && sent.count > 0) error.attempts ??= sent.count;
    if (error instanceof WfrError && error.runMayExist) log.unknown(error);
    // What the log cannot record, it cannot record as refused either.
    else if (error instanceof WfrError && error.code !== 'output-not-written') log.refused(error, true);
    throw error;
  }
}

async function tryVariants(
  trigger: Trigger,
  service: Service,
  interruption: Interruption,
  log: TriggerLog,
  sent: SentRequests,
): Promise<Created> {
  const variants = variantsOf(trigger.field);
  for (const [index, variant] of variants.entries()) {
    try {
      const run = await sendUntilDecided(trigger, variant, service, interruption, log, sent);
      return { run, variant, variantsTried: index + 1 };
    } catch (error) {
      const hint = error instanceof HttpError && variants.length > 1 ? getVariantHint(error) : undefined;
      if (!(error instanceof HttpError) || hint === undefined) throw error;
      if (hint === 'possible' || index === variants.length - 1) throw new HttpError(error.info, hint);
      log.refused(error, false);
    }
  }
  throw new Error('no variant was tried');
}

/** Sends one variant until it is accepted or must not be sent again. */
async function sendUntilDecided(
  trigger: Trigger,
  variant: WorkflowIdField,
  service: Service,
  interruption: Interruption,
  log: TriggerLog,
  sent: SentRequests,
): Promise<Run> {
  const earlier: Attempt[] = [];
  let isNewToken = false;
  for (;;) {
    const body = new TriggerBody({ fields: fieldsFor(variant, trigger.workflowId), inputs: trigger.inputs });
    sent.count++;
    const { run, failure, token } = await sendOnce(body, service, interruption, log);
    if (run !== undefined) return run;
    // Not twice in a row: a service may reject every new token.
    isNewToken = !isNewToken && (await hasNewToken(failure, token, service, interruption, log));
    if (isNewToken) continue;
    const last = toAttempt(failure, body);
    const decision = decideResend(last, earlier, trigger, service.clock.random());
    if (!decision.resend)
      throw finalError(failure, last, classify(last, trigger), decision, earlier.length + 1, body);
    log.refused(failure, false);
    earlier.push(last);
    service.events.retrying(failure, last.sendState, decision.delay, earlier.length);
    service.gate?.onRetry(failure, decision.delay);
    await service.clock.sleep(decision.delay, interruption.signal).catch(throwAsUnsent);
  }
}

/** Returns whether the access token was rejected and its source now has another one. */
async function hasNewToken(
  failure: NetworkError | HttpError,
  rejected: string | undefined,
  { credentials }: Service,
  { signal }: Interruption,
  log: TriggerLog,
): Promise<boolean> {
  if (!(failure instanceof HttpError) || failure.info.status !== 401) return false;
  // To read the token may take long.
  log.refused(failure, false);
  return credentials.refresh(rejected, signal).catch(throwAsUnsent);
}

/** Marks a signal that came between two requests: the earlier ones created nothing. */
function throwAsUnsent(error: unknown): never {
  throw error instanceof InterruptedError ? new InterruptedError(error.signal, 'unsent') : error;
}

function toAttempt(failure: NetworkError | HttpError, { sendState }: TriggerBody): Attempt {
  if (failure instanceof NetworkError) return { sendState, fault: failure.fault };
  const { status, retryAfter, isRunLocation = false } = failure.info;
  return { sendState, status, retryAfter, isRunLocation };
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
    case 'rejected':
      return failure;
    case 'not-triggered': {
      const retryAfter = 'retryAfter' in decision ? decision.retryAfter : undefined;
      return new NotTriggeredError(
        failure,
        last.sendState,
        attempts,
        body.bytesSent / body.length,
        retryAfter,
      );
    }
  }
}

/** The created run, or why there is none; `token` is the access token that was sent. */
type SendResult =
  | { run: Run; failure?: undefined; token?: undefined }
  | { run?: undefined; failure: NetworkError | HttpError; token?: string | undefined };

/** Sends one request. Throws as createRun does when sending again is no option. */
async function sendOnce(
  body: TriggerBody,
  service: Service,
  interruption: Interruption,
  log: TriggerLog,
): Promise<SendResult> {
  const url = runsUrl(service.baseUrl);
  const grace = new SignalGrace(body, service, interruption);
  let isAnswered = false;
  const beforeLastBytes = async () => {
    // A request whose response arrived early may still be reading its files.
    if (isAnswered) throw new Error('the response has already arrived');
    await log.sent();
    interruption.signal.throwIfAborted();
  };
  /** What an incomplete response says about the run. */
  let evidence: RunEvidence | undefined;
  const onIncomplete = (received: ReceivedResponse) => {
    const isFirst = evidence?.ids[0] === undefined;
    evidence = collectEvidence(received, url);
    const [id] = evidence.ids;
    if (id === undefined || !isFirst) return id !== undefined;
    log.candidate(id);
    service.events.candidate(id);
    return true;
  };
  try {
    return await postTrigger(url, body, service, grace.signal, { beforeLastBytes, onIncomplete });
  } catch (error) {
    if (error instanceof InterruptedError) throw new InterruptedError(error.signal, body.sendState, evidence);
    if (isAccepted(error)) return { run: await identifyRun(error, url, service, grace.signal) };
    if (!(error instanceof NetworkError)) throw error;
    return { failure: error };
  } finally {
    isAnswered = true;
    grace.end();
  }
}

async function postTrigger(
  url: URL,
  body: TriggerBody,
  service: Service,
  signal: AbortSignal,
  ownHooks: Pick<SendHooks, 'beforeLastBytes' | 'onIncomplete'>,
): Promise<SendResult> {
  const { transport, events } = service;
  await service.gate?.acquire(signal);
  events.request('POST', url.href, body.length);
  const token = await service.credentials.token(signal);
  const hooks = {
    ...ownHooks,
    onProgress: () => events.sending(body.bytesSent, body.length, body.hasDocuments),
    onSent: () => events.sent(),
  };
  const response = await transport.post(url.pathname, requestHeaders(service, token), body, hooks, signal);
  onResponse(response, service);
  if (response.status >= 200 && response.status <= 299) return { run: parseRunResponse(response, 'string') };
  return {
    failure: new HttpError(httpErrorInfo('POST', url, response, service, body)),
    token,
  };
}

/** Returns whether the head of a 2xx arrived: the service accepted the request, even if the rest cannot be read. */
function isAccepted(error: unknown): error is NetworkError | UnreadableResponseError {
  if (error instanceof UnreadableResponseError) return true;
  return error instanceof NetworkError && error.facts.status !== undefined && !error.facts.proxy;
}

/**
 * Returns the run that an unusable response refers to, if the service confirms it. Throws UnknownOutcomeError or
 * InterruptedError, with the evidence in the response.
 */
async function identifyRun(
  error: NetworkError | UnreadableResponseError,
  url: URL,
  service: Service,
  signal: AbortSignal,
): Promise<Run> {
  const { received } = error.facts;
  if (received === undefined) throw new UnknownOutcomeError(error);
  const evidence = collectEvidence(received, url);
  const run = await confirmRun(evidence, service, signal).catch((reason) => {
    throw reason instanceof InterruptedError
      ? new InterruptedError(reason.signal, 'complete', evidence)
      : reason;
  });
  if (run === undefined) throw new UnknownOutcomeError(error, evidence);
  return run;
}

/**
 * Aborts a request when a signal comes, unless its body is complete. Then a run may exist, so wfr waits a grace period for
 * its id; a second signal ends the wait.
 */
class SignalGrace {
  readonly #controller = new AbortController();
  readonly #interruption: Interruption;
  readonly #onSignal: () => void;
  readonly #abort: () => void;
  #cancel = () => {};

  constructor(body: TriggerBody, { clock, limits, events }: Service, interruption: Interruption) {
    const { signal, second } = interruption;
    this.#interruption = interruption;
    this.#abort = () => this.#controller.abort(signal.reason);
    this.#onSignal = () => {
      const { received } = interruption;
      if (body.sendState !== 'complete' || received === undefined || second.aborted) return this.#abort();
      const ms = received === 'SIGINT' ? limits.interruptGrace : limits.terminationGrace;
      events.awaitingId(ms, received);
      this.#cancel = clock.after(ms, this.#abort);
    };
    signal.addEventListener('abort', this.#onSignal, { once: true });
    second.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#onSignal();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#cancel();
    this.#interruption.signal.removeEventListener('abort', this.#onSignal);
    this.#interruption.second.removeEventListener('abort', this.#abort);
  }
}
