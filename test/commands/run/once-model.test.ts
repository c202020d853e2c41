/** `wfr run --once` against a model of its rules: any sequence of commands, answers and ends of runs. */

import { expect, test } from 'vitest';
import { VirtualClock } from '../../helpers/clock.js';
import { effort } from '../../helpers/effort.js';
import { loseAnswer, prepareOnce, reject } from '../../helpers/once.js';
import fc from '../../helpers/properties.js';
import { aRun } from '../../helpers/service.js';

type State = 'new' | 'refused' | 'sent' | 'accepted' | 'FINISHED' | 'FAILED' | 'lost';

/** One command, and what the service does meanwhile. */
interface Step {
  answer: 'accept' | 'reject' | 'lose';
  run: 'RUNNING' | 'FINISHED' | 'FAILED' | 'forgotten';
  flags: string[];
  input: string;
}

interface Model {
  state: State;
  /** The input that was sent last. */
  input: string;
}

const FLAGS = ['--retry-failed', '--resend-unknown', '--detach'];

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    answer: fc.constantFrom('accept', 'reject', 'lose'),
    run: fc.constantFrom('RUNNING', 'FINISHED', 'FAILED', 'forgotten'),
    flags: fc.subarray(FLAGS),
    input: fc.constantFrom('a=1', 'a=1', 'a=1', 'a=2'),
  }),
  { minLength: 1, maxLength: 7 },
);

/** Returns the exit code of a step and its number of triggers, and updates the model. */
function predict(model: Model, step: Step): { exitCode: number; posts: number } {
  const { answer, run, flags, input } = step;
  const has = (flag: string) => flags.includes(flag);
  if (!['new', 'refused'].includes(model.state) && model.input !== input) return { exitCode: 2, posts: 0 };
  if (has('--retry-failed') && model.state === 'accepted' && (run === 'FINISHED' || run === 'FAILED'))
    model.state = run;
  const before = model.state;
  const isSent =
    before === 'new' ||
    before === 'refused' ||
    (before === 'sent' && has('--resend-unknown')) ||
    ((before === 'FAILED' || before === 'lost') && has('--retry-failed'));
  if (isSent) {
    model.input = input;
    model.state = { accept: 'accepted', lose: 'sent', reject: before === 'new' ? 'refused' : before }[
      answer
    ] as State;
    if (answer === 'reject') return { exitCode: 5, posts: 1 };
  }
  const posts = isSent ? 1 : 0;
  if (model.state === 'sent') return { exitCode: 6, posts };
  if (has('--detach')) return { exitCode: 0, posts };
  if (model.state === 'accepted' && run === 'RUNNING') return { exitCode: 8, posts };
  // A run that this command has seen is not lost, but unreachable.
  if (model.state === 'accepted' && run === 'forgotten' && isSent) return { exitCode: 7, posts };
  if (model.state === 'accepted') model.state = run === 'forgotten' ? 'lost' : (run as State);
  return { exitCode: { FINISHED: 0, FAILED: 1, lost: 7 }[model.state as 'lost'], posts };
}

test('run --once: any sequence of commands and faults triggers what the rules allow, with their exit codes', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { wfr, state, posts, cwd, env, path } = await prepareOnce();
      const model: Model = { state: 'new', input: '' };
      for (const step of sequence) {
        state.answers = { accept: [], reject: [reject], lose: [loseAnswer] }[step.answer];
        state.run = step.run === 'forgotten' ? undefined : aRun({ status: step.run });
        const before = posts().length;
        const expected = predict(model, step);
        const args = ['run', 'w', '--once', path, step.input, '--timeout', '3m', ...step.flags];
        const { exitCode } = await wfr(args, { cwd, env, clock: new VirtualClock() });
        expect({ exitCode, posts: posts().length - before, step }).toEqual({ ...expected, step });
      }
    }),
    { numRuns: effort(60) },
  );
});
