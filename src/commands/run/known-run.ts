/** A run whose id is known: printed as soon as it is, before anything else can fail. */
import { WfrError } from '../../errors.js';
import type { InputDigests } from '../../inputs/file-digests.js';
import { factsOf } from '../../outcome/describe-error.js';
import type { Log } from '../../runs/log/log.js';
import { ONCE_ROW } from '../../runs/log/once-file.js';
import { createRun } from '../../service/create-run.js';
import type { Run } from '../../service/run.js';
import { watchCommand } from '../shared/print-outcome.js';
import type { Session } from '../shared/session.js';
import type { RunPlan } from './plan.js';

export interface KnownRun {
  id: string;
  /** The response to the trigger, or the end that an earlier command has recorded. */
  run?: Run | undefined;
  /** Whether this command triggered it. */
  isNew: boolean;
}

/** Returns the error of a run that is recorded in `file` and that the service no longer knows. */
export function lostRun(file: string, id: string): WfrError {
  return new WfrError('unreachable', [`the service no longer knows run ${id} (404), recorded in ${file}`], {
    hints: ['Check the base URL and the service. The same command with --retry-failed triggers another run.'],
    isLost: true,
  });
}

/**
 * Triggers the run of a log of one row, prints its id before anything else can fail, and records it in the history.
 * `beforeSent` returns what the log keeps of the inputs. Throws as createRun.
 */
export async function triggerRun(
  log: Log,
  plan: RunPlan,
  { service, interruption, reporter, history, context }: Session,
  beforeSent?: () => Promise<InputDigests>,
): Promise<KnownRun> {
  const { trigger, subject, label, settings } = plan;
  const { workflowId: workflow, inputs } = subject;
  const past = { workflow, inputs, baseUrl: settings.baseUrl.href, label };
  const record = log.ofRow(ONCE_ROW, context.secrets, beforeSent);
  const triggering = createRun(trigger, service, interruption, record).catch((error) => {
    // The file of --once says so itself, until it is settled.
    if (factsOf(error).runMayExist && !plan.once)
      history.recordTrigger({ ...past, id: crypto.randomUUID(), rows: { unknown: 1 } });
    throw error;
  });
  const { run, variant, variantsTried } = await triggering;
  const { id, status, versionName: version } = run;
  context.secrets.keep(id);
  // With --detach, the id is on stdout next.
  if (!plan.detached || !context.stdout.isTerminal) reporter.run(id, version);
  reporter.resumable(watchCommand([id], plan), !plan.detached);
  const accepted = `accepted with --workflow-id-field ${variant}`;
  if (variantsTried === 1) reporter.debug(accepted);
  else reporter.info(`${accepted}; set this flag to send one request instead of ${variantsTried}`);
  history.recordTrigger({ ...past, id, status, version });
  return { id, run, isNew: true };
}
