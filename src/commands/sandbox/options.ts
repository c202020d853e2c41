/** The flags of `wfr sandbox`, as what it is to serve. */
import { readFile } from 'node:fs/promises';
import { collectUsageErrors, UsageError } from '../../errors.js';
import type { Context } from '../../platform/context.js';
import { absolutePath } from '../../platform/files.js';
import { describeSystemError } from '../../platform/system-error.js';
import { BUILT_IN_WORKFLOWS } from '../../sandbox/built-in.js';
import { FIELD_SPELLINGS, type FieldSpelling, type SandboxOptions } from '../../sandbox/server.js';
import { DefinitionError, parseWorkflows, type Workflow } from '../../sandbox/workflow.js';

/** The flags, as they were written. */
export interface SandboxFlags {
  port?: string;
  workflows?: string;
  list?: boolean;
  workflowIdField?: string;
  strict?: boolean;
  failStep?: string;
  reject?: string;
  dropAnswer?: boolean;
  slow?: string;
}

export { FIELD_SPELLINGS };

/** It guards nothing but shows that a token is sent; being the same each time, it can stand in a script. */
const TOKEN = 'sandbox-token';

/** Throws UsageError with every complaint. */
export async function parseSandboxFlags(flags: SandboxFlags, context: Context): Promise<SandboxOptions> {
  const { workflows, factor, ...checked } = await collectUsageErrors(
    {
      workflows: async () => applyFailStep(flags.failStep, await loadWorkflows(flags.workflows, context)),
      factor: () => parseSlowFactor(flags.slow),
      reject: () => parseRejectStatus(flags.reject),
      agreement: () => assertCompatibleFlags(flags),
      spelling: () => parseSpelling(flags.workflowIdField),
      port: () => parsePort(flags.port),
    },
    'wfr help sandbox',
  );
  return {
    ...checked,
    workflows: withScaledDurations(factor, workflows),
    token: TOKEN,
    strict: flags.strict === true,
    dropAnswer: flags.dropAnswer === true,
    clock: context.clock,
  };
}

async function loadWorkflows(path: string | undefined, context: Context): Promise<readonly Workflow[]> {
  if (path === undefined) return BUILT_IN_WORKFLOWS;
  const file = absolutePath(path, context.cwd);
  try {
    return parseWorkflows(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    const isOurs = error instanceof DefinitionError || error instanceof SyntaxError;
    throw new UsageError([`${path}: ${isOurs ? error.message : describeSystemError(error)}`]);
  }
}

function applyFailStep(step: string | undefined, workflows: readonly Workflow[]): readonly Workflow[] {
  if (step === undefined) return workflows;
  const known = new Set(workflows.flatMap(({ steps }) => steps.map(({ name }) => name)));
  if (known.has(step)) return withFailingStep(step, workflows);
  throw new UsageError([
    `--fail-step ${step || '""'}: no workflow has this step; the steps are ${[...known].join(', ')}`,
  ]);
}

function parseSlowFactor(written = '1'): number {
  const factor = /^(\d+(\.\d*)?|\.\d+)$/.test(written) ? Number(written) : Number.NaN;
  if (factor >= 0.01 && factor <= 1_000) return factor;
  throw new UsageError([`--slow ${written || '""'}: is not a factor from 0.01 to 1000, such as 0.1 or 10`]);
}

function parseRejectStatus(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  if (/^[45]\d\d$/.test(written)) return Number(written);
  throw new UsageError([
    `--reject ${written || '""'}: is not a status that rejects; give one from 400 to 599, such as 503`,
  ]);
}

/** A trigger that is rejected starts no run that could fail or go unanswered. */
function assertCompatibleFlags({ reject, dropAnswer, failStep }: SandboxFlags): void {
  const others = [dropAnswer && '--drop-answer', failStep !== undefined && `--fail-step ${failStep}`];
  const contradicting = reject === undefined ? [] : others.filter((flag) => typeof flag === 'string');
  if (contradicting.length === 0) return;
  throw new UsageError(
    contradicting.map(
      (flag) => `--reject ${reject} and ${flag} exclude each other: what is rejected never runs`,
    ),
  );
}

function parseSpelling(written = 'either'): FieldSpelling {
  const spelling = FIELD_SPELLINGS.find((candidate) => candidate === written);
  if (spelling !== undefined) return spelling;
  throw new UsageError([`--workflow-id-field ${written}: choose one of ${FIELD_SPELLINGS.join(', ')}`]);
}

function parsePort(written = '0'): number {
  const port = /^\d{1,5}$/.test(written) ? Number(written) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError([`--port ${written}: is not a port; give a number from 0 to 65535`]);
}

/** The workflows with every run FAILING at `step`, where there is such a step; those without it stay as they are. */
function withFailingStep(step: string, workflows: readonly Workflow[]): Workflow[] {
  const failure = { step, message: `This step fails, as was asked for with --fail-step ${step}.` };
  return workflows.map((workflow) =>
    workflow.steps.some(({ name }) => name === step) ? { ...workflow, failure } : workflow,
  );
}

/** The workflows with all durations of their runs multiplied by `factor`. */
function withScaledDurations(factor: number, workflows: readonly Workflow[]): Workflow[] {
  return workflows.map((workflow) => ({
    ...workflow,
    pendingFor: workflow.pendingFor * factor,
    steps: workflow.steps.map(({ name, duration }) => ({ name, duration: duration * factor })),
  }));
}
