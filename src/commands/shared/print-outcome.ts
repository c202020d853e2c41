/** How the observation of a run ended: the closing words, what belongs on stdout, and the exit. */
import { formatDuration } from '../../text/duration.js';
import { InterruptedError, NoSuchRunError } from '../../errors.js';
import { type Exit, ExitCode, exitCodeOfStatus, exitOfError } from '../../exit-code.js';
import { UnsavedDocumentError } from '../../local-errors.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { hasEnded, type Run } from '../../service/run.js';
import type { Conversation } from '../../view/reporter.js';
import { errorText } from '../../view/errors/describe-error.js';
import { stepsDone, totalSteps } from '../../view/progress/run-progress.js';
import { safeBlock, safeLine } from '../../text/sanitize.js';
import type { Outcome } from './watch-run.js';
import type { WatchedResults } from './print-run.js';

/**
 * Says how it ended, prints the last of it on stdout, and gives what the run came to. `commands` are those to go on
 * with; without them, nothing is said of going on, nor of an interruption: the caller does so for all of its runs. Never
 * throws.
 */
export async function conclude(
  outcome: Outcome,
  commands: NextCommands | undefined,
  results: WatchedResults,
  conversation: Conversation,
): Promise<ReportedRun> {
  const { id, run, error, startedAt: started, took: duration } = outcome;
  const unwritten = run === undefined ? undefined : await failureOf(results.closed(run));
  const failure = error ?? unwritten;
  const isHeld = run !== undefined && unwritten === undefined && results.holdsOutput(run);
  const exit =
    failure === undefined
      ? concludeSeen(outcome, commands, conversation)
      : await concludeError(outcome, failure, commands, isHeld, conversation);
  const words = failure === undefined ? undefined : errorText(failure);
  return { id, workflowId: undefined, run, exit, started, duration, error: words };
}

function concludeSeen(
  outcome: Outcome,
  commands: NextCommands | undefined,
  conversation: Conversation,
): Exit {
  const { id, run, took } = outcome;
  if (run !== undefined && hasEnded(run)) {
    if (run.status === 'FINISHED') concludeFinished(run, outcome, conversation);
    else concludeFailed(run, outcome, commands, conversation);
    return exitCodeOfStatus(run.status);
  }
  const status = safeLine(run?.status ?? 'not seen');
  const steps = run === undefined ? '' : stepsText(run);
  const progress = steps === '' ? status : `${status} (${steps})`;
  conversation.block([`Still ${progress} after ${formatDuration(took)}; run ${safeLine(id)} goes on.`]);
  if (commands !== undefined) conversation.say(`To watch it: ${commands.watch}`);
  return ExitCode.stillRunning;
}

/** Commands that go on with a run, ready to be pasted into a shell. */
export interface NextCommands {
  watch: string;
  status: string;
}

function concludeFinished(run: Run, outcome: Outcome, conversation: Conversation): void {
  if (conversation.presentation.quiet) return;
  const line = `Finished: run ${safeLine(run.id)}${facts(run, outcome, '')}`;
  conversation.block([line], 'Finished', conversation.style.good);
}

function concludeFailed(
  run: Run,
  outcome: Outcome,
  commands: NextCommands | undefined,
  conversation: Conversation,
): void {
  const { message, step } = run.error ?? {};
  const lines = [
    step === undefined ? 'Failed' : `Failed at step ${safeLine(step)}`,
    ...(message ? safeBlock(message).split('\n') : ['(the service gave no message)']),
    `Run ${safeLine(run.id)}${facts(run, outcome, ' completed')}`,
  ];
  conversation.block(lines, 'Failed', conversation.style.bad);
  if (commands !== undefined) conversation.tell(conversation.style.dim(`To look again: ${commands.status}`));
}

/** `, 4 of 4 steps in 12s, version 3`: what is known of it. */
function facts(run: Run, { accepted, wasUnderWay, took }: Outcome, completed: string): string {
  const steps = stepsText(run);
  // Only of a run that we triggered do we know how long it took.
  const duration = accepted ? `in ${formatDuration(took)}` : '';
  const work = [steps && `${steps}${completed}`, duration].filter(Boolean).join(' ');
  const watched = wasUnderWay && !accepted ? `watched for ${formatDuration(took)}` : '';
  const version = run.versionName === undefined ? '' : `version ${safeLine(run.versionName)}`;
  return [work, watched, version]
    .filter(Boolean)
    .map((fact) => `, ${fact}`)
    .join('');
}

async function concludeError(
  { id, run }: Outcome,
  error: unknown,
  commands: NextCommands | undefined,
  isHeld: boolean,
  conversation: Conversation,
): Promise<Exit> {
  const shownId = safeLine(id);
  if (error instanceof InterruptedError) {
    if (commands !== undefined) conversation.say(`Interrupted; run ${shownId} ${stateOf(run)}.`);
  } else {
    if (!conversation.error(error)) await sayDefect(error, conversation);
    if (error instanceof NoSuchRunError) return exitOfError(error);
    const isUnsaved = error instanceof UnsavedDocumentError;
    const held = isUnsaved && isHeld ? '; the output on stdout holds its documents' : '';
    conversation.say(
      run !== undefined && hasEnded(run) ? `Run ${shownId} has ended${held}.` : `Run ${shownId} may go on.`,
    );
  }
  if (commands !== undefined) conversation.say(`To watch it: ${commands.watch}`);
  return exitOfError(error);
}

async function sayDefect(error: unknown, { output }: Conversation): Promise<void> {
  const { sayFailure } = await import('../../view/errors/print-error.js');
  await sayFailure(error, output);
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
