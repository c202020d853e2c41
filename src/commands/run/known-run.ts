/** A run whose id is known: printed as soon as it is, before anything else can fail. */
import { basename } from 'node:path';
import { WfrError } from '../../errors.js';
import type { Created } from '../../service/create-run.js';
import type { EndedRun, Run } from '../../service/run.js';
import { resumeCommands } from '../shared/print-outcome.js';
import type { Session } from '../shared/session.js';
import type { RunPlan } from './plan.js';

/** Records how a run ended, for later commands. Never throws. */
export type EndRecorder = (end: { event: 'ended'; run: EndedRun } | { event: 'lost' }) => Promise<void>;

export interface KnownRun {
  id: string;
  /** The response to this command's trigger; undefined for a run of an earlier command. */
  accepted: Run | undefined;
  /** The end of the run, if an earlier command has recorded it. */
  ended?: Run | undefined;
  recordEnd?: EndRecorder;
}

/** Returns the error of a run that is recorded in `file` and that the service no longer knows. */
export function lostRun(file: string, id: string): WfrError {
  return new WfrError('unreachable', [`the service no longer knows run ${id} (404), recorded in ${file}`], {
    hints: ['Check the base URL and the service. The same command with --retry-failed triggers another run.'],
    isLost: true,
  });
}

/** Prints the id of a run that was just accepted, and records it in the history. */
export function announceAccepted(
  { run, variant, variantsTried }: Created,
  plan: RunPlan,
  { reporter, history, context }: Session,
): KnownRun {
  context.secrets.keep(run.id);
  // With --detach, the id is on stdout next.
  const isIdOnTerminal = plan.detached && context.stdout.isTerminal;
  reporter.accepted(run, resumeCommands([run.id], plan.settings, plan.documents).watch, isIdOnTerminal);
  reporter.fieldAccepted(variant, variantsTried);
  history.recordTrigger(pastRun(run, plan));
  return { id: run.id, accepted: run };
}

/** Returns the history's record of the run, which @last refers to. */
function pastRun({ id, status, versionName: version }: Run, { subject, inputFiles, settings }: RunPlan) {
  const { workflowId: workflow, ...described } = subject;
  const label = inputFiles.map((path) => basename(path)).join(', ');
  return { ...described, id, workflow, baseUrl: settings.baseUrl.href, status, label, version };
}
