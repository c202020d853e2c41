/** `wfr sandbox`: the local service, alone or around a command. */
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { withAllComplaints } from '../config/complaints.js';
import type { ChildEnd, Context } from '../context.js';
import { InterruptedError, UsageError } from '../errors.js';
import { type Exit, ExitCode } from '../exit-code.js';
import { Interruption } from '../interruption.js';
import { BUILT_IN_WORKFLOWS } from '../sandbox/built-in.js';
import { FIELD_SPELLINGS, type FieldSpelling, type SandboxOptions, startSandbox } from '../sandbox/server.js';
import { DefinitionError, parseWorkflows, type Workflow } from '../sandbox/workflow.js';
import { shellCommand } from '../shell-quote.js';
import { describeSystemError } from '../system-error.js';
import { safeLine } from '../view/safe.js';

export interface SandboxFlags {
  port?: string;
  workflows?: string;
  list?: boolean;
  workflowIdField?: string;
  strict?: boolean;
}

/** It guards nothing but shows that a token is sent; being the same each time, it can stand in a script. */
const TOKEN = 'sandbox-token';

export async function sandbox(
  command: readonly string[],
  flags: SandboxFlags,
  context: Context,
): Promise<Exit> {
  const { workflows, spelling, port } = await withAllComplaints(
    {
      workflows: () => loadWorkflows(flags.workflows, context),
      spelling: () => parseSpelling(flags.workflowIdField),
      port: () => parsePort(flags.port),
    },
    'wfr help sandbox',
  );
  if (flags.list === true) {
    await context.stdout.write(workflows.map(describeWorkflow).join('\n'));
    return ExitCode.ok;
  }
  const options = {
    workflows,
    token: TOKEN,
    port,
    spelling,
    strict: flags.strict === true,
    clock: context.clock,
  };
  const [program, ...args] = command;
  return program === undefined ? serve(options, context) : runCommand(program, args, options, context);
}

async function serve(options: SandboxOptions, context: Context): Promise<Exit> {
  const interruption = new Interruption(context);
  const log = (line: string) => void context.stderr.write(`${safeLine(line)}\n`);
  const service = await start({ ...options, log });
  try {
    await context.stdout.write(`export WFR_BASE_URL=${service.baseUrl}\nexport WFR_TOKEN=${options.token}\n`);
    await context.stderr.write('Serving until Ctrl-C; wfr sandbox --list shows what can be run.\n');
    await new Promise((resolve) => interruption.signal.addEventListener('abort', resolve, { once: true }));
    throw interruption.signal.reason;
  } catch (error) {
    if (error instanceof InterruptedError) return error.signal;
    throw error;
  } finally {
    await service.stop();
    interruption.release();
  }
}

async function runCommand(
  program: string,
  args: readonly string[],
  options: SandboxOptions,
  context: Context,
): Promise<Exit> {
  const service = await start(options);
  const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: options.token };
  const starting = context.spawn(program, args, env);
  // Whoever starts us may end us as soon as the command has said its first word, so we listen from the start.
  const release = context.onSignal((signal) => {
    // A terminal sends Ctrl-C to the command itself; passed on, it would be the second one.
    const onTerminal = context.stdin.isTTY || context.stdout.isTerminal || context.stderr.isTerminal;
    if (signal === 'SIGINT' && onTerminal) return;
    starting.then((child) => child.kill(signal)).catch(() => {});
  });
  try {
    const child = await starting.catch((error) => {
      throw new UsageError([`${shellCommand([program])} cannot be started: ${describeSystemError(error)}`]);
    });
    return exitOfChild(await child.ended);
  } finally {
    release();
    await service.stop();
  }
}

/** A signal of which wfr itself would end otherwise, such as SIGPIPE, is given as a shell gives it. */
function exitOfChild(end: ChildEnd): Exit {
  if (typeof end === 'number') return end;
  return end === 'SIGINT' || end === 'SIGTERM' || end === 'SIGHUP' ? end : 128 + constants.signals[end];
}

async function start(options: SandboxOptions) {
  try {
    return await startSandbox(options);
  } catch (error) {
    throw new UsageError([`--port ${options.port}: ${describeSystemError(error)}; choose another, or none`]);
  }
}

async function loadWorkflows(path: string | undefined, context: Context): Promise<readonly Workflow[]> {
  if (path === undefined) return BUILT_IN_WORKFLOWS;
  try {
    return parseWorkflows(JSON.parse(await readFile(resolve(context.cwd, path), 'utf8')));
  } catch (error) {
    const isOurs = error instanceof DefinitionError || error instanceof SyntaxError;
    throw new UsageError([`${path}: ${isOurs ? error.message : describeSystemError(error)}`]);
  }
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

function describeWorkflow({ id, versionName, parameters, steps, failure }: Workflow): string {
  const example = {
    string: '=text',
    document: '@document.pdf',
    number: ':=1',
    boolean: ':=true',
    object: ':={}',
    array: ':=[]',
  };
  const items = [...parameters].map(([name, type]) => `${escapeName(name)}${example[type]}`);
  const end = failure === undefined ? '' : `; fails at ${failure.step}`;
  const seconds = steps.reduce((sum, { duration }) => sum + duration, 0) / 1_000;
  return `${safeLine(versionName)} (${steps.length} steps, ${seconds} s${safeLine(end)})\n  ${shellCommand(['wfr', 'run', id, ...items])}\n`;
}

function escapeName(name: string): string {
  return name.replace(/[=:@\\]/g, '\\$&');
}
