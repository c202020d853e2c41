/** `wfr watch`: wait for runs that already exist. */
import { withAllComplaints } from '../config/complaints.js';
import { loadCredentials, requireToken } from '../config/credentials.js';
import { type ServiceFlags, type ServiceSettings, serviceSettings } from '../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../config/wait.js';
import type { Context } from '../context.js';
import type { DocumentFolder } from '../documents/document-folder.js';
import { NoSuchRunError } from '../errors.js';
import { type Exit, exitOfSeveral } from '../exit-code.js';
import { History } from '../history/history.js';
import { Interruption } from '../interruption.js';
import { hasEnded } from '../service/run.js';
import type { Service } from '../service/service.js';
import { openSink } from '../sink.js';
import { Conversation } from '../view/conversation.js';
import { decidePresentation, type PresentationFlags } from '../view/presentation.js';
import type { ProgressView } from '../view/progress.js';
import { serviceTalk } from '../view/service-talk.js';
import { conclude } from './conclude.js';
import { type DocumentFlags, documentFolder } from './document-flags.js';
import { observe } from './observe.js';
import { withService } from './open-service.js';
import { type OutputFlags, outputFormat } from './output-format.js';
import { WatchedResults } from './results.js';
import { nextCommands } from './resume.js';
import { runIds, withPastRuns } from './run-ids.js';

export interface WatchFlags extends ServiceFlags, WaitFlags, OutputFlags, DocumentFlags, PresentationFlags {}

export async function watch(written: readonly string[], flags: WatchFlags, context: Context): Promise<Exit> {
  const { settings, credentials, wait, format, presentation, documents, ...plan } = await makePlan(
    written,
    flags,
    context,
  );
  const history = History.of(context);
  const ids = await withPastRuns(plan.ids, settings.baseUrl, history);
  requireToken(credentials, flags, settings.baseUrl);
  const conversation = await Conversation.open(presentation, context);
  for (const warning of settings.warnings) conversation.warn(warning);
  const interruption = new Interruption(context);
  try {
    const exit = await conversation.during(ids.length, (progress) =>
      withService(settings, credentials, serviceTalk(conversation, progress), context, (service) => {
        const results = new WatchedResults(openSink(context.stdout, interruption), format, ids.length > 1);
        const tools = { service, conversation, progress, interruption, results, history, documents };
        const [only] = ids;
        return only !== undefined && ids.length === 1
          ? watchOne(only, settings, wait, tools)
          : watchSeveral(ids, settings, wait, tools);
      }),
    );
    return exit;
  } finally {
    interruption.release();
  }
}

function makePlan(written: readonly string[], flags: WatchFlags, context: Context) {
  return withAllComplaints({
    ids: () => runIds(written),
    settings: () => serviceSettings(flags, context),
    wait: () => waitSettings(flags),
    format: () => outputFormat(flags),
    presentation: () => decidePresentation(flags, context),
    documents: () => documentFolder(flags, new Set(written).size > 1, context),
    credentials: () => loadCredentials(flags, context),
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
): Promise<Exit> {
  const outcome = await observe({ id, wait, ...tools });
  tools.progress.stop();
  return conclude(outcome, nextCommands([id], settings), tools.results, tools.conversation);
}

async function watchSeveral(
  ids: readonly string[],
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
): Promise<Exit> {
  const goingOn: string[] = [];
  const exits = await Promise.all(
    ids.map(async (id) => {
      const outcome = await observe({ id, wait, ...tools });
      const exit = await conclude(outcome, undefined, tools.results, tools.conversation);
      const ended = outcome.run !== undefined && hasEnded(outcome.run);
      if (!ended && !(outcome.error instanceof NoSuchRunError)) goingOn.push(id);
      return exit;
    }),
  );
  tools.progress.stop();
  if (tools.interruption.received !== undefined) tools.conversation.say('Interrupted; the runs go on.');
  if (goingOn.length > 0) tools.conversation.say(`To watch them: ${nextCommands(goingOn, settings).watch}`);
  return exitOfSeveral(exits);
}
