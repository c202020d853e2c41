/** `wfr status`: show runs as they are now. */
import { collectUsageErrors } from '../../config/complaints.js';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { chooseProfile } from '../../config/profile.js';
import { type ServiceFlags, serviceSettings } from '../../config/service.js';
import { HttpError } from '../../errors.js';
import { type Exit, ExitCode, exitCodeOfStatus, exitOfError, exitOfSeveral } from '../../exit-code.js';
import { History } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { hasEnded, type Run } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';
import { serviceLogger } from '../../view/service-logger.js';
import { settleHistory } from '../shared/keep-history.js';
import { withService } from '../shared/open-service.js';
import { type OutputFlags, outputFormat } from '../shared/output-format.js';
import { printStatus } from '../shared/print-run.js';
import { readRun } from '../shared/read-run.js';
import { runIds, withPastRuns } from '../shared/run-ids.js';

export interface StatusFlags extends ServiceFlags, OutputFlags, PresentationFlags {
  exitStatus?: boolean;
}

export async function status(
  written: readonly string[],
  flags: StatusFlags,
  context: Context,
): Promise<Exit> {
  const { settings, credentials, format, presentation, profile, ...plan } = await makePlan(
    written,
    flags,
    context,
  );
  const history = History.of(context);
  const ids = await withPastRuns(plan.ids, settings.baseUrl, history, profile);
  await requireToken(credentials, flags, settings.baseUrl);
  const reporter = await Reporter.open(presentation, context);
  for (const warning of settings.warnings) reporter.warn(warning);
  const interruption = new Interruption(context);
  try {
    const events = serviceLogger(reporter);
    return await withService(settings, credentials, events, context, async (service) => {
      const several = ids.length > 1;
      const looks = ids.map((id) => ({
        id,
        settling: settled(
          readRun(id, service, interruption.signal, (failure, delay) =>
            reporter.retryingPoll(failure, delay, several ? id : undefined),
          ),
        ),
      }));
      const cancelNotice = noticeOfSilence(service, reporter);
      void Promise.all(looks.map(({ settling }) => settling)).finally(cancelNotice);
      const stdout = openStdoutQueue(context.stdout, interruption);
      const exits: Exit[] = [];
      for (const { id, settling } of looks) {
        const { value: run, error } = await settling;
        if (run !== undefined) {
          await printStatus(stdout, format, run, several);
          history.seen({ ...run, baseUrl: settings.baseUrl.href });
        } else {
          if (!reporter.error(error)) throw error;
          // Other errors name the run themselves.
          if (several && error instanceof HttpError)
            reporter.notice(`Run ${sanitize(id)} could not be read.`);
        }
        exits.push(run === undefined ? exitOfError(error) : exitOfRun(run, flags));
      }
      await settleHistory(history, reporter);
      return exitOfSeveral(exits);
    });
  } finally {
    interruption.release();
  }
}

async function makePlan(written: readonly string[], flags: StatusFlags, context: Context) {
  const profile = await chooseProfile(flags, context);
  return collectUsageErrors({
    ids: () => runIds(written),
    settings: () => serviceSettings(flags, profile, context),
    format: () => outputFormat(flags),
    presentation: () => decidePresentation(flags, context),
    credentials: () => loadCredentials(flags, profile, context),
    profile: () => profile,
  });
}

/** Milliseconds without an answer after which a person wants to know what they wait for. */
const SILENCE = 3_000;

function noticeOfSilence({ clock, baseUrl }: Service, reporter: Reporter): () => void {
  return clock.after(SILENCE, () => reporter.info(`Waiting for an answer from ${baseUrl.host}`));
}

/** Without --exit-status, a run that could be read is a success. */
function exitOfRun(run: Run, { exitStatus }: StatusFlags): Exit {
  if (exitStatus !== true) return ExitCode.ok;
  return hasEnded(run) ? exitCodeOfStatus(run.status) : ExitCode.stillRunning;
}

async function settled<T>(promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}
