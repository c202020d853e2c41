/** One row of a batch: what is to be done with it, done, and written down. */
import type { BatchEvent } from '../../batch/journal/journal.js';
import { nextAction, type ResendOptions } from '../../batch/next-action.js';
import type { Row } from '../../batch/row.js';
import type { RowEvent } from '../../batch/row-states.js';
import type { WaitSettings } from '../../config/wait.js';
import { InterruptedError, NoSuchRunError, OutputError, UnknownOutcomeError } from '../../errors.js';
import { type Exit, ExitCode, exitOfError, SIGNAL_EXIT_CODES } from '../../exit-code.js';
import type { Item } from '../../inputs/item.js';
import { hasEnded, type Run } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';
import { errorText } from '../../view/errors/describe-error.js';
import { summaryLine } from '../../view/summary.js';
import { watchRun } from '../shared/watch-run.js';
import { resolveRowInputs } from './row-inputs.js';
import { HeldBackError, RowTrigger, type TriggerPlan, type TriggerTools } from './row-trigger.js';

/** What is the same for all rows. */
export interface RowPlan extends TriggerPlan, ResendOptions {
  defaults: readonly Item[];
  wait: WaitSettings;
}

export interface RowTools extends TriggerTools {
  /** Ends what only waits: a signal came, or the journal cannot be written any more. */
  ending: AbortSignal;
  /** A row has come to something, in a few words. */
  ended(row: Row, words: string): void;
}

export class RowRunner {
  readonly #plan: RowPlan;
  readonly #tools: RowTools;
  readonly #trigger: RowTrigger;

  constructor(plan: RowPlan, tools: RowTools) {
    this.#plan = plan;
    this.#tools = tools;
    this.#trigger = new RowTrigger(plan, tools);
  }

  /** How many rows have been sent whole, and are waiting for the answer. */
  get awaiting(): number {
    return this.#trigger.awaiting;
  }

  /** Why no further row may be sent: see RowTrigger. */
  get stopReason(): UnknownOutcomeError | undefined {
    return this.#trigger.stopReason;
  }

  /**
   * Does what is to be done with a row, and gives the exit that it came to; undefined where nothing is to be done. Throws
   * OutputError, and defects.
   */
  async run(row: Row): Promise<Exit | undefined> {
    const { rowStates, reachability } = this.#tools;
    switch (nextAction(row.number, rowStates.state(row.number), this.#plan)) {
      case 'leave':
        return undefined;
      case 'watch':
        return this.#watch(row, rowStates.id(row.number) ?? '', undefined);
      case 'send':
        if (!(await reachability.isReachable())) return undefined;
        return this.#settle(row, () => this.#send(row));
    }
  }

  async #send(row: Row): Promise<Exit> {
    const inputs = await resolveRowInputs(row, this.#plan, this.#tools.session.context);
    for (const warning of inputs.warnings) this.#tools.session.reporter.warn(`${row.label}: ${warning}`);
    try {
      this.#intend(row);
      const accepted = await this.#trigger.send(row, inputs.inputs);
      this.#record({ event: 'accepted', row: row.number, id: accepted.id });
      return await this.#watch(row, accepted.id, accepted);
    } finally {
      await inputs.close();
    }
  }

  async #watch(row: Row, id: string, accepted: Run | undefined): Promise<Exit> {
    const { session, ending } = this.#tools;
    const { wait } = this.#plan;
    const { run, error } = await watchRun(
      {
        id,
        wait,
        label: null,
        isRateLimited: true,
        exists: true,
        signal: ending,
        ...(accepted && { accepted }),
      },
      session,
    );
    if (error !== undefined) {
      const exit = exitOfError(error);
      if (error instanceof OutputError || exit === ExitCode.defect) throw error;
      // What is known of any other run stays known: a later call watches it again.
      if (error instanceof NoSuchRunError) this.#record({ event: 'lost', row: row.number });
      this.#tools.ended(row, `${sanitize(id)}: ${onOneLine(errorText(error))}`);
      return exit;
    }
    if (run === undefined || !hasEnded(run)) {
      this.#tools.ended(row, `${sanitize(id)}: still goes on`);
      return ExitCode.stillRunning;
    }
    return this.#end(row, run);
  }

  #end(row: Row, run: Run): Exit {
    const { journal, rowStates } = this.#tools;
    journal.append({ event: 'ended', row: row.number, run: compactJson(run.json) });
    rowStates.record({ event: 'ended', row: row.number, status: run.status, step: run.error?.step });
    this.#tools.ended(row, summaryLine(run));
    return run.status === 'FINISHED' ? ExitCode.ok : ExitCode.runFailed;
  }

  /** Writes down what kept a row from being triggered; where nobody can tell, what was written before says so. */
  async #settle(row: Row, work: () => Promise<Exit>): Promise<Exit | undefined> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OutputError) throw error;
      if (error instanceof HeldBackError) {
        this.#refuse(row, ExitCode.unreachable, error.message);
        return undefined;
      }
      const exit = exitOfError(error);
      if (exit === ExitCode.defect) throw error;
      const isUnknown =
        error instanceof UnknownOutcomeError || (error instanceof InterruptedError && error.phase === 2);
      const reason = errorText(error);
      if (!isUnknown) this.#refuse(row, exit, reason);
      this.#tools.ended(row, onOneLine(reason));
      return exit;
    }
  }

  #intend({ number, label, digest }: Row): void {
    this.#record({ event: 'intent', row: number, label, digest });
  }

  #refuse(row: Row, exit: Exit, reason: string): void {
    const code = typeof exit === 'number' ? exit : SIGNAL_EXIT_CODES[exit];
    // Also of a row that was wrong before it could be meant to be sent, the digest is worth knowing.
    if (this.#tools.rowStates.digest(row.number) !== row.digest) this.#intend(row);
    this.#record({ event: 'refused', row: row.number, exit: code, reason });
  }

  /** Writes an event of a row to the results, without waiting for the disk. */
  #record(event: BatchEvent & RowEvent): void {
    this.#tools.journal.append(event);
    this.#tools.rowStates.record(event);
  }
}

/** Words that may be the service's, on one line. */
function onOneLine(words: string): string {
  return sanitizeLines(words).join('; ');
}
