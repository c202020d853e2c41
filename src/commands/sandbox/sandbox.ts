/** `wfr sandbox`: serves the sandbox until a signal, or while a command runs. */

import { randomBytes } from 'node:crypto';
import { existsSync, promises } from 'node:fs';
import { constants } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { chooseProfile } from '../../config/profile.js';
import { findDeclaredWorkflow, namedWorkflows } from '../../config/workflow.js';
import { collectUsageErrors, exclusive, throwProblems, UsageError, unknownName } from '../../errors.js';
import { type Exit, ExitCode, SIGNAL_EXIT_CODES } from '../../exit-code.js';
import { exampleItems } from '../../inputs/item.js';
import type { Context } from '../../platform/context.js';
import { absolutePath, shownPath } from '../../platform/files.js';
import { describeSystemError, throwAsUsageError } from '../../platform/system-error.js';
import { startSandbox } from '../../sandbox/server.js';
import {
  BUILT_IN_WORKFLOWS,
  checkWorkflows,
  echoWorkflow,
  readWorkflows,
  type Workflow,
} from '../../sandbox/workflow.js';
import { parseJsonFile } from '../../text/json/json-file.js';
import { formatDuration, formatIso } from '../../text/quantity.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';
import { shellCommand, toArgs } from '../../text/shell-quote.js';
import { openStyle, type Paint, PLAIN, stepLines } from '../../view/presentation.js';
import { parseNumber } from '../shared/output-flags.js';

/** The raw flags. */
export interface SandboxFlags {
  port?: string;
  workflows?: string;
  fromProfile?: string;
  list?: boolean;
  failStep?: string;
  reject?: string;
  dropAnswer?: boolean;
  slow?: string;
  color?: string;
}

/** Workflows that are shown to try at most. */
const MAX_EXAMPLES = 2;

const ENDED = 'The sandbox has ended, and so have its runs.';

/** What a command needs to use the sandbox. */
type Settings = Readonly<Record<'WFR_BASE_URL' | 'WFR_TOKEN', string>>;

/** Lists the workflows, serves until a signal, or runs a command against the sandbox. */
export async function execute(
  command: readonly string[],
  flags: SandboxFlags,
  context: Context,
): Promise<Exit> {
  const options = await parseSandboxFlags(flags, context);
  const { workflows, port } = options;
  const { stdout, stderr, platform, clock } = context;
  const output = flags.list ? stdout : stderr;
  const style = await openStyle(flags.color, context, output);
  const { bold } = style;
  const document = exampleDocument(context);
  const described = workflows.map((workflow) => describeWorkflow(workflow, options.slow, document, bold));
  const { workflows: file, fromProfile, failStep, slow, reject, dropAnswer } = flags;
  /** Returns the command of a sandbox whose workflows do the same. */
  const own = (...args: string[]) => {
    const chosen = toArgs({ workflows: file, fromProfile, failStep, slow });
    return shellCommand(['wfr', 'sandbox', ...chosen, ...args], platform);
  };
  if (flags.list) {
    await output.write(described.join('\n'));
    const step = { text: 'They run in', command: own('--', 'bash') };
    const lines = stepLines([step], PLAIN, stderr.columns);
    if (output.isTerminal) await stderr.write(`\n${lines.join('\n')}\n`);
    return ExitCode.ok;
  }
  const [program, ...args] = command;
  // Other users of the machine can connect to the port, and do not know the token.
  const token = randomBytes(24).toString('base64url');
  const log = (line: string) => {
    const time = formatIso(clock.now()).slice(11, 19);
    const text = sanitizeLines(line)
      .join('\n  ')
      .replace(/^[45]\d\d|FAILED$/m, (status) => style.bad(status));
    void writeLines(`${time}Z ${text}`);
  };
  const served = { ...options, dropAnswer, token, clock, log: program === undefined ? log : undefined };
  const service = await startSandbox(served).catch((error) => {
    throw new UsageError(`--port ${port}: ${describeSystemError(error)}; use another port, or omit --port`);
  });
  const settings = {
    WFR_BASE_URL: service.baseUrl,
    WFR_TOKEN: token,
    // Without it, the names of the workflows would be those of another profile.
    ...(fromProfile !== undefined && { WFR_PROFILE: fromProfile }),
  };
  const forced = [
    failStep && `runs fail at step ${sanitize(failStep)}`,
    slow && `runs take ${slow} times as long`,
    reject && `triggers are rejected with ${reject}`,
    dropAnswer && 'responses to triggers are dropped',
  ].filter(Boolean);
  // Otherwise, the examples seem to be broken.
  const notice = forced.length === 0 ? '' : `Forced: ${forced.join('; ')}.\n`;
  /** Where the sandbox is, before what ends it. */
  const intro = `${notice}Sandbox at ${bold(service.baseUrl)} until `;
  const shown = described.slice(0, MAX_EXAMPLES).join('\n');
  const more = workflows.length > MAX_EXAMPLES ? `\nAll workflows: ${bold(own('--list'))}\n` : '';
  const examples = `${shown}${more}\n`;
  try {
    return program === undefined ? await serve() : await runProgram(program);
  } finally {
    await service.stop();
  }

  async function serve(): Promise<Exit> {
    let release = () => {};
    const ended = new Promise<Exit>((resolve) => {
      release = context.onSignal(resolve);
    });
    await writeLines(`${intro}Ctrl-C.`);
    await stderr.write('\nSettings for another shell:\n');
    await stdout.write(formatAssignments(settings, context));
    await stderr.write(`\nTo try it there:\n\n${examples}`);
    const end = await ended.finally(release);
    // After the ^C that a terminal echoes.
    if (stderr.isTerminal) await writeLines(`\n${ENDED}`);
    return end;
  }

  async function runProgram(program: string): Promise<Exit> {
    const isShown = stderr.isTerminal && isShell(program, args);
    if (isShown) {
      await writeLines(`${intro}this shell exits. To try it:`);
      await stderr.write(`\n${examples}`);
    }
    const env = { ...settings, ...(isWfr(program, args) && { WFR_SANDBOX: '1' }) };
    const starting = context.spawn(program, args, env);
    // Registered before the command starts, as a signal may follow its first output at once.
    const release = context.onSignal((signal) => {
      // A terminal sends Ctrl-C to the command as well; forwarding it would be a second one.
      const onTerminal = context.stdin.isTTY || stdout.isTerminal || stderr.isTerminal;
      if (signal === 'SIGINT' && onTerminal) return;
      starting.then((child) => child.kill(signal)).catch(() => {});
    });
    try {
      const name = shellCommand([program], platform);
      const child = await starting.catch(throwAsUsageError(`the program ${name} cannot be started`));
      const end = await child.exited;
      if (isShown) await writeLines(ENDED);
      // Another signal as a shell reports it.
      return typeof end === 'number' || end in SIGNAL_EXIT_CODES
        ? (end as Exit)
        : 128 + constants.signals[end];
    } finally {
      release();
    }
  }

  function writeLines(text: string): Promise<void> {
    const lines = stderr.wrap(text.split('\n'));
    return stderr.write(`${lines.join('\n')}\n`);
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

/** Formats the lines that set variables in a shell; on Windows, those of PowerShell and then those of cmd. */
function formatAssignments(settings: Settings, { platform }: Context): string {
  const shells: ((name: string, value: string) => string)[] =
    platform === 'win32'
      ? [
          (name, value) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
          (name, value) => `set "${name}=${value}"`,
        ]
      : [(name, value) => `export ${name}=${shellCommand([value])}`];
  const lines = shells.flatMap((format) => Object.entries(settings).map((setting) => format(...setting)));
  return `${lines.join('\n')}\n`;
}

/** Returns the path of the document that wfr's clone and package have, and an executable has not. */
function exampleDocument({ cwd, docs }: Context): string {
  const path = join(docs, '../examples/invoice.pdf');
  return existsSync(resolve(cwd || '/', path)) ? shownPath(path, cwd) : 'your.pdf';
}

/** Returns short lines, because commands are copied whole from narrow windows. */
function describeWorkflow(
  { id, versionName, steps, parameters = new Map(), failure }: Workflow,
  slow: number,
  document: string,
  bold: Paint,
): string {
  const ms = steps.reduce((sum, { duration }) => sum + duration, 0) * slow;
  const command = [shellCommand(['wfr', 'run', id]), exampleItems(parameters, false, document)];
  const optional = exampleItems(parameters, true, document);
  const facts = [
    // One that always fails ends earlier.
    (!failure || failure.when) && formatDuration(ms),
    failure && `fails${failure.when ? ' for some inputs' : ''} at ${sanitize(failure.step)}`,
  ];
  const lines = [
    `${sanitize(versionName)} (${facts.filter(Boolean).join(', ')})`,
    `  ${bold(command.join(' ').trimEnd())}`,
    optional && `  optional: ${optional}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
}

/** Parses the flags. Throws UsageError with every problem. */
function parseSandboxFlags(flags: SandboxFlags, context: Context) {
  const { workflows: path, fromProfile, failStep: step, slow = '1', reject, port = '0', dropAnswer } = flags;
  return collectUsageErrors(
    {
      workflows: async () => withFailingStep(await loadWorkflows()),
      slow: () => parseNumber('--slow', slow, [0.01, 1_000], 'a factor', /^(\d+\.?\d*|\.\d+)$/),
      reject: () =>
        reject === undefined ? undefined : parseNumber('--reject', reject, [400, 599], 'a status'),
      alone: () => {
        if (reject !== undefined && (dropAnswer || step !== undefined))
          throw new UsageError('--reject starts no run: it excludes --drop-answer and --fail-step');
      },
      port: () => parseNumber('--port', port, [0, 65_535], 'a port'),
    },
    'wfr help sandbox',
  );

  /** Loads the workflows that the flags choose, or the built-in ones. Throws UsageError. */
  async function loadWorkflows(): Promise<readonly Workflow[]> {
    if (fromProfile !== undefined) {
      if (path === undefined) return profileWorkflows(fromProfile);
      throw exclusive(`--workflows ${path}`, `--from-profile ${fromProfile}`);
    }
    if (path === undefined) return BUILT_IN_WORKFLOWS;
    const file = absolutePath(path, context.cwd);
    const bytes = await promises.readFile(file).catch(throwAsUsageError(path));
    const { value, problems } = parseJsonFile(bytes, path, checkWorkflows);
    throwProblems(problems);
    return readWorkflows(value);
  }

  /** Returns the workflows with every run failing at the step; workflows without it are unchanged. Throws UsageError. */
  function withFailingStep(workflows: readonly Workflow[]): readonly Workflow[] {
    if (step === undefined) return workflows;
    // In quotation marks, where a name with a space ends can be seen.
    const quoted = JSON.stringify(step);
    const known = workflows.flatMap(({ steps }) => steps.map(({ name }) => JSON.stringify(name)));
    if (!known.includes(quoted))
      throw unknownName(`--fail-step ${quoted}: no workflow has this step; `, quoted, [...new Set(known)]);
    const failure = { step, message: `The sandbox fails this step (--fail-step ${step}).` };
    return workflows.map((workflow) =>
      workflow.steps.some(({ name }) => name === step) ? { ...workflow, failure } : workflow,
    );
  }

  /**
   * Returns a workflow for each id of a profile, whose output has its inputs. One without declared parameters takes any
   * inputs. Throws UsageError.
   */
  async function profileWorkflows(profileName: string): Promise<Workflow[]> {
    const profile = await chooseProfile({ profile: profileName }, context, '--from-profile');
    const named = namedWorkflows(profile);
    if (named.length === 0)
      throw new UsageError(`--from-profile ${profileName}: this profile has no workflows`);
    return [...new Set(named.map(({ id }) => id))].map((id) => {
      const names = named.filter((one) => one.id === id).map(({ name }) => name);
      return echoWorkflow(id, names.join(', '), findDeclaredWorkflow(id, {}, profile)?.parameters);
    });
  }
}
