/** `wfr run`: triggers a run, waits for its end, prints its output. */
import { requireToken } from '../../config/credentials.js';
import { throwAsUnsent } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { type CommandOutcome, runCommand } from '../shared/session.js';
import { planRun, type RunFlags, type RunPlan } from './plan.js';

/** Runs the command. */
export function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const subjects = [{ id: undefined, workflowId: workflow }];
  const frame = { subjects, triggersAgain: flags.once === undefined };
  return runCommand(flags, frame, context, async (resources) => {
    const { interruption, reports } = resources;
    const planning = planRun(workflow, items, flags, reports, context);
    // Reading stdin, a pipe or a slow disk may take long.
    const plan = await interruption.raceWithSignal(planning).catch(throwAsUnsent);
    try {
      if (flags.dryRun === true) return await dryRun(plan, context);
      await requireToken(plan.credentials, plan.settings.baseUrl, interruption.signal).catch(throwAsUnsent);
      // Loaded late: a command that is rejected sends nothing.
      const { triggerAndWatch } = await import('./trigger-and-watch.js');
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
