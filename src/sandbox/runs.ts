/** The runs of the sandbox; their state is computed from the elapsed time. */
import { randomUUID } from 'node:crypto';
import type { InputValues } from './read-trigger.js';
import { fillTemplate, findValue, type Workflow } from './workflow.js';

interface StartedRun {
  id: string;
  workflow: Workflow;
  values: InputValues;
  /** Monotonic milliseconds. */
  started: number;
  createdAt: string;
}

export interface SandboxClock {
  now(): number;
  monotonic(): number;
}

export class Runs {
  readonly #runs = new Map<string, StartedRun>();

  constructor(private readonly clock: SandboxClock) {}

  /** Starts a run and returns its Run object. */
  start(workflow: Workflow, values: InputValues): object {
    const fails = Object.entries(workflow.failure?.when ?? {}).every(
      ([name, value]) => JSON.stringify(findValue(name, values)) === JSON.stringify(value),
    );
    const run: StartedRun = {
      id: randomUUID(),
      workflow: fails ? workflow : { ...workflow, failure: undefined },
      values,
      started: this.clock.monotonic(),
      createdAt: new Date(this.clock.now()).toISOString(),
    };
    this.#runs.set(run.id, run);
    return this.#stateOf(run);
  }

  /** Returns the current Run object; undefined for an unknown id. */
  find(id: string): object | undefined {
    const run = this.#runs.get(id);
    return run === undefined ? undefined : this.#stateOf(run);
  }

  get size(): number {
    return this.#runs.size;
  }

  #stateOf({ id, workflow, values, started, createdAt }: StartedRun): object {
    const { steps, versionName, failure, pendingFor } = workflow;
    const elapsed = this.clock.monotonic() - started - pendingFor;
    const completed = completedSteps(workflow, elapsed);
    const run = (status: string, rest: object) => {
      return { id, versionName, status, createdAt, steps: steps.length, stepsCompleted: completed, ...rest };
    };
    if (elapsed < 0) return run('PENDING', { output: null });
    if (failure !== undefined && elapsed >= timeUntilFailure(workflow)) {
      return run('FAILED', { output: null, error: { message: failure.message, step: failure.step } });
    }
    if (completed < steps.length) return run('RUNNING', { output: null });
    return run('FINISHED', { output: fillTemplate(workflow.output, values) });
  }
}

function completedSteps({ steps, failure }: Workflow, elapsed: number): number {
  let end = 0;
  const ends = steps.map(({ duration }) => {
    end += duration;
    return end;
  });
  const completed = elapsed < 0 ? 0 : ends.filter((at) => at <= elapsed).length;
  return failure === undefined ? completed : Math.min(completed, indexOfFailure(steps, failure.step));
}

function timeUntilFailure({ steps, failure }: Workflow): number {
  const until = steps.slice(0, indexOfFailure(steps, failure?.step) + 1);
  return until.reduce((sum, { duration }) => sum + duration, 0);
}

function indexOfFailure(steps: Workflow['steps'], step: string | undefined): number {
  return steps.findIndex(({ name }) => name === step);
}
