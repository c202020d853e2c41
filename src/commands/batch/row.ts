/** Runs one row of a batch: sends or watches it. Each step is recorded in the log. */

import { closeOnError, type ErrorResponse, type Facts, WfrError } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import type { DigestFile } from '../../inputs/file-digests.js';
import { FileChangedError } from '../../inputs/file-source.js';
import { type ResolvedInputs, resolveRow } from '../../inputs/resolve.js';
import { factsOf } from '../../outcome/describe-error.js';
import { exitOf, exitOfError, stateOfRun } from '../../outcome/outcome.js';
import type { RowFiles } from '../../output-documents/row-files.js';
import { OutputError } from '../../platform/system-error.js';
import { createQueue } from '../../platform/until-aborted.js';
import type { Gate } from '../../runs/gate.js';
import { recordedError } from '../../runs/log/events.js';
import type { Log } from '../../runs/log/log.js';
import { ROW_STATES } from '../../runs/log/reduce.js';
import { blamesInput, createRun, type Trigger } from '../../service/create-run.js';
import { HttpError } from '../../service/http-error.js';
import { hasEnded, type Run } from '../../service/run.js';
import { identifyRow, type Row } from '../../table/row.js';
import { parseJson } from '../../text/json/json-file.js';
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
  /** The last response for it. */
  run?: Run | undefined;
  /** Why there is none, or why it is watched no longer. */
  error?: Facts | undefined;
  /** Whether its run had ended before this command read it. */
  late?: boolean | undefined;
}

interface RunnerOptions {
  /** Returns whether no further request may be completed. */
  isStopped: () => boolean;
  /** Ends the watching of runs: a signal arrived, or the log cannot be written. */
  stopWatching: AbortSignal;
  digestFile: DigestFile;
}

/** Matches what has an extension, as most names of files do: whether there is such a file would take long to find out. */
const FILE_NAME = /\.\w{2,4}$/;

/** A row was not sent because the batch stopped; its request was never complete. */
const HELD_BACK = new Error('the batch stopped before this row was sent');

/** Returns what sends and watches rows. */
export function rowRunner(
  { plan, session, log, gate, files }: BatchTools,
  { isStopped, stopWatching, digestFile }: RunnerOptions,
) {
  const { context, interruption, reporter, service, history } = session;
  const { secrets } = context;
  const { workflowId, triggerSettings } = plan;
  const baseUrl = service.baseUrl.href;
  /** The spelling of the workflow's field that the service has accepted. */
  let field: Trigger['field'] = triggerSettings.field;
  const inTurn = createQueue();
  const counts = {
    /** How many rows that were never sent may still be sent. */
    left: plan.limit,
    /** How many rows wait because of --limit. */
    unsent: 0,
    /** How many runs were triggered. */
    triggered: 0,
  };
  /** What to change in the table, for texts that the service rejects. */
  const advice = new Set<string>();
  return { counts, advice, run };

  /** Watches a row, if it has a run, or sends it; returns undefined if it is not sent. Throws OutputError, and internal errors. */
  async function run(row: Row): Promise<RowResult | undefined> {
    const { number } = row;
    if (ROW_STATES[log.rows.state(number)] === 'watch') return watch(row, log.rows.id(number) ?? '');
    if (!(await gate.waitUntilReachable())) return undefined;
    return send(row).catch((error) => {
      if (error instanceof HttpError) advise(row, error.info);
      return describeFailure(error);
    });
  }

  /** Adds how to send files and numbers, where the service names a column whose text may be one, and what it misses. */
  function advise({ inputs }: Row, response: ErrorResponse): void {
    if ('problem' in inputs || plan.declared) return;
    for (const { name, separator, value } of inputs.items) {
      if (separator !== '=' || !blamesInput(response, name)) continue;
      const isNumber = typeof parseJson(value) === 'number';
      const [what, mark] = isNumber ? ['has numbers', ':='] : ['names files', '@'];
      if (isNumber || FILE_NAME.test(value))
        advice.add(`If column ${name} ${what}, name it ${name}${mark} to send them.`);
    }
  }

  /** Returns undefined for a row that waits because of --limit. */
  async function send(row: Row): Promise<RowResult | undefined> {
    const { number, label } = row;
    const isNew = ROW_STATES[log.rows.state(number)] === 'send';
    const resolving = isNew ? resolveInTurn(row) : resolve(row);
    const resolved = await resolving.catch((error) => {
      log.record({ event: 'intent', row: number, label });
      if (error instanceof WfrError) log.ofRow(number, secrets).refused(error, true);
      throw error;
    });
    if (!resolved) return undefined;
    for (const warning of resolved.warnings) reporter.warn(`${label}: ${warning}`);
    try {
      const inputs = resolved.inputs.map(({ name }) => name);
      log.record({ event: 'intent', row: number, label, inputs });
      const accepted = await trigger(number, resolved);
      announce(label, accepted, inputs);
      return await watch(row, accepted.id, accepted);
    } finally {
      await resolved.close();
    }
  }

  /** With a limit one row after another, so that the first valid ones are sent; undefined for those after them. */
  function resolveInTurn(row: Row): Promise<ResolvedInputs | undefined> {
    if (counts.left === Number.POSITIVE_INFINITY) return resolve(row);
    return inTurn(async () => {
      if (counts.left === 0) {
        counts.unsent++;
        return undefined;
      }
      const resolved = await resolve(row);
      counts.left--;
      return resolved;
    });
  }

  /** Throws FileChangedError also if the row is no longer what was recorded; its documents are verified again at the end. */
  async function resolve(row: Row): Promise<ResolvedInputs> {
    const { keys, salt } = log.recorded;
    const resolved = await resolveRow(row, plan, context);
    return closeOnError(resolved, async () => {
      const { key } = await identifyRow(row, salt, digestFile);
      await resolved.verify();
      if (keys.get(row.number) !== key) throw new FileChangedError(row.label);
      return resolved;
    });
  }

  async function trigger(row: number, { inputs }: ResolvedInputs): Promise<Run> {
    const record = log.ofRow(row, secrets, async () => {
      if (isStopped()) throw HELD_BACK;
      return undefined;
    });
    const created = await gate.send(() =>
      createRun({ ...triggerSettings, workflowId, inputs, field }, service, interruption, record),
    );
    counts.triggered++;
    field = created.variant;
    return created.run;
  }

  /** Watches a run. One that the service no longer knows is lost; any other stays `running`, and a later call watches it. */
  async function watch({ number, label }: Row, id: string, known?: Run): Promise<RowResult> {
    const options = { id, known, wait: plan.wait, label: null, exists: true, signal: stopWatching };
    const { run, late, error, thrown } = await watchRun(options, session);
    if (thrown instanceof OutputError || error?.code === 'internal') throw thrown;
    const isLost = error?.code === 'no-such-run';
    if (isLost) log.record({ event: 'lost', row: number });
    else if (error) {
      // A signal that stopped the watching says nothing about the run.
      if (!error.signal) log.rows.setReason(number, recordedError(error, secrets));
    } else if (hasEnded(run)) {
      // Before it is recorded: a command that continues leaves ended rows alone.
      // Another row may have taken the place and the name of one that is gone.
      if (!log.rows.isGone(number)) await files?.save(label, number, run);
      log.record({ event: 'ended', row: number, late, run });
      history.recordStatus({ ...run, baseUrl, batch: log.recorded.batch }, { isEnd: !late });
    }
    const state = isLost ? 'lost' : stateOfRun(run, error);
    return { exit: exitOf({ state, error }), id, run, error, late };
  }

  /** Prints the id with --quiet, and records it: later commands refer to the run with @last. */
  function announce(
    label: string,
    { id, status, versionName: version }: Run,
    inputs: readonly string[],
  ): void {
    secrets.keep(id);
    // Else the line of a row that has ended has it.
    if (reporter.quiet) reporter.notice(`Run ${sanitize(id)} (${sanitize(label)})`);
    const { batch } = log.recorded;
    history.recordTrigger({ id, workflow: workflowId, baseUrl, inputs, status, label, version, batch });
  }
}

/** Returns why a row was not triggered; undefined if its request was held back. Throws what is no outcome of a row. */
function describeFailure(thrown: unknown): RowResult | undefined {
  // No request of it was completed since its last record.
  if (thrown === HELD_BACK) return undefined;
  const error = factsOf(thrown);
  if (error.code === 'internal' || error.code === 'output-not-written') throw thrown;
  return { exit: exitOfError(error), error };
}
