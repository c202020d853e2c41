/** The values that each placeholder of the help, such as `<file>` or `<run-id>`, completes to. */
import { chooseProfile, loadConfig, type Profile } from '../../config/profile.js';
import { resolveSetting } from '../../config/resolve-setting.js';
import { findDeclaredWorkflow, namedWorkflows, workflowNames } from '../../config/workflow.js';
import { History } from '../../history/history.js';
import { findName, findPathStart, itemStart } from '../../inputs/item.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { REPORT_KINDS } from '../../report/formats.js';
import { KNOWN_STATUSES } from '../../service/run.js';
import { parseUrl } from '../../text/url.js';

export interface Candidate {
  value: string;
  description?: string;
}

/** Candidates, and whether the shell adds files or directories. */
export interface Completion {
  candidates?: readonly Candidate[];
  paths?: 'files' | 'folders';
  /** Where in the text the path begins. */
  pathStart?: number;
}

/** The value typed so far, and what precedes it on the command line. */
interface CompletionRequest {
  text: string;
  flags: Readonly<Record<string, string>>;
  operands: readonly string[];
  items: readonly string[];
}

type Completer = (request: CompletionRequest, context: Context) => Completion | Promise<Completion>;

/** The most run ids offered, the default of `wfr history`. */
const MAX_IDS = 20;

const files: Completer = () => ({ paths: 'files' });

/** By placeholder, for values that the help does not list; others have no completion. */
export const COMPLETERS: Readonly<Record<string, Completer>> = {
  file: files,
  'file|-': files,
  'path|-': files,
  folder: () => ({ paths: 'folders' }),
  input,
  item: input,
  parameter,
  kind: report,
  status: () => ({ candidates: KNOWN_STATUSES.map(toCandidate) }),
  name: profiles,
  workflow: aliases,
  'run-id': pastRuns,
  step,
  command: ({ operands }) => ({
    candidates: operands.length === 0 ? [toCandidate('wfr')] : [],
    paths: 'files',
  }),
};

/** Offers the declared parameters that are still missing, and then the files of those that are read from one. */
async function input(request: CompletionRequest, context: Context): Promise<Completion> {
  const { text, operands, items } = request;
  const pathStart = findPathStart(text);
  if (pathStart !== undefined) return { paths: 'files', pathStart };
  if (findName(text) !== undefined) return {};
  const given = new Set([...operands.slice(1), ...items].map(findName));
  const missing = (await declaredParameters(request, context)).filter(({ name }) => !given.has(name));
  const candidates = missing.map((one) => ({ value: itemStart(one), description: describeParameter(one) }));
  return { candidates };
}

/** The names of documents, for `--each`. */
async function parameter(request: CompletionRequest, context: Context): Promise<Completion> {
  const documents = (await declaredParameters(request, context)).filter(({ type }) => type === 'document');
  const candidates = documents.map((one) => ({ value: one.name, description: describeParameter(one) }));
  return { candidates };
}

async function declaredParameters(
  { flags, operands: [workflow = ''] }: CompletionRequest,
  context: Context,
): Promise<Parameter[]> {
  const declared = findDeclaredWorkflow(workflow, {}, await profileOf(flags, context));
  return [...(declared?.parameters.values() ?? [])];
}

function report({ text }: CompletionRequest): Completion {
  const kind = REPORT_KINDS.find((candidate) => candidate.endsWith('=') && text.startsWith(candidate));
  return kind === undefined
    ? { candidates: REPORT_KINDS.map(toCandidate) }
    : { paths: 'files', pathStart: kind.length };
}

async function profiles(_request: CompletionRequest, context: Context): Promise<Completion> {
  const { profiles = {} } = (await loadConfig(context))?.content ?? {};
  return {
    candidates: Object.entries(profiles).map(([value, { baseUrl = '' }]) => ({
      value,
      description: baseUrl,
    })),
  };
}

async function aliases({ flags }: CompletionRequest, context: Context): Promise<Completion> {
  const workflows = namedWorkflows(await profileOf(flags, context));
  return { candidates: workflows.map(({ name, id }) => ({ value: name, description: id })) };
}

async function pastRuns({ text, flags, operands }: CompletionRequest, context: Context): Promise<Completion> {
  const profile = await profileOf(flags, context);
  const baseUrl = parseUrl(resolveSetting('baseUrl', flags, profile, context)?.text ?? '')?.href;
  const runs = (await History.open(context).readRuns()).filter(
    (run) => baseUrl === undefined || run.baseUrl === baseUrl,
  );
  const nameOf = workflowNames(profile);
  const latest = new Map<string, Candidate>();
  const ids: Candidate[] = [];
  for (const { id, workflow, status = 'accepted', triggered } of runs) {
    const name = nameOf(workflow) ?? workflow;
    const time = triggered.replace(/\.\d+Z$/, 'Z');
    const references = [
      { value: '@last', description: `${status} ${name} ${time} ${id}` },
      // zsh merges candidates that share a description, so it differs from that of @last.
      { value: `@last:${name}`, description: `${status} ${time} ${id}` },
    ];
    for (const reference of references)
      if (!latest.has(reference.value)) latest.set(reference.value, reference);
    const isMatch = id.toLowerCase().startsWith(text.toLowerCase()) && !operands.includes(id);
    if (isMatch && ids.length < MAX_IDS) ids.push({ value: id, description: `${status} ${name} ${time}` });
  }
  return { candidates: [...latest.values(), ...ids] };
}

async function step({ flags }: CompletionRequest, context: Context): Promise<Completion> {
  const { parseSandboxFlags } = await import('../sandbox/options.js');
  const { workflows: path, fromProfile } = flags;
  const { workflows } = await parseSandboxFlags(
    { ...(path && { workflows: path }), ...(fromProfile && { fromProfile }) },
    context,
  );
  const names = workflows.flatMap(({ steps }) => steps.map(({ name }) => name));
  return { candidates: [...new Set(names)].map(toCandidate) };
}

/** Returns the profile; undefined where it is invalid, as the history may still have runs. */
function profileOf(flags: CompletionRequest['flags'], context: Context): Promise<Profile | undefined> {
  return chooseProfile(flags, context).catch(() => undefined);
}

function toCandidate(value: string): Candidate {
  return { value };
}
