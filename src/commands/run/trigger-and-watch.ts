/** Triggers the run of a plan, or finds the one that --once recorded, and watches it to its end. */

import { factsOf } from '../../outcome/describe-error.js';
import { type Outcome, stateOfError } from '../../outcome/outcome.js';
import { Log, NO_SINK } from '../../runs/log/log.js';
import { createRun } from '../../service/create-run.js';
import type { EndedRun } from '../../service/run.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { printOutcome, resumeCommands, resumeOf } from '../shared/print-outcome.js';
import { printAccepted, printId, RunPrinter } from '../shared/print-run.js';
import type { CommandOutcome, Session } from '../shared/session.js';
import { watchAndShow, withError } from '../shared/watch-run.js';
import { announceAccepted, type KnownRun, lostRun } from './known-run.js';
import type { RunPlan } from './plan.js';

/** Prints the outcome, or with --detach the id as soon as the run is accepted. Throws as createRun and triggerOnce do. */
export async function triggerAndWatch(plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { interruption, reporter } = session;
  const progress = await reporter.startProgress();
  const known = await trigger(plan, session);
  return plan.detached && interruption.received === undefined
    ? detach(known, plan, session)
    : watch(known, progress, plan, session);
}

async function trigger(plan: RunPlan, session: Session): Promise<KnownRun> {
  const { once } = plan;
  if (once !== undefined) {
    const { triggerOnce } = await import('./once.js');
    return triggerOnce({ ...plan, once }, session);
  }
  const { service, interruption, context } = session;
  const record = new Log(NO_SINK, () => context.clock.now()).ofRow(1, context.secrets);
  return announceAccepted(await createRun(plan.trigger, service, interruption, record), plan, session);
}

async function detach(
  { id, accepted, ended }: KnownRun,
  plan: RunPlan,
  session: Session,
): Promise<CommandOutcome> {
  const run = accepted ?? ended;
  const startedAt = session.context.clock.now();
  const known = { ...plan.subject, id, run, startedAt, durationMs: 0 };
  try {
    await (accepted === undefined ? printId(session, { id }) : printAccepted(session, plan.format, accepted));
    return { runs: [{ ...known, state: run?.status === 'FINISHED' ? 'finished' : 'accepted' }] };
  } catch (failure) {
    const error = factsOf(failure);
    if (error.code === 'internal') throw failure;
    session.reporter.error(error);
    const runs: Outcome[] = [{ ...known, state: stateOfError(error), error }];
    return { runs, ...resumeOf(runs, plan) };
  }
}

async function watch(
  { id, accepted, ended, recordEnd }: KnownRun,
  progress: ProgressView,
  plan: RunPlan,
  session: Session,
): Promise<CommandOutcome> {
  const { settings, wait, format, pointer, documents, once } = plan;
  const { reporter } = session;
  const seen = accepted ?? ended;
  const exists = accepted === undefined;
  const printer = new RunPrinter(session, { format, pointer });
  let received: EndedRun | undefined;
  const onEnd = (run: EndedRun) => {
    if (recordEnd !== undefined) received = run;
  };
  const options = { id, wait, exists, ...(seen && { accepted: seen }), onEnd };
  const watched = await watchAndShow(options, { printer, progress, documents }, session);
  reporter.stopProgress();
  const isLost = watched.error?.code === 'no-such-run' && once !== undefined;
  if (isLost) await recordEnd?.({ event: 'lost' });
  const known = isLost ? withError(lostRun(once.file.name, id), watched) : watched;
  const outcome = { ...known, wasTriggered: accepted !== undefined };
  const printed = await printOutcome(outcome, resumeCommands([id], settings, documents), printer);
  // Last: a file system that hangs must not keep back the result.
  if (received !== undefined) await recordEnd?.({ event: 'ended', run: received });
  const runs = [{ ...printed, ...plan.subject, id }];
  return { runs, ...resumeOf(runs, plan) };
}
