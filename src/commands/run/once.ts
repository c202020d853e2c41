/**
 * `wfr run --once <file>`: triggers a run at most once, across processes. The file is a log of one row, and nextAction
 * decides what may be sent again, as for a row of a batch.
 */
import { NOTHING_CREATED, OUTCOME_UNKNOWN, throwUnless, UsageError, WfrError } from '../../errors.js';
import { digestInputs, type InputDigests } from '../../inputs/file-digests.js';
import { factsOf } from '../../outcome/describe-error.js';
import { describeSystemError, OutputError } from '../../platform/system-error.js';
import type { RecordedError } from '../../runs/log/events.js';
import { JournalInUseError } from '../../runs/log/lock.js';
import { type BatchTarget, differencesOf, otherInputs } from '../../runs/log/log-file.js';
import { createOnceFile, ONCE_ROW, type OnceFile, openOnceFile } from '../../runs/log/once-file.js';
import type { OwnedFileOptions } from '../../runs/log/owned-file.js';
import { hasNoRun, nextAction } from '../../runs/log/reduce.js';
import { UNRECORDED_HINTS } from '../../service/errors.js';
import { type EndedRun, hasEnded } from '../../service/run.js';
import { formatIso } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { comparableId } from '../../text/url.js';
import { watchCommand } from '../shared/print-outcome.js';
import { adoptRuns, ownedFileOptions } from '../shared/record-file.js';
import type { Session } from '../shared/session.js';
import { watchRun } from '../shared/watch-run.js';
import { type KnownRun, lostRun, triggerRun } from './known-run.js';
import type { OncePlan, RunPlan } from './plan.js';

/** Between two attempts to lock the file while another process has it (ms). */
const LOCK_INTERVAL = 100;

/** How to settle an unknown outcome. */
const SETTLE =
  'Check the service, then run the same command with --adopt <id> if the run exists, or with --resend-unknown if it does not.';

/**
 * Returns the run of the file: that of an earlier command, or one that it triggers. The file is locked until the run is
 * recorded. Throws UsageError if the file belongs to something else, WfrError if it is unknown or lost, and what createRun
 * throws.
 */
export async function triggerOnce(plan: RunPlan, once: OncePlan, session: Session): Promise<KnownRun> {
  const { interruption, reporter } = session;
  const { trigger, settings, detached } = plan;
  const { resend } = once;
  const { name } = once.file;
  const { signal } = interruption;
  const workflow = comparableId(trigger.workflowId);
  const target: BatchTarget = { workflow, baseUrl: settings.baseUrl.href, shard: '1/1' };
  const options = { ...ownedFileOptions(once.file, session), signal };
  await interruption.raceWithSignal(createOnceFile(once.file, target, session.context));
  const onBusy = ({ isLocal, message, owner }: JournalInUseError, attempts: number) => {
    if (!isLocal) throw new UsageError(`--once ${name}: ${message}`);
    if (attempts > 1) return;
    const process = `process ${owner.pid} on ${sanitize(owner.host)}`;
    reporter.info(
      `Waiting for ${process}, which is triggering the run of ${sanitize(name)}; Ctrl-C sends nothing.`,
    );
  };
  const { log, header, record, close } = await interruption.raceToOpen(openWhenFree(options, onBusy));
  try {
    const digests = await digestInputs(trigger.inputs, header.salt, signal);
    assertSameCommand(digests);
    await adopt(once.adopted);
    await checkBeforeRetry();
    const { state } = record().now;
    // Unlike a row of a batch, a rejected run is sent again without a flag.
    const isSent = hasNoRun(state) || nextAction(ONCE_ROW, state, resend) === 'send';
    return isSent ? await send(digests) : continueRun();
  } finally {
    // If it cannot be released, the end of this process releases it.
    await close().catch(() => {});
  }

  /** Returns the id of the recorded run, or of the one before an attempt that is unknown. */
  function knownId(): string | undefined {
    const { now, before } = record();
    return now.id ?? before?.id;
  }

  /**
   * Throws UsageError, naming each difference, if a run of the recorded command exists or may exist and this command has
   * another workflow, service or inputs.
   */
  function assertSameCommand(inputs: InputDigests): void {
    const { state, digests } = record().now;
    if (hasNoRun(state)) return;
    const differences = differencesOf(header, target, digests, inputs);
    if (differences.length === 0) return;
    const id = knownId();
    const problems = [
      `belongs to a run ${differences.join(', ')}; use another file`,
      ...(id === undefined
        ? []
        : [`to watch its run: ${watchCommand([id], { ...plan, savedFlags: undefined })}`]),
    ].map((problem) => `--once ${name}: ${problem}`);
    throw new WfrError('usage', problems, {
      createdNothing: true,
      recorded: { runId: id, differs: otherInputs(digests, inputs) },
    });
  }

  /** Records the run of --adopt. Throws UsageError if the outcome is not unknown. */
  async function adopt(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const { state } = record().now;
    const known = knownId();
    if (state === 'unknown' && known !== id)
      return adoptRuns([{ row: ONCE_ROW, id, flag: `--adopt ${id}`, subject: sanitize(name) }], log, session);
    if (state === 'unknown')
      throw new UsageError(`--adopt ${id}: is the run before the unknown one in ${name}`);
    // The same command again: the run is adopted already.
    if (known === id) return;
    const fact = known === undefined ? NOTHING_CREATED : `it has run ${known}`;
    throw new UsageError(`--adopt ${id}: the outcome in ${name} is not unknown: ${fact}`);
  }

  /** Reads an accepted run before --retry-failed is applied: it may have failed since. Throws the error of the poll. */
  async function checkBeforeRetry(): Promise<void> {
    const { state, id } = record().now;
    if (resend.retryFailed !== 'all' || id === undefined || state !== 'running') return;
    const { run, late, thrown, error } = await watchRun({ id }, session);
    // A run that the service has forgotten has not failed: it is lost.
    if (!run && error?.code !== 'no-such-run') throw thrown;
    if (hasEnded(run)) await log.commit({ event: 'ended', row: ONCE_ROW, late, run });
  }

  /** Triggers the run; createRun records each step before it takes effect. */
  async function send(digests: InputDigests): Promise<KnownRun> {
    await plan.documents?.assertNoFiles();
    try {
      if (differencesOf(header, target).length > 0)
        await log.commit({ event: 'batch', ...target, salt: header.salt });
      await log.commit({ event: 'intent', row: ONCE_ROW, label: workflow, inputs: plan.subject.inputs });
      const known = await triggerRun(log, plan, session, async () => digests);
      // If that fails, the outcome is unknown to later commands, and they send nothing.
      await log.flush().catch(({ cause }: OutputError) => {
        const reason = describeSystemError(cause);
        reporter.warn(`${name}: the run cannot be recorded: ${reason}; continue with --adopt ${known.id}`);
      });
      return known;
    } catch (error) {
      if (error instanceof OutputError)
        throw new UsageError(`--once ${name}: ${describeSystemError(error.cause)}; ${NOTHING_CREATED}`);
      const facts = factsOf(error);
      if (facts.runMayExist) {
        // The file decides what to do next.
        const settle = `The next command with --once ${name} sends nothing. ${SETTLE}`;
        const at = facts.hints.findIndex((hint) => UNRECORDED_HINTS.includes(hint));
        facts.hints = facts.hints.toSpliced(at, UNRECORDED_HINTS.length, settle);
      }
      throw error;
    }
  }

  /** Returns the run of an earlier command. Throws WfrError if its outcome is unknown, or the run lost. */
  function continueRun(): KnownRun {
    const { state, id, run, sentAt, error } = record().now;
    if (state === 'unknown' || id === undefined) throw unsettledRun(name, sentAt, error);
    if (state === 'lost' && !detached) throw lostRun(name, id);
    reporter.run(id, undefined, `recorded in ${name}`);
    if (!run) reporter.resumable(watchCommand([id], plan), !detached);
    return { id, run, isNew: false };
  }
}

/** Locks the file, and waits while another process has it, unless `onBusy` throws. */
async function openWhenFree(
  options: OwnedFileOptions,
  onBusy: (error: JournalInUseError, attempts: number) => void,
): Promise<OnceFile> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await openOnceFile(options);
    } catch (error) {
      throwUnless(error, JournalInUseError);
      onBusy(error, attempts);
    }
    await options.clock.sleep(LOCK_INTERVAL, options.signal);
  }
}

/** An earlier command sent a trigger and recorded no answer in `file`. */
function unsettledRun(file: string, sentAt: number | undefined, error: RecordedError | undefined): WfrError {
  const when = sentAt === undefined ? '' : ` at ${formatIso(sentAt)}`;
  const summary = [
    OUTCOME_UNKNOWN,
    `an earlier command sent the request${when} and recorded no answer in ${file}`,
    ...(error?.reason ? error.reason.split('\n') : []),
  ];
  return new WfrError('unknown-outcome', summary, {
    hints: [SETTLE],
    runMayExist: true,
    candidateId: error?.candidateId,
  });
}

/** Attempts to lock the file: other processes that watch the run have it only to record the same. */
const MAX_RECORD_ATTEMPTS = 20;

/** Locks the file to record how its run ended, unless another process has, or has triggered another run. Never throws. */
export async function recordEnd(
  end: { event: 'ended'; late: true | undefined; run: EndedRun } | { event: 'lost' },
  id: string,
  once: OncePlan,
  session: Session,
): Promise<void> {
  const onBusy = (error: JournalInUseError, attempts: number) => {
    if (attempts === MAX_RECORD_ATTEMPTS) throw error;
  };
  try {
    const file = await openWhenFree(ownedFileOptions(once.file, session), onBusy);
    try {
      const { state, id: recorded } = file.record().now;
      if (state === 'running' && recorded === id) await file.log.commit({ ...end, row: ONCE_ROW });
    } finally {
      await file.close();
    }
  } catch (error) {
    const reason = describeSystemError(error);
    session.reporter.warn(`${once.file.name}: the end of the run cannot be recorded: ${reason}`);
  }
}
