/** Runs one row of a batch: sends or watches it, and records each step in the journal. */
import type { BatchEvent } from '../../batch/journal/journal.js';
import { nextAction, type ResendOptions } from '../../batch/next-action.js';
import type { Row } from '../../batch/row.js';
import type { RowEvent } from '../../batch/row-states.js';
import type { WaitSettings } from '../../config/wait.js';
import { NoSuchRunError, OutputError, type UnknownOutcomeError, UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfError } from '../../exit-code.js';
import { type CommonInputs, type ResolvedInputs, resolveRow } from '../../inputs/resolve.js';
import type { Context } from '../../platform/context.js';
import { hasEnded, type Run } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';
import { errorText } from '../../view/errors/describe-error.js';
import { runSummaryLine } from '../../view/summary.js';
import { describeFailure } from '../shared/recorded-trigger.js';
import { watchRun } from '../shared/watch-run.js';
import { HeldBackError, RowTrigger, type TriggerPlan, type TriggerTools } from './row-trigger.js';

/** What all rows have in common. */
export interface RowPlan extends TriggerPlan, ResendOptions, CommonInputs {
  wait: WaitSettings;
}

export interface RowTools extends TriggerTools {
  /** Ends the watching of runs: a signal arrived, or the journal cannot be written. */
  stopWatching: AbortSignal;
}

/** How a row ended in this call. */
export interface RowResult {
  exit: Exit;
  /** One line for the user. */
  summary: string;
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

  /** How many rows were sent completely and wait for the response. */
  get awaiting(): number {
    return this.#trigger.awaiting;
  }

  get lastUnknownOutcome(): UnknownOutcomeError | undefined {
    return this.#trigger.lastUnknownOutcome;
  }

  get isServiceUnreachable(): boolean {
    return this.#tools.reachability.hasGivenUp;
  }

  /** Sends or watches a row; returns undefined if neither is needed or possible. Throws OutputError, and internal errors. */
  async run(row: Row): Promise<RowResult | undefined> {
    const { rowStates, reachability } = this.#tools;
    switch (nextAction(row.number, rowStates.state(row.number), this.#plan)) {
      case 'skip':
        return undefined;
      case 'watch':
        return this.#watch(row, rowStates.id(row.number) ?? '', undefined);
      case 'send':
        if (!(await reachability.isReachable())) return undefined;
        return this.#send(row).catch((error) => this.#recordFailure(row, error));
    }
  }

  async #send(row: Row): Promise<RowResult> {
    const { context, reporter } = this.#tools.session;
    const inputs = await resolveRowInputs(row, this.#plan, context);
    for (const warning of inputs.warnings) reporter.warn(`${row.label}: ${warning}`);
    try {
      const names = inputs.inputs.map(({ name }) => name);
      this.#recordIntent(row, names);
      const accepted = await this.#trigger.send(row, inputs.inputs);
      this.#record({ event: 'accepted', row: row.number, id: accepted.id });
      return await this.#watch(row, accepted.id, accepted);
    } finally {
      await inputs.close();
    }
  }

  async #watch(row: Row, id: string, accepted: Run | undefined): Promise<RowResult> {
    const { session, stopWatching } = this.#tools;
    const { run, error } = await watchRun(
      {
        id,
        wait: this.#plan.wait,
        label: null,
        isRateLimited: true,
        exists: true,
        signal: stopWatching,
        ...(accepted && { accepted }),
      },
      session,
    );
    if (error !== undefined) return this.#recordUnwatched(row, id, error);
    if (run !== undefined && hasEnded(run)) return this.#recordEnd(row, run);
    return { exit: ExitCode.stillRunning, summary: `${sanitize(id)}: continues` };
  }

  #recordEnd(row: Row, run: Run): RowResult {
    const { journal, rowStates } = this.#tools;
    journal.append({ event: 'ended', row: row.number, run: compactJson(run.json) });
    rowStates.record({ event: 'ended', row: row.number, status: run.status, step: run.error?.step });
    const exit = run.status === 'FINISHED' ? ExitCode.ok : ExitCode.runFailed;
    return { exit, summary: runSummaryLine(run) };
  }

  /** Records a run that the service no longer knows; any other run stays `accepted`, and a later call watches it. */
  #recordUnwatched(row: Row, id: string, error: unknown): RowResult {
    const exit = exitOfError(error);
    if (error instanceof OutputError || exit === ExitCode.internalError) throw error;
    if (error instanceof NoSuchRunError) this.#record({ event: 'lost', row: row.number });
    return { exit, summary: `${sanitize(id)}: ${joinLines(errorText(error))}` };
  }

  /** Records why a row was not triggered; a row with an unknown outcome stays `sent`. */
  #recordFailure(row: Row, error: unknown): RowResult | undefined {
    // No request of it was completed since its last record.
    if (error instanceof HeldBackError) return undefined;
    const { exit, code, reason, isUnknown } = describeFailure(error);
    if (!isUnknown) this.#recordRefusal(row, code, reason);
    return { exit, summary: joinLines(reason) };
  }

  #recordIntent({ number, label, digest }: Row, inputs?: readonly string[]): void {
    this.#record({ event: 'intent', row: number, label, digest, ...(inputs && { inputs }) });
  }

  #recordRefusal(row: Row, exit: number, reason: string): void {
    // A row with invalid inputs has no intent yet; its digest is recorded, too.
    if (this.#tools.rowStates.digest(row.number) !== row.digest) this.#recordIntent(row);
    const { secrets } = this.#tools.session.context;
    this.#record({ event: 'refused', row: row.number, exit, reason: secrets.mask(reason) });
  }

  /** Appends an event to the results, without waiting for the disk, and updates the row state. */
  #record(event: BatchEvent & RowEvent): void {
    this.#tools.journal.append(event);
    this.#tools.rowStates.record(event);
  }
}

/** Joins the lines of a text that may come from the service. */
function joinLines(text: string): string {
  return sanitizeLines(text).join('; ');
}

/** Reads the texts and opens the documents of a row. Throws UsageError with the row's label. */
export async function resolveRowInputs(
  { inputs, label }: Row,
  common: CommonInputs,
  context: Context,
): Promise<ResolvedInputs> {
  if ('problem' in inputs) throw new UsageError([`${label}: ${inputs.problem}`]);
  return resolveRow(inputs, label, common, context);
}
