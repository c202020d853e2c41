/** `wfr run`: what it needs is checked here, before anything that could send it is even loaded. */
import { collectUsageErrors } from '../../config/complaints.js';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import { type ServiceFlags, serviceSettings } from '../../config/service.js';
import { type WaitFlags, waitSettings } from '../../config/wait.js';
import { mayResend503, unknownNameWarning, workflowId, workflowIdField } from '../../config/workflow.js';
import { InterruptedError, UsageError } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { type ResolvedInputs, resolveInputs } from '../../inputs/resolve.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/path.js';
import { assertDistinctFiles, type NamedFile } from '../../platform/same-file.js';
import { Interruption } from '../../platform/signals.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import { type DocumentFlags, documentFolder } from '../shared/document-flags.js';
import { type OutputFlags, outputFormat } from '../shared/output-format.js';
import { type ReportFlags, reportFiles, withReports } from '../shared/with-reports.js';
import type { RunPlan } from './plan.js';

export interface RunFlags
  extends ServiceFlags,
    WaitFlags,
    OutputFlags,
    DocumentFlags,
    PresentationFlags,
    ReportFlags {
  input?: string[];
  inputsFile?: string;
  workflowIdField?: string;
  resend503?: boolean;
  detach?: boolean;
  wait?: boolean;
  dryRun?: boolean;
}

export async function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const interruption = new Interruption(context);
  let workflowIdOrAlias = workflow;
  const subjects = () => [{ workflowId: workflowIdOrAlias }];
  try {
    return await withReports(flags, context, subjects, async (openReports) => {
      const making = makePlan(workflow, [...items, ...(flags.input ?? [])], flags, openReports, context);
      // Standard input, a pipe or a slow disk may keep us waiting.
      const { plan, resolved } = await interruption.raceWithSignal(making).catch(throwAsCancelled);
      workflowIdOrAlias = plan.trigger.workflowId;
      const runs = await carryOut(plan, flags, interruption, context).finally(() => resolved.close());
      return { runs };
    });
  } finally {
    interruption.release();
  }
}

async function carryOut(
  plan: RunPlan,
  flags: RunFlags,
  interruption: Interruption,
  context: Context,
): Promise<readonly ReportedRun[]> {
  if (flags.dryRun === true) {
    const { dryRun } = await import('./dry-run.js');
    await dryRun(plan, context);
    return [];
  }
  const { credentials, settings } = plan;
  await requireToken(credentials, flags, settings.baseUrl, interruption.signal).catch(throwAsCancelled);
  const { triggerAndWatch } = await import('./trigger-and-watch.js');
  return [await triggerAndWatch(plan, interruption, context)];
}

/** Nothing has been sent yet. */
function throwAsCancelled(error: unknown): never {
  throw error instanceof InterruptedError ? new InterruptedError(error.signal, 0) : error;
}

async function makePlan(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  openReports: () => Promise<void>,
  context: Context,
): Promise<{ plan: RunPlan; resolved: ResolvedInputs }> {
  const otherStdin = flags.tokenFile === '-' ? '--token-file -' : undefined;
  const profile = await chooseProfile(flags, context);
  const { id, field, resolved, ...checked } = await collectUsageErrors({
    id: () => workflowId(workflow, profile),
    settings: () => serviceSettings(flags, profile, context),
    wait: () => waitSettings(flags, profile),
    format: () => outputFormat(flags),
    presentation: () => decidePresentation(flags, context),
    documents: () => documentFolder(expectWatched(flags), false, context),
    field: () => workflowIdField(flags, profile, context),
    credentials: () => loadCredentials(flags, profile, context),
    reports: openReports,
    resolved: () => resolveInputs({ items, inputsFile: flags.inputsFile, otherStdin }, context),
  });
  await assertDistinctFiles([
    ...reportFiles(flags, context),
    ...inputsFileOf(flags, context),
    ...resolved.files,
  ]).catch(async (error) => {
    await resolved.close();
    throw error;
  });
  const resend503 = mayResend503(flags, profile, context);
  const trigger = { workflowId: id, inputs: resolved.inputs, field, resend503 };
  const unknownName = unknownNameWarning(workflow, profile);
  const warnings = [...checked.settings.warnings, ...unknownName, ...resolved.warnings];
  return { plan: { ...checked, trigger, detached: isDetached(flags), warnings }, resolved };
}

function inputsFileOf({ inputsFile }: RunFlags, context: Context): NamedFile[] {
  if (inputsFile === undefined || inputsFile === '-') return [];
  const path = resolvePath(inputsFile, context.cwd, context);
  return [{ name: `--inputs-file ${inputsFile}`, path, isWritten: false }];
}

function isDetached({ detach, wait }: RunFlags): boolean {
  return detach === true || wait === false;
}

/** Throws UsageError for what only a run that is watched has. */
function expectWatched(flags: RunFlags): RunFlags {
  if (flags.saveDocuments === undefined || !isDetached(flags)) return flags;
  throw new UsageError(['--save-documents and --detach exclude each other: give it to wfr watch']);
}
