/**
 * `wfr run --once <file>`: triggers a run at most once, across processes. The file is a journal of one row, and
 * nextAction decides what may be sent, as for a row of a batch.
 */
import { JournalInUseError } from '../../batch/journal/lock.js';
import {
  createOnceFile,
  ONCE_ROW,
  type OnceFile,
  onceHeader,
  openOnceFile,
} from '../../batch/journal/once-file.js';
import { nextAction } from '../../batch/next-action.js';
import { digestOf } from '../../batch/row.js';
import {
  InterruptedError,
  LostRunError,
  NoSuchRunError,
  OutputError,
  UnknownOutcomeError,
  UnsettledRunError,
  UsageError,
} from '../../errors.js';
import { DigestedInputs } from '../../inputs/digest-inputs.js';
import { describeSystemError } from '../../platform/system-error.js';
import { hasEnded } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import { adoptRuns, isSameId } from '../shared/adopt-runs.js';
import { ownedFileOptions } from '../shared/owned-file-options.js';
import { resumeCommands } from '../shared/print-outcome.js';
import { causeOf, createRecordedRun, describeFailure } from '../shared/recorded-trigger.js';
import type { Session } from '../shared/session.js';
import { pollOnce } from '../shared/watch-run.js';
import { announceAccepted, type KnownRun } from './known-run.js';
import { assertSameCommand } from './once-differences.js';
import type { OncePlan } from './once-plan.js';
import { onceRecorder, recordEnd } from './once-recorder.js';
import type { RunPlan } from './plan.js';

/** Between two attempts to lock the file while another process sends (ms). */
const LOCK_INTERVAL = 250;

/**
 * Returns the run of the file: that of an earlier command, or one that it triggers. The file is locked until the run is
 * recorded. Throws UsageError if the file belongs to something else, UnsettledRunError, LostRunError, and what createRun
 * throws.
 */
export async function triggerOnce(plan: RunPlan, once: OncePlan, session: Session): Promise<KnownRun> {
  await createOnceFile(ownedFileOptions(once.file, session.context), targetOf(plan));
  const file = await openWhenFree(once, session);
  try {
    const inputs = new DigestedInputs(plan.trigger.inputs, file.record.salt);
    await assertSameCommand(file, targetOf(plan), inputs, plan, once);
    await adopt(file, once, session);
    await checkBeforeRetry(file, once, session);
    const action = nextAction(ONCE_ROW, file.rowStates.state(ONCE_ROW), once.resend);
    if (action === 'send') return await send(file, inputs, plan, once, session);
    return continueRun(file, plan, once, session);
  } finally {
    // If it cannot be released, the end of this process releases it.
    await file.close().catch(() => {});
  }
}

function targetOf({ trigger, settings }: RunPlan) {
  return { workflow: trigger.workflowId, baseUrl: settings.baseUrl.href };
}

/** Locks the file once no other process on this machine sends. Throws UsageError, and the reason of a signal. */
async function openWhenFree({ file }: OncePlan, session: Session): Promise<OnceFile> {
  const { context, interruption, reporter } = session;
  const { signal } = interruption;
  for (let attempts = 0; ; attempts++) {
    try {
      return await openOnceFile({ ...ownedFileOptions(file, context), signal });
    } catch (error) {
      if (!(error instanceof JournalInUseError)) throw error;
      if (!error.isLocal) throw new UsageError([`--once ${file.name}: ${error.message}`]);
      if (attempts === 0) reporter.info(waitingText(error, file.name));
    }
    await context.clock.sleep(LOCK_INTERVAL, signal);
  }
}

function waitingText({ owner }: JournalInUseError, name: string): string {
  const process = `process ${owner.pid} on ${sanitize(owner.host)}`;
  return `Waiting for ${process}, which is triggering the run of ${sanitize(name)}; Ctrl-C sends nothing.`;
}

/** Records the run of --adopt. Throws UsageError if the outcome is not unknown. */
async function adopt(file: OnceFile, { adopted: id, file: { name } }: OncePlan, session: Session) {
  const { rowStates, record } = file;
  if (id === undefined) return;
  const isEarlierRun = record.id !== undefined && isSameId(record.id, id);
  const isUnknown = rowStates.state(ONCE_ROW) === 'unknown';
  // The same command again: the run is adopted already.
  if (isEarlierRun && !isUnknown) return;
  if (isEarlierRun) throw new UsageError([`--adopt ${id}: is the run before the unknown one in ${name}`]);
  if (!isUnknown) {
    const known = record.id === undefined ? 'no run was created' : `it has run ${record.id}`;
    throw new UsageError([`--adopt ${id}: the outcome in ${name} is not unknown: ${known}`]);
  }
  await adoptRuns([{ row: ONCE_ROW, id, flag: `--adopt ${id}`, subject: sanitize(name) }], file, session);
  Object.assign(record, { id: rowStates.id(ONCE_ROW), ended: undefined });
}

/** Reads an accepted run before --retry-failed is applied: it may have failed since. Throws the error of the poll. */
async function checkBeforeRetry(file: OnceFile, { resend }: OncePlan, session: Session): Promise<void> {
  const { rowStates, record } = file;
  if (!resend.retryFailed || record.id === undefined || rowStates.state(ONCE_ROW) !== 'running') return;
  const { run, error } = await pollOnce(record.id, undefined, session);
  // A run that the service has forgotten has not failed: it is lost.
  if (run === undefined && !(error instanceof NoSuchRunError)) throw error;
  if (run === undefined || !hasEnded(run)) return;
  record.ended = run;
  await recordEnd(run, file);
}

/** Triggers the run, with each step recorded before it takes effect. */
async function send(
  file: OnceFile,
  inputs: DigestedInputs,
  plan: RunPlan,
  once: OncePlan,
  session: Session,
): Promise<KnownRun> {
  const { journal } = file;
  const trigger = { ...plan.trigger, inputs: inputs.inputs };
  await plan.documents?.assertNoFiles();
  try {
    await recordIntent(file, plan);
    const created = await createRecordedRun(
      trigger,
      session,
      async () => journal.commit({ event: 'sent', row: ONCE_ROW, inputs: await inputs.digests() }),
      (text) =>
        journal.append({ event: 'unknown', row: ONCE_ROW, reason: session.context.secrets.mask(text) }),
    );
    const known = announceAccepted(created, plan, session);
    await recordAccepted(known.id, file, once, session);
    return { ...known, recorder: onceRecorder(known.id, once, session) };
  } catch (error) {
    throw await recordFailure(error, file, once, session);
  }
}

async function recordIntent({ journal, record }: OnceFile, plan: RunPlan): Promise<void> {
  const target = targetOf(plan);
  const { workflow, baseUrl } = record.target;
  if (workflow !== target.workflow || baseUrl !== target.baseUrl)
    await journal.commit(onceHeader(target, record.salt));
  const names = plan.trigger.inputs.map(({ name }) => name);
  const digest = digestOf(target.workflow, ...names);
  await journal.commit({ event: 'intent', row: ONCE_ROW, label: target.workflow, digest });
}

/** Records the run. If that fails, warns: the outcome is then unknown to later commands, and they send nothing. */
async function recordAccepted(id: string, { journal }: OnceFile, { file }: OncePlan, { reporter }: Session) {
  await journal.commit({ event: 'accepted', row: ONCE_ROW, id }).catch((error) => {
    if (!(error instanceof OutputError)) throw error;
    const reason = describeSystemError(error.cause);
    reporter.warn(`${file.name}: the run cannot be recorded: ${reason}; continue with --adopt ${id}`);
  });
}

/** Records why no run was created, and returns the error to throw. */
async function recordFailure(
  error: unknown,
  { journal }: OnceFile,
  { file: { name } }: OncePlan,
  { context: { secrets } }: Session,
): Promise<unknown> {
  if (error instanceof OutputError)
    return new UsageError([`--once ${name}: ${describeSystemError(error.cause)}; no run was created`]);
  const failure = describeFailure(error);
  if (failure.isUnknown) return withOnceFile(error, name);
  const cause = causeOf(failure, secrets);
  await journal.commit({ event: 'refused', row: ONCE_ROW, exit: failure.code, ...cause }).catch(() => {});
  return error;
}

/** Returns the error of an unknown outcome with the file that records it, as it decides what to do next. */
function withOnceFile(error: unknown, name: string): unknown {
  if (error instanceof UnknownOutcomeError) return new UnknownOutcomeError(error.cause, error.evidence, name);
  if (error instanceof InterruptedError)
    return new InterruptedError(error.signal, error.sendState, error.evidence, name);
  return error;
}

/** Returns the run of an earlier command. Throws UnsettledRunError or LostRunError. */
function continueRun(
  { record, rowStates }: OnceFile,
  plan: RunPlan,
  once: OncePlan,
  session: Session,
): KnownRun {
  const { id, ended, sentAt, reason } = record;
  const { name } = once.file;
  const state = rowStates.state(ONCE_ROW);
  if (state === 'unknown' || id === undefined) throw new UnsettledRunError(name, sentAt, reason);
  if (state === 'lost' && !plan.detached) throw new LostRunError(name, id);
  const { reporter } = session;
  reporter.notice(`Run ${reporter.style.bold(sanitize(id))}, recorded in ${sanitize(name)}`);
  const { watch } = resumeCommands([id], plan.settings, plan.documents);
  reporter.continuation(`To watch it: ${watch}`, { isDim: true });
  const recorder = ended === undefined ? { recorder: onceRecorder(id, once, session) } : {};
  return { id, accepted: undefined, ended, ...recorder };
}
