/** `wfr run`: trigger a run, wait for its end, print its output. */
import { Complaints } from '../config/complaints.js';
import { loadCredentials } from '../config/credentials.js';
import {
  credentialsFor,
  type ServiceFlags,
  type ServiceSettings,
  serviceSettings,
} from '../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../config/wait.js';
import { workflowId, workflowIdField } from '../config/workflow.js';
import type { Context } from '../context.js';
import { type Exit, ExitCode } from '../exit-code.js';
import { type ResolvedInputs, resolveInputs } from '../inputs/resolve.js';
import { Interruption } from '../interruption.js';
import { createRun, type Trigger } from '../service/create-run.js';
import type { Run } from '../service/run.js';
import type { Service } from '../service/service.js';
import type { Conversation } from '../view/conversation.js';
import type { PresentationFlags } from '../view/presentation.js';
import type { ProgressView } from '../view/progress.js';
import { serviceTalk } from '../view/service-talk.js';
import { conclude } from './conclude.js';
import { observe } from './observe.js';
import { openConversation } from './open-conversation.js';
import { withService } from './open-service.js';
import {
  type OutputFlags,
  type OutputFormat,
  outputFormat,
  printAccepted,
  WatchedResults,
} from './results.js';
import { resumeCommand } from './resume.js';

export interface RunFlags extends ServiceFlags, WaitFlags, OutputFlags, PresentationFlags {
  input?: string[];
  inputsFile?: string;
  workflowIdField?: string;
  detach?: boolean;
  wait?: boolean;
  dryRun?: boolean;
}

/** Everything that a run needs, checked. */
interface Plan {
  settings: ServiceSettings;
  wait: WaitSettings;
  format: OutputFormat;
  trigger: Trigger;
}

export async function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const conversation = await openConversation(flags, context);
  const { plan, resolved } = await makePlan(workflow, [...items, ...(flags.input ?? [])], flags, context);
  try {
    for (const warning of [...plan.settings.warnings, ...resolved.warnings]) conversation.warn(warning);
    if (flags.dryRun === true) {
      const { printDryRun } = await import('./dry-run.js');
      const { source } = await loadCredentials(flags, false, context);
      return await printDryRun(plan.trigger, plan.settings, source !== undefined, context);
    }
    const credentials = await credentialsFor(flags, plan.settings.baseUrl, context);
    const interruption = new Interruption(context);
    try {
      return await conversation.during(false, (progress) =>
        withService(plan.settings, credentials, serviceTalk(conversation, progress), context, (service) =>
          triggerAndWatch(plan, flags, { service, conversation, progress, interruption }, context),
        ),
      );
    } finally {
      interruption.release();
    }
  } finally {
    await resolved.close();
  }
}

async function makePlan(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<{ plan: Plan; resolved: ResolvedInputs }> {
  const complaints = new Complaints();
  const id = await complaints.collect(() => workflowId(workflow));
  const settings = await complaints.collect(() => serviceSettings(flags, context));
  const wait = await complaints.collect(() => waitSettings(flags));
  const format = await complaints.collect(() => outputFormat(flags));
  const field = await complaints.collect(() => workflowIdField(flags.workflowIdField, context));
  const otherStdin = flags.tokenFile === '-' ? '--token-file -' : undefined;
  const resolved = await complaints.collect(() =>
    resolveInputs({ items, inputsFile: flags.inputsFile, otherStdin }, context),
  );
  complaints.throwIfAny();
  if (!id || !settings || !wait || !format || !field || !resolved) throw new Error('a complaint was lost');
  return {
    plan: { settings, wait, format, trigger: { workflowId: id, inputs: resolved.inputs, field } },
    resolved,
  };
}

interface Tools {
  service: Service;
  conversation: Conversation;
  progress: ProgressView;
  interruption: Interruption;
}

async function triggerAndWatch(plan: Plan, flags: RunFlags, tools: Tools, context: Context): Promise<Exit> {
  const { service, conversation, progress, interruption } = tools;
  const accepted: Run = await createRun(plan.trigger, service, interruption);
  const resume = resumeCommand(accepted.id, plan.settings);
  conversation.accepted(accepted, resume);
  const detached = flags.detach === true || flags.wait === false;
  if (detached && interruption.received === undefined) {
    await printAccepted(context.stdout, plan.format, accepted);
    return ExitCode.ok;
  }
  const results = new WatchedResults(context.stdout, plan.format, false);
  const { wait } = plan;
  const outcome = await observe({
    id: accepted.id,
    accepted,
    wait,
    service,
    interruption,
    conversation,
    progress,
    results,
  });
  progress.stop();
  return conclude(outcome, resume, results, conversation);
}
