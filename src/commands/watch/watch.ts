/** `wfr watch`: wait for runs that already exist. */
import { collectUsageErrors } from '../../config/complaints.js';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import { type ServiceFlags, type ServiceSettings, serviceSettings } from '../../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../../config/wait.js';
import { NoSuchRunError, UnsavedDocumentError } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { History } from '../../history/history.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { hasEnded } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import { type DocumentFlags, documentFolder } from '../shared/document-flags.js';
import { settleHistory } from '../shared/keep-history.js';
import { withService } from '../shared/open-service.js';
import { type OutputFlags, outputFormat } from '../shared/output-format.js';
import { printOutcome } from '../shared/print-outcome.js';
import { RunPrinter } from '../shared/print-run.js';
import { resumeCommands } from '../shared/resume-command.js';
import { runIds, withPastRuns } from '../shared/run-ids.js';
import { watchRun } from '../shared/watch-run.js';
import { type ReportFlags, withReports } from '../shared/with-reports.js';

export interface WatchFlags
  extends ServiceFlags,
    WaitFlags,
    OutputFlags,
    DocumentFlags,
    PresentationFlags,
    ReportFlags {}

export async function watch(written: readonly string[], flags: WatchFlags, context: Context): Promise<Exit> {
  let ids = written;
  const subjects = () => ids.map((id) => ({ id }));
  return withReports(flags, context, subjects, async (openReports) => {
    const plan = await makePlan(written, flags, openReports, context);
    const history = History.of(context);
    ids = await withPastRuns(plan.ids, plan.settings.baseUrl, history, plan.profile);
    await requireToken(plan.credentials, flags, plan.settings.baseUrl);
    return { runs: await watchAll(ids, plan, history, context) };
  });
}

type WatchPlan = Awaited<ReturnType<typeof makePlan>>;

async function watchAll(
  ids: readonly string[],
  plan: WatchPlan,
  history: History,
  context: Context,
): Promise<readonly ReportedRun[]> {
  const { settings, credentials, wait, format, presentation, documents } = plan;
  // Runs end in any order; the same command gives them the same folders.
  for (const id of ids) documents?.runFolder(id);
  const reporter = await Reporter.open(presentation, context);
  for (const warning of settings.warnings) reporter.warn(warning);
  const interruption = new Interruption(context);
  try {
    return await reporter.withProgress(ids.length, (progress) =>
      withService(settings, credentials, serviceLogger(reporter, progress), context, (service) => {
        const results = new RunPrinter(openStdoutQueue(context.stdout, interruption), format, ids.length > 1);
        const tools = { service, reporter, progress, interruption, results, history, documents };
        const [only] = ids;
        const watching =
          only !== undefined && ids.length === 1
            ? watchOne(only, settings, wait, tools)
            : watchSeveral(ids, settings, wait, tools);
        return watching.finally(() => settleHistory(history, reporter));
      }),
    );
  } finally {
    interruption.release();
  }
}

async function makePlan(
  written: readonly string[],
  flags: WatchFlags,
  openReports: () => Promise<void>,
  context: Context,
) {
  const profile = await chooseProfile(flags, context);
  return collectUsageErrors({
    ids: () => runIds(written),
    settings: () => serviceSettings(flags, profile, context),
    wait: () => waitSettings(flags, profile),
    format: () => outputFormat(flags),
    presentation: () => decidePresentation(flags, context),
    documents: () => documentFolder(flags, new Set(written).size > 1, context),
    reports: openReports,
    credentials: () => loadCredentials(flags, profile, context),
    profile: () => profile,
  });
}

interface Tools {
  service: Service;
  reporter: Reporter;
  progress: ProgressView;
  interruption: Interruption;
  results: RunPrinter;
  history: History;
  documents: DocumentFolder | undefined;
}

async function watchOne(
  id: string,
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
): Promise<ReportedRun[]> {
  const outcome = await watchRun({ id, wait, ...tools });
  tools.progress.stop();
  const commands = resumeCommands([id], settings, tools.documents);
  return [await printOutcome(outcome, commands, tools.results, tools.reporter)];
}

async function watchSeveral(
  ids: readonly string[],
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
): Promise<ReportedRun[]> {
  const { progress, results, reporter, interruption, documents } = tools;
  const toWatch = new Set<string>();
  const runs = await Promise.all(
    ids.map(async (id) => {
      const outcome = await watchRun({ id, wait, ...tools });
      const ended = outcome.run !== undefined && hasEnded(outcome.run);
      const goesOn = !ended && !(outcome.error instanceof NoSuchRunError);
      if (goesOn || outcome.error instanceof UnsavedDocumentError) toWatch.add(id);
      return printOutcome(outcome, undefined, results, reporter);
    }),
  );
  progress.stop();
  if (interruption.received !== undefined) reporter.notice('Interrupted; the runs go on.');
  const left = ids.filter((id) => toWatch.has(id));
  if (left.length > 0) reporter.notice(`To watch them: ${resumeCommands(left, settings, documents).watch}`);
  return runs;
}
