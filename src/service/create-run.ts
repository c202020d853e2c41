/** POST /runs: sends one trigger, and sends it again only if it cannot have been accepted. */

import {
  type ErrorResponse,
  InterruptedError,
  NOTHING_CREATED,
  throwAsUnsent,
  throwUnless,
  WfrError,
} from '../errors.js';
import type { Interruption } from '../platform/signals.js';
import { onAbort } from '../platform/until-aborted.js';
import { formatDuration, formatUtc, listFirst } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { createTriggerBody, type Input, type TriggerBody } from './body.js';
import { collectEvidence, confirmRun } from './candidate-id.js';
import {
  interruptedTrigger,
  NetworkError,
  NotTriggeredError,
  type RunEvidence,
  statusCommand,
  UnreadableResponseError,
  unknownOutcome,
} from './errors.js';
import { blamesField, HttpError, rejectsBody } from './http-error.js';
import { parseRun } from './parse-run.js';
import type { ReceivedResponse } from './response-facts.js';
import { type Attempt, classify, decideResend } from './retry.js';
import type { Run } from './run.js';
import { runsUrl, type Service, sendRequest } from './service.js';
import type { SendHooks } from './transport.js';
import {
  fieldsFor,
  variantsOf,
  type WorkflowIdField,
  type WorkflowIdFieldChoice,
} from './workflow-id-field.js';

export interface Trigger {
  workflowId: string;
  inputs: readonly Input[];
  field: WorkflowIdFieldChoice;
  /** Whether the user guarantees that a 503 with Retry-After has created nothing. */
  resend503: boolean;
}

/** Inputs that an unknown outcome names at most. */
const MAX_NAMED_INPUTS = 10;

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

/** The created run, or why there is none; `token` is the access token that was sent. */
type SendResult =
  | { run: Run; failure?: undefined; token?: undefined }
  | { run?: undefined; failure: NetworkError | HttpError; token?: string | undefined };

/**
 * Triggers a run, and records each step. Throws HttpError, NotTriggeredError or the error of an unknown outcome when no run
 * was confirmed, InterruptedError after a signal, FileChangedError or FileReadError when a document cannot be sent, and what
 * `log.sent` throws.
 */
export async function createRun(
  trigger: Trigger,
  service: Service,
  interruption: Interruption,
  log: TriggerLog,
) {
  const { clock, limits, events, transport } = service;
  const { signal } = interruption;
  const url = runsUrl(service.baseUrl);
  let requests = 0;
  let sentAt = 0;

  /**
   * Returns the run that an unusable response refers to, if the service confirms it. Throws the error of an unknown
   * outcome or of a signal, with the evidence in the response.
   */
  const identifyRun = async (
    error: NetworkError | UnreadableResponseError,
    received: ReceivedResponse,
    graceSignal: AbortSignal,
  ) => {
    const evidence = collectEvidence(received, url);
    const run = await confirmRun(evidence, service, graceSignal).catch((reason) => {
      const isSignal = reason instanceof InterruptedError;
      throw isSignal ? interruptedTrigger(reason.signal, evidence) : reason;
    });
    if (!run) throw unknownOutcome(error, evidence);
    return run;
  };

  /** Sends one request. Throws as createRun does when sending again is no option. */
  const sendOnce = async (body: TriggerBody): Promise<SendResult> => {
    const grace = startGrace(body);
    let isAnswered = false;
    /** What an incomplete response says about the run. */
    let evidence: RunEvidence | undefined;
    const hooks: SendHooks = {
      async beforeLastBytes() {
        // A request whose response arrived early may still be reading its files.
        if (isAnswered) throw new Error('the response has already arrived');
        await log.sent();
        sentAt = clock.now();
        signal.throwIfAborted();
      },
      onProgress: () => events.sending(body.bytesSent, body.length, body.hasDocuments),
      onSent: events.sent,
      onIncomplete(received) {
        if (evidence?.ids[0] !== undefined) return;
        evidence = collectEvidence(received, url);
        const [id] = evidence.ids;
        if (id === undefined) return;
        log.candidate(id);
        const look = `to look for the run: ${statusCommand(id)}`;
        events.blockOnce(`The response names the run ${sanitize(id)}, and has not ended; ${look}`);
      },
    };
    const send = (headers: Record<string, string>) =>
      transport.post(url.pathname, headers, body, hooks, grace.signal);
    try {
      const request = { workflowId: trigger.workflowId, length: body.length };
      const { response, createError, token } = await sendRequest(url, service, grace.signal, send, request);
      return createError ? { failure: createError(), token } : { run: parseRun(response, 'string') };
    } catch (error) {
      if (error instanceof InterruptedError && body.sendState === 'complete')
        throw interruptedTrigger(error.signal, evidence);
      if (error instanceof UnreadableResponseError || error instanceof NetworkError) {
        // The service accepted the request, even if the rest of its response cannot be read.
        if (error.received) return { run: await identifyRun(error, error.received, grace.signal) };
        if (error instanceof NetworkError) return { failure: error };
      }
      throw error;
    } finally {
      isAnswered = true;
      grace.end();
    }
  };

  /** Returns whether the access token was rejected and its source now has another one. */
  const hasNewToken = async ({ failure, token }: SendResult) => {
    if (failure?.facts.code !== 'unauthorized') return false;
    // To read the token may take long.
    log.refused(failure, false);
    return service.credentials.refresh(token, signal);
  };

  /** Sends one variant until it is accepted or must not be sent again. */
  const sendUntilDecided = async (variant: WorkflowIdField) => {
    const fields = fieldsFor(variant, trigger.workflowId);
    const earlier: Attempt[] = [];
    let isNewToken = false;
    for (;;) {
      const body = createTriggerBody(fields, trigger.inputs);
      requests++;
      const result = await sendOnce(body);
      const { run, failure } = result;
      if (run) return run;
      // Not twice in a row: a service may reject every new token.
      isNewToken = !isNewToken && (await hasNewToken(result));
      if (isNewToken) continue;
      const { sendState } = body;
      const last = { failure, sendState };
      const meaning = classify(last, trigger.resend503);
      if (meaning === 'unknown') throw unknownOutcome(failure);
      if (meaning === 'rejected') throw failure;
      const { delay, retryAfter } = decideResend(last, earlier, clock.random());
      if (delay === undefined) {
        const progress = body.bytesSent / body.length;
        throw new NotTriggeredError(failure, sendState, earlier.length + 1, progress, retryAfter);
      }
      log.refused(failure, false);
      earlier.push(last);
      events.retrying(failure, sendState, delay, earlier.length);
      service.gate?.onRetry(failure, delay);
      await clock.sleep(delay, signal);
    }
  };

  /** Sends the first variant, and the others while the service blames the field. */
  const tryVariants = async (
    [variant, next, ...others]: readonly [WorkflowIdField, ...WorkflowIdField[]],
    variantsTried = 1,
  ): Promise<{ run: Run; variant: WorkflowIdField; variantsTried: number }> => {
    try {
      return { run: await sendUntilDecided(variant), variant, variantsTried };
    } catch (error) {
      if (!next || !(error instanceof HttpError) || !blamesField(error)) throw error;
      log.refused(error, false);
      return tryVariants([next, ...others], variantsTried + 1);
    }
  };

  try {
    const created = await tryVariants(variantsOf(trigger.field)).catch(throwAsUnsent);
    log.accepted(created.run);
    return created;
  } catch (error) {
    throwUnless(error, WfrError);
    const { facts } = error;
    facts.attempts ??= requests;
    if (facts.runMayExist) {
      const inputs = trigger.inputs.map(({ name }) => name);
      const names = listFirst(inputs, MAX_NAMED_INPUTS) || 'none';
      const sent = `Sent ${formatUtc(sentAt)}: workflow ${trigger.workflowId}, inputs ${names}`;
      facts.hints = [sent, ...facts.hints];
      log.unknown(error);
    } else {
      if (error instanceof HttpError) {
        facts.summary = [...facts.summary, NOTHING_CREATED];
        const blamed = trigger.inputs.filter(({ name }) => blamesInput(error.info, name));
        const hints = [...blamed.flatMap(({ hint }) => hint ?? []), ...facts.hints];
        facts.hints = hints.length === 0 && rejectsBody(error.info) ? [INPUTS_HINT] : hints;
      }
      log.refused(error, true);
    }
    throw error;
  }

  /**
   * Returns a signal that aborts a request when a signal comes, unless its body is complete. Then a run may exist, so wfr
   * waits a grace period for its id; a second signal ends the wait.
   */
  function startGrace(body: TriggerBody) {
    const controller = new AbortController();
    let cancel = () => {};
    const abort = () => controller.abort(signal.reason);
    const onSignal = () => {
      const { received } = interruption;
      if (body.sendState !== 'complete') return abort();
      const ms = received === 'SIGINT' ? limits.interruptGrace : limits.terminationGrace;
      const exit = `${received === 'SIGINT' ? 'Ctrl-C' : received} again exits at once`;
      events.blockOnce(`The request was sent; waiting up to ${formatDuration(ms)} for the run id; ${exit}`);
      cancel = clock.after(ms, abort);
    };
    const stopListening = [onAbort(signal, onSignal), onAbort(interruption.second, abort)];
    return {
      signal: controller.signal,
      end() {
        for (const stop of [cancel, ...stopListening]) stop();
      },
    };
  }
}

/** Returns whether the service rejected the value of this input: its message has the name, and does not call it unknown. */
export function blamesInput(response: ErrorResponse, name: string): boolean {
  const { message = '' } = response;
  const aboutValues = message.split(/[;\n]/).filter((part) => !/unknown/i.test(part));
  const words = aboutValues.join(' ').split(/[^\p{L}\p{N}_-]+/u);
  return rejectsBody(response) && words.includes(name);
}

/** Where the service has said what is wrong, and wfr knows nothing to add. */
const INPUTS_HINT = 'Inputs are written name=text, name@file or name:=json: wfr help inputs';
