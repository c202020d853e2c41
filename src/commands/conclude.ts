/** How the observation of a run ended: the closing words, what belongs on stdout, and the exit. */
import { formatDuration } from '../duration.js';
import { InterruptedError, NoSuchRunError } from '../errors.js';
import { type Exit, ExitCode, exitCodeOfStatus, exitOfError } from '../exit-code.js';
import { type EndedRun, hasEnded, type Run } from '../service/run.js';
import type { Conversation } from '../view/conversation.js';
import { stepsDone, totalSteps } from '../view/progress.js';
import { safeBlock, safeLine } from '../view/safe.js';
import type { Outcome } from './observe.js';
import type { WatchedResults } from './results.js';

/** Says how it ended, prints the last of it on stdout, and gives the exit. `resume` is the command that goes on. */
export async function conclude(
  outcome: Outcome,
  resume: string,
  results: WatchedResults,
  conversation: Conversation,
): Promise<Exit> {
  const { run, error } = outcome;
  const unwritten = run === undefined ? undefined : await failureOf(results.closed(run));
  const failure = error ?? unwritten;
  if (failure !== undefined) return concludeError(outcome, failure, resume, conversation);
  if (run === undefined || !hasEnded(run)) {
    const status = safeLine(run?.status ?? 'not seen');
    const steps = run === undefined ? '' : stepsText(run);
    const progress = steps === '' ? status : `${status} (${steps})`;
    conversation.say(
      `Still ${progress} after ${formatDuration(outcome.took)}; run ${safeLine(outcome.id)} goes on.`,
    );
    conversation.say(`To watch it: ${resume}`);
    return ExitCode.stillRunning;
  }
  concludeEnded(run, outcome, conversation);
  return exitCodeOfStatus(run.status);
}

function concludeEnded(run: EndedRun, { accepted, took }: Outcome, conversation: Conversation): void {
  const { style } = conversation;
  // Only of a run that we triggered do we know how long it took.
  const duration = accepted ? ` in ${formatDuration(took)}` : '';
  const steps = stepsText(run);
  if (run.status === 'FINISHED') {
    conversation.tell(
      `${style.good('Finished')}${duration}${steps && `, ${steps}`}: run ${safeLine(run.id)}`,
    );
    return;
  }
  const step = run.error?.step;
  const place = step === undefined ? '' : ` at step ${safeLine(step)}`;
  conversation.say(
    `${style.bad('Failed')}${place}${duration}${steps && `, ${steps} completed`}: run ${safeLine(run.id)}`,
  );
  conversation.say(run.error?.message ? safeBlock(run.error.message) : '(the service gave no message)');
}

function concludeError(
  { id, run }: Outcome,
  error: unknown,
  resume: string,
  conversation: Conversation,
): Exit {
  const shownId = safeLine(id);
  if (error instanceof InterruptedError) {
    conversation.say(`Interrupted; run ${shownId} ${stateOf(run)}.`);
  } else if (!conversation.error(error)) {
    throw error;
  } else if (error instanceof NoSuchRunError) {
    return exitOfError(error);
  } else {
    conversation.say(
      run !== undefined && hasEnded(run) ? `Run ${shownId} has ended.` : `Run ${shownId} may go on.`,
    );
  }
  conversation.say(`To watch it: ${resume}`);
  return exitOfError(error);
}

function stateOf(run: Run | undefined): string {
  if (run === undefined) return 'was not seen, and may go on';
  return hasEnded(run) ? 'has ended' : 'goes on';
}

async function failureOf(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}

function stepsText(run: Run): string {
  const total = totalSteps(run);
  return total === undefined ? '' : `${stepsDone(run)} of ${total} steps`;
}
