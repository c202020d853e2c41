/** `wfr watch`: wait for runs that already exist. */
import { Complaints } from '../config/complaints.js';
import { loadCredentials, requireToken } from '../config/credentials.js';
import { type ServiceFlags, type ServiceSettings, serviceSettings } from '../config/service.js';
import { type WaitFlags, type WaitSettings, waitSettings } from '../config/wait.js';
import type { Context } from '../context.js';
import { type Exit, exitOfSeveral } from '../exit-code.js';
import { Interruption } from '../interruption.js';
import type { Service } from '../service/service.js';
import { openSink } from '../sink.js';
import { Conversation } from '../view/conversation.js';
import { decidePresentation, type PresentationFlags } from '../view/presentation.js';
import type { ProgressView } from '../view/progress.js';
import { serviceTalk } from '../view/service-talk.js';
import { conclude } from './conclude.js';
import { observe } from './observe.js';
import { withService } from './open-service.js';
import { type OutputFlags, type OutputFormat, outputFormat } from './output-format.js';
import { WatchedResults } from './results.js';
import { resumeCommand } from './resume.js';
import { runIds } from './run-ids.js';

export interface WatchFlags extends ServiceFlags, WaitFlags, OutputFlags, PresentationFlags {}

export async function watch(written: readonly string[], flags: WatchFlags, context: Context): Promise<Exit> {
  const { ids, settings, credentials, wait, format, presentation } = await makePlan(written, flags, context);
  requireToken(credentials, flags, settings.baseUrl);
  const conversation = await Conversation.open(presentation, context.clock, context.stderr);
  for (const warning of settings.warnings) conversation.warn(warning);
  const interruption = new Interruption(context);
  try {
    const exits = await conversation.during(ids.length > 1, (progress) =>
      withService(settings, credentials, serviceTalk(conversation, progress), context, (service) => {
        const results = new WatchedResults(openSink(context.stdout, interruption), format, ids.length > 1);
        const tools = { service, conversation, progress, interruption, results };
        return Promise.all(ids.map((id) => watchOne(id, settings, wait, tools, ids.length === 1)));
      }),
    );
    return exitOfSeveral(exits);
  } finally {
    interruption.release();
  }
}

async function makePlan(written: readonly string[], flags: WatchFlags, context: Context) {
  const complaints = new Complaints();
  const ids = await complaints.collect(() => runIds(written));
  const settings = await complaints.collect(() => serviceSettings(flags, context));
  const wait = await complaints.collect(() => waitSettings(flags));
  const format: OutputFormat | undefined = await complaints.collect(() => outputFormat(flags));
  const presentation = await complaints.collect(() => decidePresentation(flags, context));
  const credentials = await complaints.collect(() => loadCredentials(flags, context));
  complaints.throwIfAny();
  if (!ids || !settings || !wait || !format || !presentation || !credentials)
    throw new Error('a complaint was lost');
  return { ids, settings, wait, format, presentation, credentials };
}

interface Tools {
  service: Service;
  conversation: Conversation;
  progress: ProgressView;
  interruption: Interruption;
  results: WatchedResults;
}

async function watchOne(
  id: string,
  settings: ServiceSettings,
  wait: WaitSettings,
  tools: Tools,
  isOnly: boolean,
): Promise<Exit> {
  const outcome = await observe({ id, wait, ...tools });
  if (isOnly) tools.progress.stop();
  return conclude(outcome, resumeCommand(id, settings), tools.results, tools.conversation);
}
