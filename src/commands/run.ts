/** `wfr run`: what it needs is checked here, before anything that could send it is even loaded. */
import { Complaints } from '../config/complaints.js';
import { type ServiceFlags, type ServiceSettings, serviceSettings } from '../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../config/wait.js';
import { workflowId, workflowIdField } from '../config/workflow.js';
import type { Context } from '../context.js';
import type { Exit } from '../exit-code.js';
import { type ResolvedInputs, resolveInputs } from '../inputs/resolve.js';
import type { Trigger } from '../service/create-run.js';
import { decidePresentation, type Presentation, type PresentationFlags } from '../view/presentation.js';
import { type OutputFlags, type OutputFormat, outputFormat } from './output-format.js';

export interface RunFlags extends ServiceFlags, WaitFlags, OutputFlags, PresentationFlags {
  input?: string[];
  inputsFile?: string;
  workflowIdField?: string;
  detach?: boolean;
  wait?: boolean;
  dryRun?: boolean;
}

/** Everything that a run needs, checked. */
export interface RunPlan {
  settings: ServiceSettings;
  wait: WaitSettings;
  format: OutputFormat;
  presentation: Presentation;
  trigger: Trigger;
  /** Return once the run has been accepted. */
  detached: boolean;
  warnings: readonly string[];
}

export async function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const { plan, resolved } = await makePlan(workflow, [...items, ...(flags.input ?? [])], flags, context);
  try {
    if (flags.dryRun === true) {
      const { dryRun } = await import('./dry-run.js');
      return await dryRun(plan, flags, context);
    }
    const { triggerAndWatch } = await import('./trigger-and-watch.js');
    return await triggerAndWatch(plan, flags, context);
  } finally {
    await resolved.close();
  }
}

async function makePlan(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<{ plan: RunPlan; resolved: ResolvedInputs }> {
  const complaints = new Complaints();
  const id = await complaints.collect(() => workflowId(workflow));
  const settings = await complaints.collect(() => serviceSettings(flags, context));
  const wait = await complaints.collect(() => waitSettings(flags));
  const format = await complaints.collect(() => outputFormat(flags));
  const presentation = await complaints.collect(() => decidePresentation(flags, context));
  const field = await complaints.collect(() => workflowIdField(flags.workflowIdField, context));
  const otherStdin = flags.tokenFile === '-' ? '--token-file -' : undefined;
  const resolved = await complaints.collect(() =>
    resolveInputs({ items, inputsFile: flags.inputsFile, otherStdin }, context),
  );
  complaints.throwIfAny();
  if (!id || !settings || !wait || !format || !presentation || !field || !resolved) {
    throw new Error('a complaint was lost');
  }
  const trigger = { workflowId: id, inputs: resolved.inputs, field };
  const detached = flags.detach === true || flags.wait === false;
  const warnings = [...settings.warnings, ...resolved.warnings];
  return { plan: { settings, wait, format, presentation, trigger, detached, warnings }, resolved };
}
