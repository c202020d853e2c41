/** `wfr run`: triggers a run, or finds the one that --once recorded, waits for its end, prints its output. */
import { stateOfError, throwAsUnsent } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { factsOf } from '../../outcome/describe-error.js';
import type { Outcome } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { createLog } from '../../runs/log/log.js';
import { type EndedRun, isFinished } from '../../service/run.js';
import { endWith } from '../shared/print-outcome.js';
import { printRun } from '../shared/print-run.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { watchAndShow } from '../shared/watch-run.js';
import { printDryRun } from './dry-run.js';
import { lostRun, triggerRun } from './known-run.js';
import { recordEnd, triggerOnce } from './once.js';
import { planRun, type RunFlags, type RunPlan } from './plan.js';

/** Runs the command. */
export function execute(
  [workflow = '', ...items]: readonly string[],
  flags: RunFlags,
  context: Context,
): Promise<Exit> {
  const unplanned = [{ workflowId: workflow }];
  return runCommand(flags, unplanned, context, async (resources) => {
    const { interruption, reports } = resources;
    const planning = planRun(workflow, items, flags, reports, context);
    // Reading stdin, a pipe or a slow disk may take long.
    const plan = await interruption.raceWithSignal(planning).catch(throwAsUnsent);
    try {
      const session = await resources.openSession(plan).catch(throwAsUnsent);
      if (!plan.isDry) return await triggerAndWatch(plan, session);
      await printDryRun(plan, session);
      return { runs: [] };
    } finally {
      await plan.close();
    }
  });
}

/** Prints the outcome, or with --detach the id as soon as the run is accepted. Throws as createRun and triggerOnce do. */
async function triggerAndWatch(plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { once, subject } = plan;
  const { service, interruption, reporter } = session;
  await reporter.startProgress();
  const triggering = once
    ? // Of the run that the file may have, that it was not created would be wrong.
      triggerOnce(plan, once, session).catch((error) => throwAsUnsent(error, 'nothing was sent'))
    : triggerRun(createLog(service.clock), plan, session);
  const { id, run, isNew: wasTriggered } = await triggering;
  const outcome = plan.detached && !interruption.received ? await detach() : await watch();
  return endWith([{ ...outcome, ...subject, id }], plan);

  async function detach(): Promise<Outcome> {
    const format = plan.format === 'text' ? 'id' : plan.format;
    const printing = printRun({ id, json: new Uint8Array(), ...run }, format, false, session);
    const error = await printing.then(() => undefined, factsOf);
    if (error) reporter.error(error);
    const state = error ? stateOfError(error) : isFinished(run) ? 'finished' : 'accepted';
    return { run, state, error, startedAt: service.clock.now(), durationMs: 0 };
  }

  async function watch(): Promise<Outcome> {
    let received: EndedRun | undefined;
    const onEnd = (ended: EndedRun) => {
      received = ended;
    };
    const lost = once && lostRun(once.file.name, id);
    const view = { ...plan, wasTriggered };
    const watched = await watchAndShow({ id, known: run, lost, onEnd }, view, session);
    const { state, late } = watched;
    const isRecorded = !wasTriggered && run;
    if (isRecorded && state === 'failed')
      reporter.info('Nothing was triggered; for another run, add --retry-failed.');
    // Last: a file system that hangs must not keep back the result.
    if (once && !isRecorded) {
      if (received) await recordEnd({ event: 'ended', late, run: received }, id, once, session);
      if (state === 'lost') await recordEnd({ event: 'lost' }, id, once, session);
    }
    return watched;
  }
}
