/** The plan of `wfr run`: everything it needs, and what --once decides, validated before anything is sent. */
import { basename } from 'node:path';
import { findSources } from '../../config/profile.js';
import { resolveWaitSettings } from '../../config/resolve-setting.js';
import {
  assertOneBody,
  findDeclaredWorkflow,
  resolveTriggerSettings,
  resolveWorkflowId,
} from '../../config/workflow.js';
import { collectUsageErrors, exclusive, throwProblems, UsageError } from '../../errors.js';
import { resolveInputs } from '../../inputs/resolve.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { Context } from '../../platform/context.js';
import { assertDistinctFiles, resolvePath } from '../../platform/files.js';
import type { ResendOptions } from '../../runs/log/reduce.js';
import { isUsableId } from '../../service/parse-run.js';
import {
  OUTPUT_FORMATS,
  type OutputFormat,
  parseFormat,
  parseGet,
  type ShowFlags,
} from '../shared/output-flags.js';
import { openFolders } from '../shared/output-folders.js';
import { namedFile, type RequestedReports, reportFiles } from '../shared/reports.js';
import { sessionSteps } from '../shared/session-steps.js';

export interface RunFlags extends ShowFlags {
  input?: string[];
  inputsFile?: string;
  /** False for --no-documents. */
  documents?: boolean;
  /** False for --no-check-parameters. */
  checkParameters?: boolean;
  detach?: boolean;
  dryRun?: boolean;
  adopt?: string;
  resendUnknown?: boolean;
  retryFailed?: boolean;
}

export type RunPlan = Awaited<ReturnType<typeof planRun>>;
export type OncePlan = NonNullable<RunPlan['once']>;

/** Validates a command line and opens its files. Throws UsageError with every problem. */
export async function planRun(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  reports: RequestedReports,
  context: Context,
) {
  const otherStdin = flags.tokenFile === '-' ? '--token-file -' : undefined;
  const { inputsFile, input = [], documents: hasDocuments, detach: detached, dryRun: isDry } = flags;
  const { once, adopt, resendUnknown, retryFailed } = flags;
  const sources = await findSources(flags, context);
  const { profile } = sources;
  const declared = findDeclaredWorkflow(workflow, flags, profile);
  const { id, triggerSettings, resolved, ...plan } = await collectUsageErrors({
    id: () => resolveWorkflowId(workflow, profile),
    wait: () => resolveWaitSettings(sources),
    format: parseRunFormat,
    pointer: () => {
      assertWatched('--get', flags.get);
      return parseGet(flags, false);
    },
    once: planOnce,
    documents: openDocuments,
    triggerSettings: () => resolveTriggerSettings(sources),
    reports: reports.open,
    resolved: () =>
      resolveInputs({ items: [...items, ...input], inputsFile, hasDocuments, declared, otherStdin }, context),
    ...sessionSteps(sources),
  });
  const files = [
    ...namedFile(`--once ${once}`, once, context),
    ...reportFiles(flags, context),
    ...namedFile(`--inputs-file ${inputsFile}`, inputsFile, context, false),
    ...resolved.files,
  ];
  await collectUsageErrors({
    // Closed if another step fails.
    resolved: () => resolved,
    files: () => assertDistinctFiles(files),
    headers: () => assertOneBody(plan.settings.headers, triggerSettings.field),
  });
  const subject = { workflowId: id, inputs: resolved.inputs.map(({ name }) => name) };
  return {
    ...plan,
    flags,
    trigger: { workflowId: id, inputs: resolved.inputs, ...triggerSettings },
    detached,
    warnings: resolved.warnings,
    /** How the history names the run. */
    label: resolved.files.map(({ path }) => basename(path)).join(', '),
    subject,
    subjects: isDry ? [] : [subject],
    triggersAgain: once === undefined,
    isDry,
    savedFlags: plan.documents?.flagsFor,
    close: resolved.close,
  };

  /** Opens the folder of --save-documents. With --once it may have the documents of the recorded run. */
  async function openDocuments(): Promise<DocumentFolder | undefined> {
    assertWatched('--save-documents', flags.saveDocuments);
    const { documents } = await openFolders(flags, context);
    if (once === undefined) await documents?.assertNoFiles();
    return documents;
  }

  /** Throws UsageError also where the Run would have to be printed, which a later command knows only after a request. */
  function parseRunFormat(): OutputFormat {
    const format = parseFormat(flags, OUTPUT_FORMATS);
    if (!detached || once === undefined || format === 'text' || format === 'id') return format;
    throw new UsageError(
      `--detach and --once print the id; --output ${format} requires the run: leave out --detach, or use wfr status`,
    );
  }

  /** Throws UsageError where --detach is given with a flag that requires watching. */
  function assertWatched(flag: string, value: string | undefined): void {
    if (value === undefined || !detached) return;
    throw new UsageError(`${flag} cannot be used with --detach; pass it to wfr watch`);
  }

  /** Returns what --once decides; undefined without it. Throws UsageError. */
  function planOnce() {
    const decisions = { '--adopt': adopt, '--resend-unknown': resendUnknown, '--retry-failed': retryFailed };
    if (once === undefined) {
      const given = Object.entries(decisions);
      throwProblems(given.map(([flag, value]) => value !== undefined && `${flag} requires --once <file>`));
      return undefined;
    }
    if (once === '' || once === '-') throw new UsageError(`--once ${once}: expected the path of a file`);
    if (adopt !== undefined && !isUsableId(adopt))
      throw new UsageError(`--adopt ${JSON.stringify(adopt)}: expected the id of a run`);
    if (adopt !== undefined && resendUnknown) throw exclusive('--adopt', '--resend-unknown');
    const resend: ResendOptions = {
      resendUnknown: resendUnknown ? 'all' : [],
      retryFailed: retryFailed ? 'all' : [],
    };
    return { file: { path: resolvePath(once, context), name: once }, adopted: adopt, resend };
  }
}
