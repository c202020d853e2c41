/** Workflows made to do what a script must survive. */
import type { Workflow } from './workflow.js';

/** The workflows with every run FAILING at `step`, where there is such a step; those without it stay as they are. */
export function failingAt(step: string, workflows: readonly Workflow[]): Workflow[] {
  const failure = { step, message: `This step fails, as was asked for with --fail-step ${step}.` };
  return workflows.map((workflow) =>
    workflow.steps.some(({ name }) => name === step) ? { ...workflow, failure } : workflow,
  );
}

/** The workflows with all durations of their runs multiplied by `factor`. */
export function slowedBy(factor: number, workflows: readonly Workflow[]): Workflow[] {
  return workflows.map((workflow) => ({
    ...workflow,
    pendingFor: workflow.pendingFor * factor,
    steps: workflow.steps.map(({ name, duration }) => ({ name, duration: duration * factor })),
  }));
}
