/** The trigger of a row of a batch: sent, sent again while the service is overloaded, held back once the batch stops. */
import type { Journal } from '../../batch/journal/journal.js';
import type { Reachability } from '../../batch/reachability.js';
import type { Row } from '../../batch/row.js';
import type { RowStates } from '../../batch/row-states.js';
import { HttpError, NotTriggeredError, UnknownOutcomeError } from '../../errors.js';
import type { Input } from '../../service/body.js';
import { createRun, type Trigger } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import type { WorkflowIdFieldChoice } from '../../service/workflow-id-field.js';
import type { Session } from '../shared/session.js';

/** What is the same for the triggers of all rows. */
export type TriggerPlan = Omit<Trigger, 'inputs'>;

export interface TriggerTools {
  session: Session;
  journal: Journal;
  rowStates: RowStates;
  reachability: Reachability;
}

/** How often a row is tried again, each time with all re-sends, when the service says that it is asked too much. */
const MAX_RETRIES = 10;

/** After so many unknown outcomes in a row, further rows would only add runs that nobody knows. */
const MAX_UNKNOWN_IN_A_ROW = 5;

/** A row was not sent because the batch has stopped; its request was never complete. */
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
  #unknownInARow = 0;
  #stopReason: UnknownOutcomeError | undefined;

  constructor(plan: TriggerPlan, tools: TriggerTools) {
    this.#plan = plan;
    this.#tools = tools;
    this.#field = plan.field;
  }

  /** How many rows have been sent whole, and are waiting for the answer. */
  get awaiting(): number {
    return this.#awaiting.size;
  }

  /** The last of five unknown outcomes in a row; from then on no request is completed. */
  get stopReason(): UnknownOutcomeError | undefined {
    return this.#stopReason;
  }

  /** Triggers the run of a row. Throws what createRun throws, and HeldBackError. */
  async send(row: Row, inputs: readonly Input[]): Promise<Run> {
    try {
      const run = await this.#sendUntilDecided(row, inputs);
      this.#unknownInARow = 0;
      return run;
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) this.#unknownInARow = 0;
      else if (++this.#unknownInARow >= MAX_UNKNOWN_IN_A_ROW) this.#stopReason ??= error;
      throw error;
    }
  }

  async #sendUntilDecided({ number }: Row, inputs: readonly Input[]): Promise<Run> {
    const { session, journal, rowStates, reachability } = this.#tools;
    const { service, interruption } = session;
    const { workflowId, resend503 } = this.#plan;
    let isDecided = false;
    const beforeLastBytes = async () => {
      // A request that was answered before it was complete may still be reading its files.
      if (isDecided) throw new Error('the request has been answered');
      if (this.#stopReason !== undefined) throw new HeldBackError();
      const sent = { event: 'sent', row: number } as const;
      rowStates.record(sent);
      this.#awaiting.add(number);
      await journal.commit(sent);
    };
    for (let tries = 0; ; tries++) {
      isDecided = false;
      try {
        const trigger = { workflowId, inputs, field: this.#field, resend503 };
        const send = () => createRun(trigger, service, interruption, beforeLastBytes);
        const { run, variant } = await reachability.send(send);
        this.#field = variant;
        return run;
      } catch (error) {
        if (!isOverloaded(error, resend503) || tries >= MAX_RETRIES) throw error;
      } finally {
        isDecided = true;
        this.#awaiting.delete(number);
      }
    }
  }
}

/** Whether the service did not take a trigger because it is asked too much, and says nothing of a long wait. */
function isOverloaded(error: unknown, resend503: boolean): boolean {
  if (!(error instanceof NotTriggeredError && error.cause instanceof HttpError)) return false;
  const { status, retryAfter } = error.cause.info;
  return (
    error.retryAfter === undefined &&
    (status === 429 || (resend503 && status === 503 && retryAfter !== undefined))
  );
}
