/** The second half of `wfr run`: with everything checked, trigger the run and follow it to its end. */
import type { Context } from '../../platform/context.js';
import { ExitCode } from '../../exit-code.js';
import { History, type PastRun } from '../../history/history.js';
import type { Interruption } from '../../platform/signals.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { createRun } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import { openSink } from '../../platform/stdout-queue.js';
import { Conversation } from '../../view/reporter.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { serviceTalk } from '../../view/service-logger.js';
import { conclude } from '../shared/print-outcome.js';
import { settleHistory } from '../shared/keep-history.js';
import { observe } from '../shared/watch-run.js';
import { withService } from '../shared/open-service.js';
import { printAccepted, WatchedResults } from '../shared/print-run.js';
import { nextCommands } from '../shared/resume-command.js';
import type { RunPlan } from './plan.js';

/** Triggers what is planned, and watches it unless it is to be left alone. Throws what createRun throws. */
export async function triggerAndWatch(
  plan: RunPlan,
  interruption: Interruption,
  context: Context,
): Promise<ReportedRun> {
  const conversation = await Conversation.open(plan.presentation, context);
  for (const warning of plan.warnings) conversation.warn(warning);
  return conversation.during(1, (progress) =>
    withService(plan.settings, plan.credentials, serviceTalk(conversation, progress), context, (service) =>
      carryOut(plan, { service, conversation, progress, interruption }, context),
    ),
  );
}

interface Tools {
  service: Service;
  conversation: Conversation;
  progress: ProgressView;
  interruption: Interruption;
}

async function carryOut(plan: RunPlan, tools: Tools, context: Context): Promise<ReportedRun> {
  const { service, conversation, progress, interruption } = tools;
  const { run: accepted, form, forms } = await createRun(plan.trigger, service, interruption);
  const { workflowId } = plan.trigger;
  const { id } = accepted;
  const commands = nextCommands([id], plan.settings, plan.documents);
  conversation.accepted(accepted, commands.watch);
  conversation.fieldAccepted(form, forms);
  const history = History.of(context);
  const stdout = openSink(context.stdout, interruption);
  const isLeft = plan.detached && interruption.received === undefined;
  history.triggered(pastRun(accepted, plan));
  if (isLeft) {
    await printAccepted(stdout, plan.format, accepted).finally(() => settleHistory(history, conversation));
    const started = context.clock.now();
    return { id, workflowId, run: accepted, exit: ExitCode.ok, started, duration: 0, error: undefined };
  }
  const results = new WatchedResults(stdout, plan.format, false);
  const { wait, documents } = plan;
  const outcome = await observe({ id, accepted, wait, results, history, documents, ...tools });
  progress.stop();
  const reported = await conclude(outcome, commands, results, conversation);
  await settleHistory(history, conversation);
  return { ...reported, workflowId };
}

function pastRun({ id, status }: Run, { trigger, settings }: RunPlan): Omit<PastRun, 'triggered'> {
  const inputs = trigger.inputs.map(({ name }) => name);
  return { id, workflow: trigger.workflowId, baseUrl: settings.baseUrl.href, inputs, status };
}
