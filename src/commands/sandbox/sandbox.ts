/** `wfr sandbox`: serves the sandbox until a signal, or while a command runs. */
import { constants } from 'node:os';
import { basename } from 'node:path';
import { InterruptedError, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { exampleCommand, optionalItems } from '../../inputs/item.js';
import type { Context } from '../../platform/context.js';
import type { ExitStatus } from '../../platform/exec.js';
import { Interruption } from '../../platform/signals.js';
import { describeSystemError } from '../../platform/system-error.js';
import { type SandboxOptions, startSandbox } from '../../sandbox/server.js';
import type { Workflow } from '../../sandbox/workflow.js';
import { pluralize } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import { parseSandboxFlags, type SandboxFlags } from './options.js';

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
  return program === undefined
    ? serve(options, profile, context)
    : runCommand(program, args, options, profile, context);
}

async function serve(options: SandboxOptions, profile: Variables, context: Context): Promise<Exit> {
  const interruption = new Interruption(context);
  const log = (line: string) => void context.stderr.write(`${sanitize(line)}\n`);
  const service = await startService({ ...options, log });
  try {
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: options.token, ...profile };
    await context.stdout.write(formatAssignments(env, context));
    await context.stderr.write(
      `Serving until Ctrl-C, for shells with these settings. ${tryText(options.workflows)}\n`,
    );
    const { signal } = interruption;
    // One that came while the settings were printed is not announced again.
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    throw signal.reason;
  } catch (error) {
    if (error instanceof InterruptedError) return error.signal;
    throw error;
  } finally {
    await service.stop();
    interruption.release();
  }
}

/** Returns how to try the sandbox: with a workflow whose command needs no file, if there is one. */
function tryText(workflows: readonly Workflow[]): string {
  const first = workflows.find(
    ({ parameters = new Map(), failure }) =>
      failure === undefined && [...parameters.values()].every(({ type }) => type !== 'document'),
  );
  const list = 'wfr sandbox --list';
  if (first === undefined) return `To list the workflows: ${list}`;
  const command = exampleCommand(first.id, first.parameters ?? new Map());
  return `To try it:\n  ${command}\nTo list the workflows: ${list}`;
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
  context: Context,
): Promise<Exit> {
  const service = await startService(options);
  const env = {
    WFR_BASE_URL: service.baseUrl,
    WFR_TOKEN: options.token,
    ...profile,
    ...(isWfr(program, args) && { WFR_SANDBOX: '1' }),
  };
  const starting = context.spawn(program, args, env);
  // Registered before the command starts, as a signal may follow its first output at once.
  const release = context.onSignal((signal) => {
    // A terminal sends Ctrl-C to the command as well; forwarding it would be a second one.
    const onTerminal = context.stdin.isTTY || context.stdout.isTerminal || context.stderr.isTerminal;
    if (signal === 'SIGINT' && onTerminal) return;
    starting.then((child) => child.kill(signal)).catch(() => {});
  });
  if (context.stderr.isTerminal && isShell(program, args)) {
    await context.stderr.write(
      `${Object.keys(env)
        .join(', ')
        .replace(
          /, ([^,]*)$/,
          ' and $1',
        )} are set here; exit ends the sandbox. ${tryText(options.workflows)}\n`,
    );
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

/** Returns whether a command is a shell for a person. */
function isShell(program: string, args: readonly string[]): boolean {
  return args.length === 0 && /^(\w*sh|powershell|cmd|nu)(\.exe)?$/i.test(basename(program));
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

function describeWorkflow(
  { id, versionName, parameters = new Map(), steps, failure }: Workflow,
  { slow = 1 }: SandboxOptions,
): string {
  const some = Object.keys(failure?.when ?? {}).length > 0 ? ', for some inputs' : '';
  const end = failure === undefined ? '' : `; fails at ${failure.step}${some}`;
  const seconds = Math.round(slow * steps.reduce((sum, { duration }) => sum + duration, 0)) / 1_000;
  const optional = optionalItems(parameters);
  return [
    `${sanitize(versionName)} (${pluralize(steps.length, 'step')}, ${seconds} s${sanitize(end)})\n`,
    `  ${exampleCommand(id, parameters)}\n`,
    ...(optional === undefined ? [] : [`  optional: ${optional}\n`]),
  ].join('');
}
