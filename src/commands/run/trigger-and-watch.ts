/** The second half of `wfr run`: with everything checked, trigger the run and follow it to its end. */

import { ExitCode } from '../../exit-code.js';
import { History, type PastRun } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import type { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { createRun } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import { settleHistory } from '../shared/keep-history.js';
import { withService } from '../shared/open-service.js';
import { printOutcome } from '../shared/print-outcome.js';
import { printAccepted, RunPrinter } from '../shared/print-run.js';
import { resumeCommands } from '../shared/resume-command.js';
import { watchRun } from '../shared/watch-run.js';
import type { RunPlan } from './plan.js';

/** Triggers what is planned, and watches it unless it is to be left alone. Throws what createRun throws. */
export async function triggerAndWatch(
  plan: RunPlan,
  interruption: Interruption,
  context: Context,
): Promise<ReportedRun> {
  const reporter = await Reporter.open(plan.presentation, context);
  for (const warning of plan.warnings) reporter.warn(warning);
  return reporter.withProgress(1, (progress) =>
    withService(plan.settings, plan.credentials, serviceLogger(reporter, progress), context, (service) =>
      carryOut(plan, { service, reporter, progress, interruption }, context),
    ),
  );
}

interface Tools {
  service: Service;
  reporter: Reporter;
  progress: ProgressView;
  interruption: Interruption;
}

async function carryOut(plan: RunPlan, tools: Tools, context: Context): Promise<ReportedRun> {
  const { service, reporter, progress, interruption } = tools;
  const { run: accepted, variant, variantsTried } = await createRun(plan.trigger, service, interruption);
  const { workflowId } = plan.trigger;
  const { id } = accepted;
  const commands = resumeCommands([id], plan.settings, plan.documents);
  reporter.accepted(accepted, commands.watch);
  reporter.fieldAccepted(variant, variantsTried);
  const history = History.of(context);
  const stdout = openStdoutQueue(context.stdout, interruption);
  const isLeft = plan.detached && interruption.received === undefined;
  history.triggered(pastRun(accepted, plan));
  if (isLeft) {
    await printAccepted(stdout, plan.format, accepted).finally(() => settleHistory(history, reporter));
    const started = context.clock.now();
    return { id, workflowId, run: accepted, exit: ExitCode.ok, started, duration: 0, error: undefined };
  }
  const results = new RunPrinter(stdout, plan.format, false);
  const { wait, documents } = plan;
  const outcome = await watchRun({ id, accepted, wait, results, history, documents, ...tools });
  progress.stop();
  const reported = await printOutcome(outcome, commands, results, reporter);
  await settleHistory(history, reporter);
  return { ...reported, workflowId };
}

function pastRun({ id, status }: Run, { trigger, settings }: RunPlan): Omit<PastRun, 'triggered'> {
  const inputs = trigger.inputs.map(({ name }) => name);
  return { id, workflow: trigger.workflowId, baseUrl: settings.baseUrl.href, inputs, status };
}
