/** `wfr run`: triggers a run, or finds the one that --once recorded, waits for its end, prints its output. */
import { requireToken } from '../../config/credentials.js';
import { throwAsUnsent } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { factsOf } from '../../outcome/describe-error.js';
import { stateOfError } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { Log, NO_SINK } from '../../runs/log/log.js';
import { createRun } from '../../service/create-run.js';
import type { EndedRun } from '../../service/run.js';
import type { RunsProgress } from '../../view/progress/progress.js';
import { resumeOf } from '../shared/print-outcome.js';
import { printRun } from '../shared/print-run.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { watchAndShow } from '../shared/watch-run.js';
import { announceAccepted, type KnownRun, lostRun } from './known-run.js';
import { planRun, type RunFlags, type RunPlan } from './plan.js';

/** Runs the command. */
export function run(
  workflow: string,
  items: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const subjects = [{ id: undefined, workflowId: workflow }];
  const frame = { subjects, triggersAgain: flags.once === undefined };
  return runCommand(flags, frame, context, async (resources) => {
    const { interruption, reports } = resources;
    const planning = planRun(workflow, items, flags, reports, context);
    // Reading stdin, a pipe or a slow disk may take long.
    const plan = await interruption.raceWithSignal(planning).catch(throwAsUnsent);
    try {
      if (flags.dryRun === true) {
        const { printDryRun } = await import('./dry-run.js');
        await printDryRun(plan, context);
        return { runs: [], exit: ExitCode.ok };
      }
      await requireToken(plan.credentials, plan.settings.baseUrl, interruption.signal).catch(throwAsUnsent);
      return await triggerAndWatch(plan, await resources.openSession(plan));
    } finally {
      await plan.close();
    }
  });
}

/** Prints the outcome, or with --detach the id as soon as the run is accepted. Throws as createRun and triggerOnce do. */
async function triggerAndWatch(plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { once } = plan;
  const { service, interruption, context, reporter } = session;
  const progress = await reporter.startProgress();
  let known: KnownRun;
  if (once === undefined) {
    const record = new Log(NO_SINK, () => context.clock.now()).ofRow(1, context.secrets);
    known = announceAccepted(await createRun(plan.trigger, service, interruption, record), plan, session);
  } else {
    const { triggerOnce } = await import('./once.js');
    known = await triggerOnce({ ...plan, once }, session);
  }
  return plan.detached && interruption.received === undefined
    ? detach(known, plan, session)
    : watch(known, progress, plan, session);
}

async function detach(known: KnownRun, plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { id, accepted, ended } = known;
  const seen = accepted ?? ended;
  // Of a run that --once recorded, only the id is printed.
  const format = plan.format === 'text' || accepted === undefined ? 'id' : plan.format;
  const thrown: unknown = await printRun(
    { id, json: new Uint8Array(), ...accepted },
    format,
    false,
    session,
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = thrown === undefined ? undefined : factsOf(thrown);
  if (error !== undefined) session.reporter.error(error);
  const state = error ? stateOfError(error) : seen?.status === 'FINISHED' ? 'finished' : 'accepted';
  const startedAt = session.context.clock.now();
  const runs = [{ ...plan.subject, id, run: seen, state, error, startedAt, durationMs: 0 }];
  return { runs, ...resumeOf(runs, plan) };
}

async function watch(
  { id, accepted, ended, recordEnd }: KnownRun,
  progress: RunsProgress,
  plan: RunPlan,
  session: Session,
): Promise<CommandOutcome> {
  const wasTriggered = accepted !== undefined;
  let received: EndedRun | undefined;
  const onEnd = (run: EndedRun) => {
    received = run;
  };
  const options = { id, known: accepted ?? ended, wait: plan.wait, exists: !wasTriggered };
  const lost = plan.once && lostRun(plan.once.file.name, id);
  const view = { ...plan, progress, wasTriggered };
  const outcome = await watchAndShow({ ...options, lost, onEnd }, view, session);
  // Last: a file system that hangs must not keep back the result.
  if (received !== undefined) await recordEnd?.({ event: 'ended', run: received });
  if (outcome.state === 'lost') await recordEnd?.({ event: 'lost' });
  const runs = [{ ...outcome, ...plan.subject, id }];
  return { runs, ...resumeOf(runs, plan) };
}
