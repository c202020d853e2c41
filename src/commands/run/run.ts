/** `wfr run`: triggers a run, waits for its end, prints its output. */
import { requireToken } from '../../config/credentials.js';
import { InterruptedError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { PastRun } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { createRun } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import { printOutcome, resumeCommands } from '../shared/print-outcome.js';
import { printAccepted, RunPrinter } from '../shared/print-run.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { watchAndShow } from '../shared/show-run.js';
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
  const { trigger, settings, wait, format, documents } = plan;
  const { service, interruption, reporter, stdout } = session;
  const progress = await reporter.startProgress(1);
  const { run: accepted, variant, variantsTried } = await createRun(trigger, service, interruption);
  const { id } = accepted;
  const commands = resumeCommands([id], settings, documents);
  reporter.accepted(accepted, commands.watch);
  reporter.fieldAccepted(variant, variantsTried);

  session.history.recordTrigger(pastRun(accepted, plan));
  if (plan.detached && interruption.received === undefined) {
    await printAccepted(stdout, format, accepted);
    return { runs: [detachedRun(accepted, plan, session)] };
  }
  const printer = new RunPrinter(stdout, format, false);
  const outcome = await watchAndShow({ id, accepted, wait }, { printer, progress, documents }, session);
  reporter.stopProgress();
  const reported = await printOutcome(outcome, commands, printer, reporter);
  return { runs: [{ ...reported, workflowId: trigger.workflowId }] };
}

/** Marks an interruption as one from before anything was sent. */
async function beforeSending<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw error instanceof InterruptedError ? new InterruptedError(error.signal, 'unsent') : error;
  });
}

/** Returns the history's record of the run, which @last refers to. */
function pastRun({ id, status }: Run, { trigger, settings }: RunPlan): Omit<PastRun, 'triggered'> {
  const inputs = trigger.inputs.map(({ name }) => name);
  return { id, workflow: trigger.workflowId, baseUrl: settings.baseUrl.href, inputs, status };
}

function detachedRun(run: Run, { trigger }: RunPlan, { context }: Session): ReportedRun {
  const { id } = run;
  const { workflowId } = trigger;
  return {
    id,
    workflowId,
    run,
    exit: ExitCode.ok,
    started: context.clock.now(),
    duration: 0,
    error: undefined,
  };
}
