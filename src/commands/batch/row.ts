/** Runs one row of a batch: sends or watches it, and records each step in the journal. */
import type { BatchEvent } from '../../batch/journal/journal.js';
import { nextAction, type ResendOptions } from '../../batch/next-action.js';
import type { Row } from '../../batch/row.js';
import type { RowEvent } from '../../batch/row-states.js';
import type { WaitSettings } from '../../config/wait.js';
import {
  type HttpError,
  NoSuchRunError,
  OutputError,
  type UnknownOutcomeError,
  UsageError,
} from '../../errors.js';
import { type Exit, ExitCode, exitOfError } from '../../exit-code.js';
import { type CommonInputs, type ResolvedInputs, resolveRow } from '../../inputs/resolve.js';
import type { Context } from '../../platform/context.js';
import type { Input } from '../../service/body.js';
import { type EndedRun, hasEnded, type Run } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { rowReason } from '../../view/errors/row-reason.js';
import { causeOf, describeFailure, type TriggerFailure } from '../shared/recorded-trigger.js';
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
  id?: string;
  /** Why it did not finish, if it did not. */
  reason?: string;
  /** What was thrown. */
  error?: unknown;
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

  get repeatedRejection(): HttpError | undefined {
    return this.#trigger.repeatedRejection;
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
      this.#addToHistory(row, accepted, inputs.inputs);
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
    return { exit: ExitCode.stillRunning, id };
  }

  #recordEnd(row: Row, run: EndedRun): RowResult {
    const { journal, rowStates, session } = this.#tools;
    const { id, status, error } = run;
    journal.append({ event: 'ended', row: row.number, run: compactJson(run.json) });
    rowStates.record({ event: 'ended', row: row.number, status, error });
    session.history.recordStatus({ id, baseUrl: session.service.baseUrl.href, status }, { isNew: true });
    if (status === 'FINISHED') return { exit: ExitCode.ok, id };
    const reason = [error?.step, error?.message].filter(Boolean).join(': ');
    return { exit: ExitCode.runFailed, id, reason };
  }

  /** Records a run that the service no longer knows; any other run stays `running`, and a later call watches it. */
  #recordUnwatched(row: Row, id: string, error: unknown): RowResult {
    const exit = exitOfError(error);
    if (error instanceof OutputError || exit === ExitCode.internalError) throw error;
    if (error instanceof NoSuchRunError) this.#record({ event: 'lost', row: row.number });
    const reason = rowReason(error);
    // Otherwise a signal stopped the watching, which says nothing about the run.
    if (typeof exit === 'number' && !(error instanceof NoSuchRunError))
      this.#tools.rowStates.explain(row.number, reason);
    return { exit, id, reason, error };
  }

  /** Records why a row was not triggered. */
  #recordFailure(row: Row, error: unknown): RowResult | undefined {
    // No request of it was completed since its last record.
    if (error instanceof HeldBackError) return undefined;
    const failure = describeFailure(error);
    const reason = withoutLabel(rowReason(error), row.label);
    if (failure.isUnknown) this.#recordUnknown(row, { ...failure, reason });
    else this.#recordRefusal(row, failure);
    return { exit: failure.exit, reason, error };
  }

  /** Later commands refer to the run with @last. */
  #addToHistory({ label }: Row, { id, status }: Run, inputs: readonly Input[]): void {
    const { history, service, context } = this.#tools.session;
    context.secrets.keep(id);
    history.recordTrigger({
      id,
      workflow: this.#plan.workflowId,
      baseUrl: service.baseUrl.href,
      inputs: inputs.map(({ name }) => name),
      status,
      label,
    });
  }

  #recordIntent({ number, label, digest }: Row, inputs?: readonly string[]): void {
    this.#record({ event: 'intent', row: number, label, digest, ...(inputs && { inputs }) });
  }

  #recordRefusal(row: Row, failure: TriggerFailure): void {
    // A row with invalid inputs has no intent yet; its digest is recorded, too.
    if (this.#tools.rowStates.digest(row.number) !== row.digest) this.#recordIntent(row);
    const cause = causeOf(failure, this.#tools.session.context.secrets);
    this.#record({ event: 'refused', row: row.number, exit: failure.code, ...cause });
  }

  #recordUnknown(row: Row, failure: TriggerFailure): void {
    const cause = causeOf(failure, this.#tools.session.context.secrets);
    this.#record({ event: 'unknown', row: row.number, ...cause });
  }

  /** Appends an event to the results, without waiting for the disk, and updates the row state. */
  #record(event: BatchEvent & RowEvent): void {
    this.#tools.journal.append(event);
    this.#tools.rowStates.record(event);
  }
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
