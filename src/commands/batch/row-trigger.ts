/** Triggers the run of a row: retries while the service is overloaded, and holds requests back once the batch stops. */
import type { Journal } from '../../batch/journal/journal.js';
import type { Reachability } from '../../batch/reachability.js';
import type { Row } from '../../batch/row.js';
import type { RowStates } from '../../batch/row-states.js';
import { HttpError, UnknownOutcomeError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { Input } from '../../service/body.js';
import type { Trigger } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import type { WorkflowIdFieldChoice } from '../../service/workflow-id-field.js';
import { errorText } from '../../view/errors/describe-error.js';
import { createRecordedRun } from '../shared/recorded-trigger.js';
import type { Session } from '../shared/session.js';

/** What the triggers of all rows have in common. */
export type TriggerPlan = Omit<Trigger, 'inputs'>;

export interface TriggerTools {
  session: Session;
  journal: Journal;
  rowStates: RowStates;
  reachability: Reachability;
  /** Whether no further request may be completed. */
  isStopped(): boolean;
}

/** After so many consecutive unknown outcomes, further rows would only create more runs without a known id. */
const MAX_CONSECUTIVE_UNKNOWN = 5;

/** After so many consecutive rows that were rejected with the same status, the next ones will be as well. */
const MAX_CONSECUTIVE_REJECTED = 11;

/** A row was not sent because the batch stopped; its request was never complete. */
export class HeldBackError extends Error {
  constructor() {
    super('the batch stopped before this row was sent');
  }
}

export class RowTrigger {
  readonly #plan: TriggerPlan;
  readonly #tools: TriggerTools;
  readonly #awaiting = new Set<number>();
  #field: WorkflowIdFieldChoice;
  #consecutiveUnknown = 0;
  #lastUnknownOutcome: UnknownOutcomeError | undefined;
  #consecutiveRejected = 0;
  #lastRejection: HttpError | undefined;

  constructor(plan: TriggerPlan, tools: TriggerTools) {
    this.#plan = plan;
    this.#tools = tools;
    this.#field = plan.field;
  }

  /** How many rows were sent completely and wait for the response. */
  get awaiting(): number {
    return this.#awaiting.size;
  }

  /** The last of five consecutive unknown outcomes; from then on no request is completed. */
  get lastUnknownOutcome(): UnknownOutcomeError | undefined {
    return this.#lastUnknownOutcome;
  }

  /** The last of eleven consecutive rejections with the same status. */
  get repeatedRejection(): HttpError | undefined {
    return this.#consecutiveRejected >= MAX_CONSECUTIVE_REJECTED ? this.#lastRejection : undefined;
  }

  /** Triggers the run of a row. Throws what createRun throws, and HeldBackError. */
  async send(row: Row, inputs: readonly Input[]): Promise<Run> {
    try {
      const run = await this.#sendWithRetries(row, inputs);
      this.#countOutcome(undefined);
      return run;
    } catch (error) {
      this.#countOutcome(error);
      throw error;
    } finally {
      this.#awaiting.delete(row.number);
    }
  }

  /** Counts consecutive unknown outcomes and rejections; `error` is undefined for a row that was accepted. */
  #countOutcome(error: unknown): void {
    this.#consecutiveUnknown = error instanceof UnknownOutcomeError ? this.#consecutiveUnknown + 1 : 0;
    if (error instanceof UnknownOutcomeError && this.#consecutiveUnknown >= MAX_CONSECUTIVE_UNKNOWN)
      this.#lastUnknownOutcome ??= error;
    const rejection = error instanceof HttpError ? error : undefined;
    const isSame = rejection?.info.status === this.#lastRejection?.info.status;
    this.#consecutiveRejected = rejection === undefined ? 0 : isSame ? this.#consecutiveRejected + 1 : 1;
    this.#lastRejection = rejection;
  }

  async #sendWithRetries({ number }: Row, inputs: readonly Input[]): Promise<Run> {
    const { journal, rowStates, reachability, isStopped } = this.#tools;
    const { workflowId, resend503 } = this.#plan;
    const session = this.#sessionOf(number);
    const recordSent = async () => {
      if (this.#lastUnknownOutcome !== undefined || isStopped()) throw new HeldBackError();
      const sent = { event: 'sent', row: number } as const;
      rowStates.record(sent);
      this.#awaiting.add(number);
      await journal.commit(sent);
    };
    const recordUnknown = (text: string) => {
      const reason = session.context.secrets.mask(text);
      const unknown = { event: 'unknown', row: number, reason } as const;
      journal.append(unknown);
      rowStates.record(unknown);
    };
    const trigger = () => ({ workflowId, inputs, field: this.#field, resend503 });
    const send = () => createRecordedRun(trigger(), session, recordSent, recordUnknown);
    const { run, variant } = await reachability.send(send, (error) => this.#recordRefusal(number, error));
    this.#field = variant;
    return run;
  }

  /** Returns the session for the triggers of one row: a request that is sent again created no run, and is recorded so. */
  #sessionOf(row: number): Session {
    const { session, reachability } = this.#tools;
    const { service } = session;
    const { events } = service;
    const retrying: typeof events.retrying = (cause, sendState, delay, count) => {
      this.#recordRefusal(row, cause);
      // Rows go on to be sent until one of them has failed to connect several times.
      if (cause instanceof HttpError) reachability.onRetry(cause, delay);
      events.retrying(cause, sendState, delay, count);
    };
    return { ...session, service: { ...service, events: { ...events, retrying } } };
  }

  /** Records that the request of a row created no run, if it was recorded as sent: the row waits. */
  #recordRefusal(row: number, cause: unknown): void {
    if (!this.#awaiting.delete(row)) return;
    const { journal, rowStates, session } = this.#tools;
    const reason = session.context.secrets.mask(errorText(cause));
    const refused = { event: 'refused', row, exit: ExitCode.unreachable, reason } as const;
    journal.append(refused);
    rowStates.record(refused);
  }
}
