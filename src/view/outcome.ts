/** How a run or a row of a batch ended, in one word: the same on the terminal, in every report and in the documentation. */
import { type Exit, ExitCode } from '../exit-code.js';
import type { Paint, Style } from './style.js';

/** Every outcome, in the order in which they are listed. */
export const OUTCOMES = [
  'finished',
  'accepted',
  'failed',
  'running',
  'rejected',
  'unauthorized',
  'invalid',
  'unreachable',
  'unknown',
  'lost',
  'not sent',
  'no value',
  'not written',
  'interrupted',
  'internal error',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** How good an outcome is: succeeded, still open, uncertain or not triggered, failed. */
export const TONES = ['good', 'open', 'doubt', 'bad'] as const;
export type Tone = (typeof TONES)[number];

const TONE_BY_OUTCOME: Partial<Record<Outcome, Tone>> = {
  finished: 'good',
  accepted: 'open',
  running: 'open',
  failed: 'bad',
};

export function toneOf(outcome: Outcome): Tone {
  return TONE_BY_OUTCOME[outcome] ?? 'doubt';
}

/** Returns the color of an outcome on a terminal. */
export function paintOf(outcome: Outcome, style: Style): Paint {
  switch (toneOf(outcome)) {
    case 'good':
      return style.success;
    case 'bad':
      return style.error;
    case 'doubt':
      return outcome === 'not sent' ? style.dim : style.warning;
    case 'open':
      return (text) => text;
  }
}

const OUTCOME_BY_EXIT: ReadonlyMap<Exit, Outcome> = new Map([
  [ExitCode.ok, 'finished'],
  [ExitCode.runFailed, 'failed'],
  [ExitCode.usage, 'invalid'],
  [ExitCode.unauthorized, 'unauthorized'],
  [ExitCode.rejected, 'rejected'],
  [ExitCode.unknownOutcome, 'unknown'],
  [ExitCode.unreachable, 'unreachable'],
  [ExitCode.stillRunning, 'running'],
  [ExitCode.noSuchValue, 'no value'],
  [ExitCode.outputNotWritten, 'not written'],
]);

/** Returns the outcome that an exit stands for. */
export function outcomeOfExit(exit: Exit): Outcome {
  if (typeof exit === 'string') return 'interrupted';
  return OUTCOME_BY_EXIT.get(exit) ?? 'internal error';
}
