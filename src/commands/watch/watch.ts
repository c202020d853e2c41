/** `wfr watch`: wait for runs that already exist. */
import { withAllComplaints } from '../../config/complaints.js';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import { type ServiceFlags, type ServiceSettings, serviceSettings } from '../../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../../config/wait.js';
import type { Context } from '../../platform/context.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { NoSuchRunError } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { History } from '../../history/history.js';
import { Interruption } from '../../platform/signals.js';
import { UnsavedDocumentError } from '../../local-errors.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { hasEnded } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import { openSink } from '../../platform/stdout-queue.js';
import { Conversation } from '../../view/reporter.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import { serviceTalk } from '../../view/service-logger.js';
import { conclude } from '../shared/print-outcome.js';
import { type DocumentFlags, documentFolder } from '../shared/document-flags.js';
import { settleHistory } from '../shared/keep-history.js';
import { observe } from '../shared/watch-run.js';
import { withService } from '../shared/open-service.js';
import { type OutputFlags, outputFormat } from '../shared/output-format.js';
import { WatchedResults } from '../shared/print-run.js';
import { nextCommands } from '../shared/resume-command.js';
import { runIds, withPastRuns } from '../shared/run-ids.js';
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
  for (const id of ids) documents?.homeOf(id);
  const conversation = await Conversation.open(presentation, context);
  for (const warning of settings.warnings) conversation.warn(warning);
  const interruption = new Interruption(context);
  try {
    return await conversation.during(ids.length, (progress) =>
      withService(settings, credentials, serviceTalk(conversation, progress), context, (service) => {
        const results = new WatchedResults(openSink(context.stdout, interruption), format, ids.length > 1);
        const tools = { service, conversation, progress, interruption, results, history, documents };
        const [only] = ids;
        const watching =
          only !== undefined && ids.length === 1
            ? watchOne(only, settings, wait, tools)
            : watchSeveral(ids, settings, wait, tools);
        return watching.finally(() => settleHistory(history, conversation));
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
  return withAllComplaints({
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
  conversation: Conversation;
  progress: ProgressView;
  interruption: Interruption;
  results: WatchedResults;
  history: History;
  documents: DocumentFolder | undefined;
}

async function watchOne(
  id: string,
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
): Promise<ReportedRun[]> {
  const outcome = await observe({ id, wait, ...tools });
  tools.progress.stop();
  const commands = nextCommands([id], settings, tools.documents);
  return [await conclude(outcome, commands, tools.results, tools.conversation)];
}

async function watchSeveral(
  ids: readonly string[],
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
): Promise<ReportedRun[]> {
  const { progress, results, conversation, interruption, documents } = tools;
  const toWatch = new Set<string>();
  const runs = await Promise.all(
    ids.map(async (id) => {
      const outcome = await observe({ id, wait, ...tools });
      const ended = outcome.run !== undefined && hasEnded(outcome.run);
      const goesOn = !ended && !(outcome.error instanceof NoSuchRunError);
      if (goesOn || outcome.error instanceof UnsavedDocumentError) toWatch.add(id);
      return conclude(outcome, undefined, results, conversation);
    }),
  );
  progress.stop();
  if (interruption.received !== undefined) conversation.say('Interrupted; the runs go on.');
  const left = ids.filter((id) => toWatch.has(id));
  if (left.length > 0) conversation.say(`To watch them: ${nextCommands(left, settings, documents).watch}`);
  return runs;
}
