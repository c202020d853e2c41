/** `wfr run`: triggers a run, waits for its end, prints its output. */
import { requireToken } from '../../config/credentials.js';
import { InterruptedError, NoSuchRunError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { createRun } from '../../service/create-run.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { printOutcome, resumeCommands } from '../shared/print-outcome.js';
import { printAccepted, printId, RunPrinter } from '../shared/print-run.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { watchAndShow } from '../shared/show-run.js';
import { announceAccepted, type KnownRun } from './known-run.js';
import type { OncePlan } from './once-plan.js';
import { planRun, type RunFlags, type RunPlan } from './plan.js';

/** Runs the command. Throws UsageError. */
export function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  return runCommand(flags, [{ id: undefined, workflowId: workflow }], context, async (resources) => {
    const { interruption, reports } = resources;
    const planning = planRun(workflow, items, flags, reports, context);
    // Reading stdin, a pipe or a slow disk may take long.
    const plan = await beforeSending(interruption.raceWithSignal(planning));
    try {
      if (flags.dryRun === true) return await dryRun(plan, context);
      await beforeSending(requireToken(plan.credentials, plan.settings.baseUrl, interruption.signal));
      return await triggerAndWatch(plan, await resources.openSession(plan));
    } finally {
      await plan.close();
    }
  });
}

async function dryRun(plan: RunPlan, context: Context): Promise<CommandOutcome> {
  const { printDryRun } = await import('./dry-run.js');
  await printDryRun(plan, context);
  return { runs: [], exit: ExitCode.ok };
}

async function triggerAndWatch(plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { interruption, reporter } = session;
  const progress = await reporter.startProgress(1);
  const known = await (plan.once === undefined
    ? trigger(plan, session)
    : triggerOnce(plan, plan.once, session));
  return plan.detached && interruption.received === undefined
    ? detach(known, plan, session)
    : watch(known, progress, plan, session);
}

async function trigger(plan: RunPlan, session: Session): Promise<KnownRun> {
  return announceAccepted(
    await createRun(plan.trigger, session.service, session.interruption),
    plan,
    session,
  );
}

async function triggerOnce(plan: RunPlan, once: OncePlan, session: Session): Promise<KnownRun> {
  const module = await import('./once.js');
  return module.triggerOnce(plan, once, session);
}

async function detach(
  { id, accepted, ended }: KnownRun,
  { format, trigger }: RunPlan,
  { stdout, context }: Session,
): Promise<CommandOutcome> {
  if (accepted === undefined) await printId(stdout, { id });
  else await printAccepted(stdout, format, accepted);
  const { workflowId } = trigger;
  const started = context.clock.now();
  const run = accepted ?? ended;
  return { runs: [{ id, workflowId, run, exit: ExitCode.ok, started, duration: 0, error: undefined }] };
}

async function watch(
  { id, accepted, ended, recorder }: KnownRun,
  progress: ProgressView,
  { trigger, settings, wait, format, documents }: RunPlan,
  session: Session,
): Promise<CommandOutcome> {
  const { reporter, stdout } = session;
  const seen = accepted ?? ended;
  const exists = accepted === undefined;
  const printer = new RunPrinter(stdout, format, false);
  const options = { id, wait, exists, ...(seen && { accepted: seen }), ...(recorder && { recorder }) };
  const watched = await watchAndShow(options, { printer, progress, documents }, session);
  reporter.stopProgress();
  const isLost = watched.error instanceof NoSuchRunError && recorder !== undefined;
  const error = isLost ? await recorder.lost() : watched.error;
  const outcome = { ...watched, error, wasTriggered: accepted !== undefined };
  const reported = await printOutcome(outcome, resumeCommands([id], settings, documents), printer, reporter);
  return { runs: [{ ...reported, workflowId: trigger.workflowId }] };
}

/** Marks an interruption as one from before anything was sent. */
async function beforeSending<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw error instanceof InterruptedError ? new InterruptedError(error.signal, 'unsent') : error;
  });
}
