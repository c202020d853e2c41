/** Parses the flags of `wfr sandbox` into the options of its server. */
import { readFile } from 'node:fs/promises';
import { chooseProfile } from '../../config/profile.js';
import { findDeclaredWorkflow, namedWorkflows } from '../../config/workflow.js';
import { collectUsageErrors, UsageError } from '../../errors.js';
import type { Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { absolutePath } from '../../platform/files.js';
import { describeSystemError } from '../../platform/system-error.js';
import { FIELD_SPELLINGS, type FieldSpelling, type SandboxOptions } from '../../sandbox/server.js';
import { BUILT_IN_WORKFLOWS, parseWorkflows, type Workflow } from '../../sandbox/workflow.js';
import { locateProblems } from '../../text/json/problems.js';

/** The raw flags. */
export interface SandboxFlags {
  port?: string;
  workflows?: string;
  fromProfile?: string;
  list?: boolean;
  workflowIdField?: string;
  strict?: boolean;
  failStep?: string;
  reject?: string;
  dropAnswer?: boolean;
  slow?: string;
}

export { FIELD_SPELLINGS };

/** Parses the flags. Throws UsageError with every problem. */
export async function parseSandboxFlags(flags: SandboxFlags, context: Context): Promise<SandboxOptions> {
  const checked = await collectUsageErrors(
    {
      workflows: async () => applyFailStep(flags.failStep, await loadWorkflows(flags, context)),
      slow: () => parseSlowFactor(flags.slow),
      reject: () => parseRejectStatus(flags.reject),
      compatible: () => assertCompatibleFlags(flags),
      spelling: () => parseSpelling(flags.workflowIdField),
      port: () => parsePort(flags.port),
    },
    'wfr help sandbox',
  );
  return {
    ...checked,
    token: await generateToken(),
    strict: flags.strict === true,
    dropAnswer: flags.dropAnswer === true,
    clock: context.clock,
  };
}

/** Other users of the machine can connect to the port, and do not know the token. */
async function generateToken(): Promise<string> {
  const { randomBytes } = await import('node:crypto');
  return randomBytes(24).toString('base64url');
}

async function loadWorkflows(
  { workflows: path, fromProfile }: SandboxFlags,
  context: Context,
): Promise<readonly Workflow[]> {
  if (fromProfile !== undefined) {
    if (path === undefined) return profileWorkflows(fromProfile, context);
    throw new UsageError([`--workflows ${path} and --from-profile ${fromProfile} exclude each other`]);
  }
  if (path === undefined) return BUILT_IN_WORKFLOWS;
  const file = absolutePath(path, context.cwd);
  const bytes = await readFile(file).catch((error) => {
    throw new UsageError([`${path}: ${describeSystemError(error)}`]);
  });
  let workflows: readonly Workflow[] = [];
  const problems = locateProblems(bytes, path, (definition) => {
    const parsed = parseWorkflows(definition);
    workflows = parsed.workflows;
    return parsed.problems;
  });
  if (problems.length > 0) throw new UsageError(problems);
  return workflows;
}

function applyFailStep(step: string | undefined, workflows: readonly Workflow[]): readonly Workflow[] {
  if (step === undefined) return workflows;
  const known = new Set(workflows.flatMap(({ steps }) => steps.map(({ name }) => name)));
  if (known.has(step)) return withFailingStep(step, workflows);
  throw new UsageError([
    `--fail-step ${step || '""'}: no workflow has this step; the steps are ${[...known].join(', ')}`,
  ]);
}

function parseSlowFactor(raw = '1'): number {
  const factor = /^(\d+(\.\d*)?|\.\d+)$/.test(raw) ? Number(raw) : Number.NaN;
  if (factor >= 0.01 && factor <= 1_000) return factor;
  throw new UsageError([`--slow ${raw || '""'}: must be a factor from 0.01 to 1000, such as 0.1 or 10`]);
}

function parseRejectStatus(raw: string | undefined): number | undefined {
  if (raw === undefined) return undefined;
  if (/^[45]\d\d$/.test(raw)) return Number(raw);
  throw new UsageError([`--reject ${raw || '""'}: must be a status from 400 to 599, such as 503`]);
}

/** Throws UsageError for flags about runs beside `--reject`, which starts none. */
function assertCompatibleFlags({ reject, dropAnswer, failStep }: SandboxFlags): void {
  const others = [dropAnswer && '--drop-answer', failStep !== undefined && `--fail-step ${failStep}`];
  const contradicting = reject === undefined ? [] : others.filter((flag) => typeof flag === 'string');
  if (contradicting.length === 0) return;
  throw new UsageError(
    contradicting.map(
      (flag) => `--reject ${reject} and ${flag} exclude each other: a rejected trigger starts no run`,
    ),
  );
}

function parseSpelling(raw = 'either'): FieldSpelling {
  const spelling = FIELD_SPELLINGS.find((candidate) => candidate === raw);
  if (spelling !== undefined) return spelling;
  throw new UsageError([`--workflow-id-field ${raw}: choose one of ${FIELD_SPELLINGS.join(', ')}`]);
}

function parsePort(raw = '0'): number {
  const port = /^\d{1,5}$/.test(raw) ? Number(raw) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError([`--port ${raw}: must be a port from 0 to 65535`]);
}

/** Returns the workflows with every run failing at `step`; workflows without it are unchanged. */
function withFailingStep(step: string, workflows: readonly Workflow[]): Workflow[] {
  const failure = { step, message: `The sandbox fails this step (--fail-step ${step}).` };
  return workflows.map((workflow) =>
    workflow.steps.some(({ name }) => name === step) ? { ...workflow, failure } : workflow,
  );
}

const STEPS = [
  { name: 'Read inputs', duration: 500 },
  { name: 'Write result', duration: 500 },
];

/**
 * Returns a workflow for each id of a profile, whose output has its inputs. One without declared parameters takes any
 * inputs. Throws UsageError.
 */
async function profileWorkflows(name: string, context: Context): Promise<Workflow[]> {
  const profile = await chooseProfile({ profile: name }, context, '--from-profile');
  const named = namedWorkflows(profile);
  if (named.length === 0) throw new UsageError([`--from-profile ${name}: this profile has no workflows`]);
  const ids = [...new Set(named.map(({ id }) => id))];
  return ids.map((id) => {
    const names = named.filter((workflow) => workflow.id === id).map((workflow) => workflow.name);
    const parameters = findDeclaredWorkflow(id, {}, profile)?.parameters;
    const output = [...(parameters?.values() ?? [])].map((one) => [one.name, templateOf(one)]);
    return {
      id,
      versionName: names.join(', '),
      parameters,
      steps: STEPS,
      output: Object.fromEntries(output),
    };
  });
}

/** A whole document would have to fit into memory. */
function templateOf({ name, type }: Parameter): unknown {
  if (type !== 'document') return `{{${name}}}`;
  const members = ['mediaType', 'bytes', 'sha256'];
  return Object.fromEntries(members.map((member) => [member, `{{${name}.${member}}}`]));
}
