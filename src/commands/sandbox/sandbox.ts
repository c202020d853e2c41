/** `wfr sandbox`: serves the sandbox until a signal, or while a command runs. */

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { chooseProfile } from '../../config/profile.js';
import { findDeclaredWorkflow, namedWorkflows } from '../../config/workflow.js';
import { collectUsageErrors, InterruptedError, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { exampleCommand, optionalItems } from '../../inputs/item.js';
import type { Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import type { ExitStatus } from '../../platform/exec.js';
import { absolutePath } from '../../platform/files.js';
import { Interruption } from '../../platform/signals.js';
import { describeSystemError } from '../../platform/system-error.js';
import { untilAborted } from '../../platform/until-aborted.js';
import {
  FIELD_SPELLINGS,
  type FieldSpelling,
  type SandboxOptions,
  startSandbox,
} from '../../sandbox/server.js';
import { BUILT_IN_WORKFLOWS, parseWorkflows, type Workflow } from '../../sandbox/workflow.js';
import { parseJsonFile } from '../../text/json/json-file.js';
import { pluralize } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import { wrapLines } from '../../text/wrap.js';

/** Environment variables. */
type Variables = Readonly<Record<string, string>>;

/** Lists the workflows, serves until a signal, or runs a command against the sandbox. */
export async function sandbox(
  command: readonly string[],
  flags: SandboxFlags,
  context: Context,
): Promise<Exit> {
  const options = await parseSandboxFlags(flags, context);
  if (flags.list === true) {
    await context.stdout.write(options.workflows.map((one) => describeWorkflow(one, options)).join('\n'));
    return ExitCode.ok;
  }
  const [program, ...args] = command;
  // Without it, the names of the workflows would be those of another profile.
  const profile = flags.fromProfile === undefined ? {} : { WFR_PROFILE: flags.fromProfile };
  const examples = examplesText(options.workflows, flags, context);
  return program === undefined
    ? serve(options, profile, examples, context)
    : runCommand(program, args, options, profile, examples, context);
}

async function serve(
  options: SandboxOptions,
  profile: Variables,
  examples: string,
  context: Context,
): Promise<Exit> {
  const interruption = new Interruption(context);
  const log = (line: string) => void context.stderr.write(`${sanitize(line)}\n`);
  const service = await startService({ ...options, log });
  try {
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: options.token, ...profile };
    await writeLine(`Sandbox at ${service.baseUrl} until Ctrl-C. Settings for another shell:`, context);
    await context.stdout.write(formatAssignments(env, context));
    await context.stderr.write(`To try it there:\n${examples}`);
    return await untilAborted(new Promise<never>(() => {}), interruption.signal);
  } catch (error) {
    if (error instanceof InterruptedError) return error.signal;
    throw error;
  } finally {
    await service.stop();
    interruption.release();
  }
}

/** Returns commands to try the sandbox with: one that needs no file and soon finishes, if there is one, and the list. */
function examplesText(
  workflows: readonly Workflow[],
  { workflows: file, fromProfile }: SandboxFlags,
  { platform }: Context,
): string {
  const [quickest] = workflows
    .filter(
      ({ parameters = new Map(), failure }) =>
        failure === undefined && [...parameters.values()].every(({ type }) => type !== 'document'),
    )
    .sort((one, other) => totalDuration(one) - totalDuration(other));
  const source = [
    ...(file === undefined ? [] : ['--workflows', file]),
    ...(fromProfile === undefined ? [] : ['--from-profile', fromProfile]),
  ];
  const commands = [
    ...(quickest === undefined ? [] : [exampleCommand(quickest.id, quickest.parameters ?? new Map())]),
    shellCommand(['wfr', 'sandbox', ...source, '--list'], platform),
  ];
  return commands.map((command) => `  ${command}\n`).join('');
}

function writeLine(text: string, { stderr }: Context): Promise<void> {
  const lines = wrapLines([text], stderr.isTerminal ? stderr.columns : 0);
  return stderr.write(`${lines.join('\n')}\n`);
}

/** Milliseconds. */
function totalDuration({ steps }: Workflow): number {
  return steps.reduce((sum, { duration }) => sum + duration, 0);
}

/** Formats the lines that set variables in a shell; on Windows, those of PowerShell and then those of cmd. */
function formatAssignments(env: Readonly<Record<string, string>>, { platform }: Context): string {
  const lines = (format: (name: string, value: string) => string) =>
    Object.entries(env)
      .map(([name, value]) => `${format(name, value)}\n`)
      .join('');
  if (platform !== 'win32') return lines((name, value) => `export ${name}=${shellCommand([value])}`);
  return (
    lines((name, value) => `$env:${name} = '${value.replaceAll("'", "''")}'`) +
    lines((name, value) => `set "${name}=${value}"`)
  );
}

async function runCommand(
  program: string,
  args: readonly string[],
  options: SandboxOptions,
  profile: Variables,
  examples: string,
  context: Context,
): Promise<Exit> {
  const service = await startService(options);
  const settings = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: options.token, ...profile };
  const env = { ...settings, ...(isWfr(program, args) && { WFR_SANDBOX: '1' }) };
  const starting = context.spawn(program, args, env);
  // Registered before the command starts, as a signal may follow its first output at once.
  const release = context.onSignal((signal) => {
    // A terminal sends Ctrl-C to the command as well; forwarding it would be a second one.
    const onTerminal = context.stdin.isTTY || context.stdout.isTerminal || context.stderr.isTerminal;
    if (signal === 'SIGINT' && onTerminal) return;
    starting.then((child) => child.kill(signal)).catch(() => {});
  });
  if (context.stderr.isTerminal && isShell(program, args)) {
    await writeLine(`Sandbox at ${service.baseUrl} until this shell exits. To try it:`, context);
    await context.stderr.write(examples);
  }
  try {
    const child = await starting.catch((error) => {
      const name = shellCommand([program], context.platform);
      throw new UsageError([`${name} cannot be started: ${describeSystemError(error)}`]);
    });
    return toExit(await child.exited);
  } finally {
    release();
    await service.stop();
  }
}

/** Returns whether a command is a shell for a person, such as `bash --norc`: it runs no script. */
function isShell(program: string, args: readonly string[]): boolean {
  return (
    args.every((arg) => arg.startsWith('-')) && /^(\w*sh|powershell|cmd|nu)(\.exe)?$/i.test(basename(program))
  );
}

/** Returns whether a command is wfr: then no other one can continue with its runs, unlike in a script or a shell. */
function isWfr(program: string, [script = '']: readonly string[]): boolean {
  return [program, script].some((path) => /^wfr(\.js|\.cmd|\.exe)?$/i.test(basename(path)));
}

/** Returns signals that wfr raises again; any other, such as SIGPIPE, as 128 + its number, like a shell. */
function toExit(end: ExitStatus): Exit {
  if (typeof end === 'number') return end;
  return end === 'SIGINT' || end === 'SIGTERM' || end === 'SIGHUP' ? end : 128 + constants.signals[end];
}

async function startService(options: SandboxOptions) {
  try {
    return await startSandbox(options);
  } catch (error) {
    throw new UsageError([
      `--port ${options.port}: ${describeSystemError(error)}; use another port, or omit --port`,
    ]);
  }
}

function describeWorkflow(workflow: Workflow, { slow = 1 }: SandboxOptions): string {
  const { id, versionName, parameters = new Map(), steps, failure } = workflow;
  const some = Object.keys(failure?.when ?? {}).length > 0 ? ', for some inputs' : '';
  const end = failure === undefined ? '' : `; fails at ${failure.step}${some}`;
  const seconds = Math.round(slow * totalDuration(workflow)) / 1_000;
  const optional = optionalItems(parameters);
  return [
    `${sanitize(versionName)} (${pluralize(steps.length, 'step')}, ${seconds} s${sanitize(end)})\n`,
    `  ${exampleCommand(id, parameters)}\n`,
    ...(optional === undefined ? [] : [`  optional: ${optional}\n`]),
  ].join('');
}

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

/** Parses the flags. Throws UsageError with every problem. */
export async function parseSandboxFlags(flags: SandboxFlags, context: Context): Promise<SandboxOptions> {
  const checked = await collectUsageErrors(
    {
      workflows: async () => withFailingStep(flags.failStep, await loadWorkflows(flags, context)),
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
    // Other users of the machine can connect to the port, and do not know the token.
    token: randomBytes(24).toString('base64url'),
    strict: flags.strict === true,
    dropAnswer: flags.dropAnswer === true,
    clock: context.clock,
  };
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
  const { value, problems } = parseJsonFile(bytes, path, (definition) => parseWorkflows(definition).problems);
  if (problems.length > 0) throw new UsageError(problems);
  return parseWorkflows(value).workflows;
}

/** Returns the workflows with every run failing at `step`; workflows without it are unchanged. Throws UsageError. */
function withFailingStep(step: string | undefined, workflows: readonly Workflow[]): readonly Workflow[] {
  if (step === undefined) return workflows;
  const known = new Set(workflows.flatMap(({ steps }) => steps.map(({ name }) => name)));
  if (!known.has(step))
    throw new UsageError([
      `--fail-step ${step || '""'}: no workflow has this step; the steps are ${[...known].join(', ')}`,
    ]);
  const failure = { step, message: `The sandbox fails this step (--fail-step ${step}).` };
  return workflows.map((workflow) =>
    workflow.steps.some(({ name }) => name === step) ? { ...workflow, failure } : workflow,
  );
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
  const problems = others.flatMap((flag) =>
    flag ? [`--reject ${reject} and ${flag} exclude each other: a rejected trigger starts no run`] : [],
  );
  if (reject !== undefined && problems.length > 0) throw new UsageError(problems);
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
