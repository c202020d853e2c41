/** `wfr history --refresh`: asks the service for the runs that have not been seen to their end. */

import { loadCredentials, requireToken } from '../../config/credentials.js';
import type { Profile } from '../../config/profile.js';
import { resolveServiceSettings, type ServiceFlags } from '../../config/service.js';
import { collectUsageErrors } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { History, type PastRun } from '../../history/history.js';
import { exitOf, type Facts } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { forEachConcurrent } from '../../runs/for-each-concurrent.js';
import { hasEndedStatus } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import type { Presentation } from '../../view/presentation.js';
import { runCommand, type Session } from '../shared/session.js';
import { pollOnce } from '../shared/watch-run.js';

/** The most runs that are asked for at the same time. */
const CONCURRENCY = 8;

interface RefreshPlan {
  profile: Profile | undefined;
  presentation: Presentation;
  limit: number;
  isOfWorkflow(run: PastRun): boolean;
}

/**
 * Records the status of runs at the current service, the latest `limit` of them. Prints why one could not be read, and
 * returns its exit; after that, no other run is asked for. Throws UsageError and MissingTokenError.
 */
export function refreshRuns(plan: RefreshPlan, flags: ServiceFlags, context: Context): Promise<Exit> {
  const { profile, presentation } = plan;
  return runCommand({}, { subjects: [] }, context, async (resources) => {
    const { settings, credentials } = await collectUsageErrors({
      settings: () => resolveServiceSettings(flags, profile, context),
      credentials: () => loadCredentials(flags, profile, context),
    });
    await requireToken(credentials, settings.baseUrl, resources.interruption.signal);
    const open = (await History.open(context).readRuns()).filter(
      (run) => plan.isOfWorkflow(run) && !hasEndedStatus(run.status),
    );
    const session = await resources.openSession({
      settings,
      credentials,
      presentation,
      warnings: [],
      subjects: [],
    });
    const here = open.filter(({ baseUrl }) => baseUrl === settings.baseUrl.href);
    const elsewhere = open.length - here.length;
    if (elsewhere > 0) {
      const runs = elsewhere === 1 ? '1 run is' : `${elsewhere} runs are`;
      session.reporter.info(`${runs} at another service; choose it with --profile or --base-url.`);
    }
    const failure = await pollAll(here.slice(0, plan.limit), session);
    if (failure === undefined) return { runs: [] };
    return { runs: [], exit: exitOf({ state: failure.state, error: failure }), failure };
  });
}

/** Returns the error of the first run that could not be read, after printing it. */
async function pollAll(runs: readonly PastRun[], session: Session): Promise<Facts | undefined> {
  let failure: Facts | undefined;
  let internal: unknown;
  const poll = async ({ id, baseUrl }: PastRun) => {
    const { run, error, thrown } = await pollOnce(id, id, session);
    if (run !== undefined) session.history.recordStatus({ ...run, id, baseUrl });
    else if (error?.code === 'no-such-run')
      session.reporter.warn(`the service no longer knows run ${sanitize(id)}`);
    else {
      failure ??= error;
      internal ??= error?.code === 'internal' ? thrown : undefined;
    }
  };
  await forEachConcurrent(inOrder(runs), CONCURRENCY, poll, () => failure !== undefined);
  if (internal !== undefined) throw internal;
  if (failure !== undefined) session.reporter.error(failure);
  return failure;
}

async function* inOrder<T>(items: readonly T[]): AsyncGenerator<T, void, void> {
  yield* items;
}
