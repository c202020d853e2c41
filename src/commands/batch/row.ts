/** Runs one row of a batch: sends or watches it. Each step is recorded in the log. */

import { type Facts, WfrError } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import type { DigestFile } from '../../inputs/file-digests.js';
import { FileChangedError } from '../../inputs/file-source.js';
import { type ResolvedInputs, resolveRow } from '../../inputs/resolve.js';
import { factsOf, rowReason } from '../../outcome/describe-error.js';
import { exitOf, exitOfError, stateOfRun } from '../../outcome/outcome.js';
import type { RowFiles } from '../../output-documents/row-files.js';
import { OutputError } from '../../platform/system-error.js';
import type { Gate } from '../../runs/gate.js';
import { recordedError } from '../../runs/log/events.js';
import type { Log } from '../../runs/log/log.js';
import { nextAction, ROW_STATES } from '../../runs/log/reduce.js';
import { createRun, type Trigger } from '../../service/create-run.js';
import { hasEnded, type Run } from '../../service/run.js';
import { identifyRow, type Row } from '../../table/row.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import type { Session } from '../shared/session.js';
import { watchRun } from '../shared/watch-run.js';
import type { BatchPlan } from './plan.js';

/** What the parts of a batch work with. */
export interface BatchTools {
  plan: BatchPlan;
  session: Session;
  log: Log;
  gate: Gate;
  /** Where the files of finished rows are saved. */
  files: RowFiles | undefined;
}

/** How a row ended in this command. */
export interface RowResult {
  exit: Exit;
  id?: string | undefined;
  /** Why it did not finish; empty if it did. */
  reason: string;
  error?: Facts | undefined;
}

/** A row was not sent because the batch stopped; its request was never complete. */
class HeldBackError extends Error {
  constructor() {
    super('the batch stopped before this row was sent');
  }
}

export class RowRunner {
  /** The spelling of the workflow's field that the service has accepted. */
  #field: Trigger['field'];
  /** How many rows that were never sent may still be sent. */
  #left: number;
  #turn: Promise<unknown> = Promise.resolve();
  /** How many rows wait because that was none. */
  unsent = 0;
  /** How many runs were triggered. */
  triggered = 0;

  /**
   * `isStopped` returns whether no further request may be completed; `stopWatching` ends the watching of runs: a signal
   * arrived, or the log cannot be written.
   */
  constructor(
    private readonly tools: BatchTools,
    private readonly isStopped: () => boolean,
    private readonly stopWatching: AbortSignal,
    private readonly digestFile: DigestFile,
  ) {
    this.#field = tools.plan.field;
    this.#left = tools.plan.limit;
  }

  /** Sends or watches a row; returns undefined if neither is needed or possible. Throws OutputError, and internal errors. */
  async run(row: Row): Promise<RowResult | undefined> {
    const { log, gate } = this.tools;
    const { number } = row;
    switch (nextAction(number, log.rows.state(number), this.tools.plan)) {
      case 'skip':
        return undefined;
      case 'watch':
        return this.#watch(row, log.rows.id(number) ?? '', undefined);
      case 'send':
        if (!(await gate.waitUntilReachable())) return undefined;
        return this.#send(row).catch((error) => this.#describeFailure(row, error));
    }
  }

  /** Returns undefined for a row that waits because of --limit. */
  async #send(row: Row): Promise<RowResult | undefined> {
    const { log, session } = this.tools;
    const { context, reporter } = session;
    const { number, label } = row;
    const isNew = ROW_STATES[log.rows.state(number)] === 'send';
    const resolving = isNew ? this.#resolveInTurn(row) : this.#resolve(row);
    const inputs = await resolving.catch((error) => {
      log.record({ event: 'intent', row: number, label });
      if (error instanceof WfrError) log.recordRefusal(number, error, true, context.secrets);
      throw error;
    });
    if (inputs === undefined) return undefined;
    for (const warning of inputs.warnings) reporter.warn(`${label}: ${warning}`);
    try {
      const names = inputs.inputs.map(({ name }) => name);
      log.record({ event: 'intent', row: number, label, inputs: names });
      const accepted = await this.#trigger(row, inputs);
      this.#announce(label, accepted, names);
      return await this.#watch(row, accepted.id, accepted);
    } finally {
      await inputs.close();
    }
  }

  /** With a limit one row after another, so that the first valid ones are sent; undefined for those after them. */
  #resolveInTurn(row: Row): Promise<ResolvedInputs | undefined> {
    if (this.#left === Number.POSITIVE_INFINITY) return this.#resolve(row);
    const resolved = this.#turn.then(async () => {
      if (this.#left === 0) {
        this.unsent++;
        return undefined;
      }
      const inputs = await this.#resolve(row);
      this.#left--;
      return inputs;
    });
    this.#turn = resolved.catch(() => {});
    return resolved;
  }

  /** Throws FileChangedError also if the row is no longer what was recorded; its documents are verified again at the end. */
  async #resolve(row: Row): Promise<ResolvedInputs> {
    const { log, session, plan } = this.tools;
    const { recorded } = log;
    const resolved = await resolveRow(row, plan, session.context);
    try {
      const { key } = await identifyRow(row, recorded.salt, this.digestFile);
      await resolved.verify();
      if (recorded.keys.get(row.number) !== key) throw new FileChangedError(row.label);
      return resolved;
    } catch (error) {
      await resolved.close();
      throw error;
    }
  }

  async #trigger(row: Row, resolved: ResolvedInputs): Promise<Run> {
    const { log, gate, session, plan } = this.tools;
    const { workflowId, resend503 } = plan;
    const record = log.ofRow(row.number, session.context.secrets, async () => {
      if (this.isStopped()) throw new HeldBackError();
      return undefined;
    });
    const { run, variant } = await gate.send(() => {
      const trigger = { workflowId, inputs: resolved.inputs, field: this.#field, resend503 };
      return createRun(trigger, session.service, session.interruption, record);
    });
    this.triggered++;
    this.#field = variant;
    return run;
  }

  /** Watches a run. One that the service no longer knows is lost; any other stays `running`, and a later call watches it. */
  async #watch({ number, label }: Row, id: string, accepted: Run | undefined): Promise<RowResult> {
    const { log, session, files, plan } = this.tools;
    const signal = this.stopWatching;
    const options = { id, known: accepted, wait: plan.wait, label: null, exists: true, signal };
    const { run, error, thrown } = await watchRun(options, session);
    if (thrown instanceof OutputError || error?.code === 'internal') throw thrown;
    if (error !== undefined) {
      const recorded = recordedError(error, session.context.secrets);
      if (error.code === 'no-such-run') log.record({ event: 'lost', row: number });
      // A signal that stopped the watching says nothing about the run.
      else if (error.signal === undefined) log.rows.setReason(number, recorded);
    } else if (run !== undefined && hasEnded(run)) {
      // Before it is recorded: a command that continues leaves ended rows alone.
      // Another row may have taken the place and the name of one that is gone.
      if (!log.rows.isGone(number)) await files?.save(label, number, run);
      log.record({ event: 'ended', row: number, run });
      const { status } = run;
      session.history.recordStatus({ id, baseUrl: session.service.baseUrl.href, status }, { isNew: true });
    }
    const state = error?.code === 'no-such-run' ? 'lost' : stateOfRun(run, error);
    const ended = [run?.error?.step, run?.error?.message].filter(Boolean).join(': ');
    const reason = error === undefined ? ended : rowReason(error);
    return { exit: exitOf({ state, error }), id, reason, error };
  }

  /** Returns why a row was not triggered; undefined if its request was held back. Throws what is no outcome of a row. */
  #describeFailure({ label }: Row, thrown: unknown): RowResult | undefined {
    // No request of it was completed since its last record.
    if (thrown instanceof HeldBackError) return undefined;
    const error = factsOf(thrown);
    if (error.code === 'internal' || error.code === 'output-not-written') throw thrown;
    return { exit: exitOfError(error), reason: withoutLabel(rowReason(error), label), error };
  }

  /** Prints the id with --quiet, and records it: later commands refer to the run with @last. */
  #announce(label: string, { id, status, versionName: version }: Run, inputs: readonly string[]): void {
    const { history, service, context, reporter } = this.tools.session;
    const { workflowId: workflow } = this.tools.plan;
    context.secrets.keep(id);
    // Else the line of a row that has ended has it.
    if (reporter.presentation.quiet) reporter.notice(`Run ${sanitize(id)} (${sanitize(label)})`);
    history.recordTrigger({ id, workflow, baseUrl: service.baseUrl.href, inputs, status, label, version });
  }
}
