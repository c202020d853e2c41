/** `wfr watch`: waits for runs that already exist. */
import { join } from 'node:path';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import { resolveWaitSettings, type ServiceFlags } from '../../config/resolve-setting.js';
import { workflowNames } from '../../config/workflow.js';
import { collectUsageErrors } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { History, idShortener, nameOfRun, namesInList, type PastRun } from '../../history/history.js';
import { continuesText, type Outcome } from '../../outcome/outcome.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { FileNames, type SaveFolder } from '../../output-documents/save-folder.js';
import type { Context } from '../../platform/context.js';
import { withoutJson } from '../../service/run.js';
import { formatJson } from '../../text/json/format-json.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import {
  type DocumentFlags,
  type GetFlags,
  type OutputFlags,
  openDocumentFolder,
  openOutputsFolder,
  parseGet,
  parseOutputFormat,
} from '../shared/output-flags.js';
import { canResume, printOutcome, resumeCommands, resumeOf } from '../shared/print-outcome.js';
import { RunPrinter } from '../shared/print-run.js';
import type { ReportFlags, RequestedReports } from '../shared/reports.js';
import { parseRunIds, resolvePastRuns, resolveServiceOfRuns } from '../shared/run-ids.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { type RunDisplay, watchAndShow } from '../shared/watch-run.js';

export interface WatchFlags
  extends ServiceFlags,
    OutputFlags,
    GetFlags,
    DocumentFlags,
    PresentationFlags,
    ReportFlags {}

/** Runs the command. */
export function watch(rawIds: readonly string[], flags: WatchFlags, context: Context): Promise<Exit> {
  return runCommand(flags, { subjects: subjectsOf(rawIds) }, context, async (resources) => {
    const plan = await planWatch(rawIds, flags, resources.reports, context);
    await requireToken(plan.credentials, plan.settings.baseUrl, resources.interruption.signal);
    return watchAll(plan, await resources.openSession(plan));
  });
}

async function watchAll(plan: WatchPlan, session: Session): Promise<CommandOutcome> {
  const { ids, format, pointer, documents } = plan;
  const [id, another] = ids;
  const severalRuns = another !== undefined;
  const past = severalRuns
    ? await session.history.runsById(session.service.baseUrl)
    : new Map<string, PastRun>();
  const { reporter } = session;
  const progress = await (severalRuns
    ? reporter.startRunsProgress(
        ids.map((one) => ({ id: one, name: nameOfRun(past.get(one), plan.nameOf) })),
        idShortener([...ids, ...past.keys()]),
      )
    : reporter.startProgress());
  const printer = new RunPrinter(session, {
    format,
    pointer,
    ...(severalRuns && { namesOf: namesInList(ids, past, plan.nameOf) }),
  });
  const display = { printer, progress, documents, saveOutput: outputSaver(plan) };
  return id === undefined || severalRuns
    ? watchSeveral(plan, display, session)
    : watchOne(id, plan, display, session);
}

/** Returns the flags with which another command saves the same files. */
function savedFiles(documents: DocumentFolder | undefined, { folder }: SaveFolder, { force }: WatchFlags) {
  return {
    flagsFor: (ids: readonly string[]) => [
      ...['--save-outputs', folder],
      ...(documents?.flagsFor(ids) ?? (force === true ? ['--force'] : [])),
    ],
  };
}

/** Returns what saves outputs, each run's in a file of its own whenever the command is repeated. */
function outputSaver({ ids, outputs }: WatchPlan) {
  if (outputs === undefined) return undefined;
  const names = new FileNames();
  const paths = new Map(ids.map((id) => [id, join(outputs.folder, `${names.forRun(id)}.json`)]));
  return (id: string, output: Uint8Array) =>
    outputs.save([{ path: paths.get(id) ?? '', bytes: () => formatJson(output) }]);
}

const subjectsOf = (ids: readonly string[]) => ids.map((id) => ({ id, workflowId: undefined }));

type WatchPlan = Awaited<ReturnType<typeof planWatch>>;

/** Validates a command line. Throws UsageError with every problem. */
async function planWatch(
  rawIds: readonly string[],
  flags: WatchFlags,
  reports: RequestedReports,
  context: Context,
) {
  const profile = await chooseProfile(flags, context);
  const sources = { flags, profile, context };
  const severalRuns = new Set(rawIds).size > 1;
  const plan = await collectUsageErrors({
    ids: () => parseRunIds(rawIds),
    wait: () => resolveWaitSettings(sources),
    format: () => parseOutputFormat(flags),
    pointer: () => parseGet(flags, severalRuns),
    presentation: () => decidePresentation(flags, context),
    documents: () => openDocumentFolder(flags, severalRuns, context),
    outputs: () => openOutputsFolder(flags, context),
    isReported: () => reports.open().then(() => flags.report !== undefined),
    credentials: () => loadCredentials(sources),
    settings: () => resolveServiceOfRuns(rawIds, sources),
  });
  const history = History.open(context);
  const { ids, notes } = await resolvePastRuns(plan.ids, plan.settings.baseUrl, history, profile);
  // Runs end in any order; each gets the same folder whenever the command is repeated.
  for (const id of ids) plan.documents?.runFolder(id);
  const saved = plan.outputs === undefined ? plan.documents : savedFiles(plan.documents, plan.outputs, flags);
  const nameOf = workflowNames(profile);
  return { ...plan, flags, saved, ids, notes, history, nameOf, warnings: [], subjects: subjectsOf(ids) };
}

async function watchOne(id: string, plan: WatchPlan, display: RunDisplay, session: Session) {
  const outcome = await watchAndShow({ id, wait: plan.wait }, display, session);
  session.reporter.stopProgress();
  const commands = resumeCommands([id], plan.settings, plan.saved);
  const runs = [await printOutcome(outcome, commands, display.printer)];
  return { runs, ...resumeOf(runs, { ...plan, documents: plan.saved }) };
}

async function watchSeveral(plan: WatchPlan, display: RunDisplay, session: Session): Promise<CommandOutcome> {
  const { ids, wait, settings, saved } = plan;
  const { reporter, interruption, service } = session;
  const started = service.clock.monotonic();
  const runs = await Promise.all(
    ids.map(async (id) => {
      const place = service.memory.place();
      const outcome = await watchAndShow({ id, wait, label: id, place }, display, session);
      const reported = await printOutcome(outcome, undefined, display.printer);
      place.end();
      return plan.isReported || reported.run === undefined
        ? reported
        : { ...reported, run: withoutJson(reported.run) };
    }),
  );
  reporter.stopProgress();
  reporter.runsEnded(runs, service.clock.monotonic() - started);
  const open = runs.filter(canResume);
  const remaining = open.flatMap(({ id }) => id ?? []);
  if (reporter.presentation.showsErrors) {
    if (interruption.received !== undefined) reporter.notice(interruptionText(open, ids.length));
    if (remaining.length > 0) {
      const them = remaining.length === 1 ? 'it' : 'them';
      reporter.continuation(`To watch ${them}: ${resumeCommands(remaining, settings, saved).watch}`);
    }
  }
  return { runs, ...resumeOf(runs, { ...plan, documents: plan.saved }) };
}

function interruptionText(open: readonly Outcome[], total: number): string {
  const [first, another] = open;
  if (first === undefined) return 'Interrupted; all runs have ended.';
  const unclear = open.find(({ run }) => continuesText(run) !== 'continues');
  const state = continuesText((unclear ?? first).run);
  if (another === undefined) return `Interrupted; run ${sanitize(first.id ?? '')} ${state}.`;
  const subject = open.length === total ? 'the runs' : `${open.length} of ${total} runs`;
  return `Interrupted; ${subject} ${state.replace('continues', 'continue')}.`;
}
