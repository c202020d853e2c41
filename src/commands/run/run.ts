/** `wfr run`: triggers a run, or finds the one that --once recorded, waits for its end, prints its output. */
import { stateOfError, throwAsUnsent } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { factsOf } from '../../outcome/describe-error.js';
import type { State } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { createLog } from '../../runs/log/log.js';
import { type EndedRun, isFinished } from '../../service/run.js';
import { endWith } from '../shared/print-outcome.js';
import { printRun } from '../shared/print-run.js';
import { type CommandOutcome, runCommand, type Session } from '../shared/session.js';
import { watchAndShow } from '../shared/watch-run.js';
import { printDryRun } from './dry-run.js';
import { type KnownRun, lostRun, triggerRun } from './known-run.js';
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
  const { once } = plan;
  const { service, interruption, reporter } = session;
  await reporter.startProgress();
  let known: KnownRun;
  if (!once) {
    known = await triggerRun(createLog(service.clock), plan, session);
  } else {
    // Of the run that the file may have, that it was not created would be wrong.
    const found = triggerOnce(plan, once, session);
    known = await found.catch((error) => throwAsUnsent(error, 'nothing was sent'));
  }
  return plan.detached && !interruption.received ? detach(known, plan, session) : watch(known, plan, session);
}

async function detach(known: KnownRun, plan: RunPlan, session: Session): Promise<CommandOutcome> {
  const { id, run } = known;
  const format = plan.format === 'text' ? 'id' : plan.format;
  const printing = printRun({ id, json: new Uint8Array(), ...run }, format, false, session);
  const error = await printing.then(() => undefined, factsOf);
  if (error) session.reporter.error(error);
  const state: State = error ? stateOfError(error) : isFinished(run) ? 'finished' : 'accepted';
  const startedAt = session.context.clock.now();
  const runs = [{ ...plan.subject, id, run, state, error, startedAt, durationMs: 0 }];
  return endWith(runs, plan);
}

async function watch(
  { id, run, isNew: wasTriggered }: KnownRun,
  plan: RunPlan,
  session: Session,
): Promise<CommandOutcome> {
  let received: EndedRun | undefined;
  const onEnd = (ended: EndedRun) => {
    received = ended;
  };
  const { once } = plan;
  const lost = once && lostRun(once.file.name, id);
  const view = { ...plan, wasTriggered };
  const outcome = await watchAndShow({ id, known: run, lost, onEnd }, view, session);
  const isRecorded = !wasTriggered && run;
  if (isRecorded && outcome.state === 'failed')
    session.reporter.info('Nothing was triggered; for another run, add --retry-failed.');
  // Last: a file system that hangs must not keep back the result.
  if (once && !isRecorded) {
    const { state, late } = outcome;
    if (received) await recordEnd({ event: 'ended', late, run: received }, id, once, session);
    if (state === 'lost') await recordEnd({ event: 'lost' }, id, once, session);
  }
  const runs = [{ ...outcome, ...plan.subject, id }];
  return endWith(runs, plan);
}
