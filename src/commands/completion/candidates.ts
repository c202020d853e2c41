/** What each kind of value can be completed to; a kind is the name that the help has for it. */
import { loadConfig } from '../../config/load-config.js';
import { chooseProfile, type Profile } from '../../config/profile.js';
import { resolveSetting } from '../../config/resolve-setting.js';
import { History } from '../../history/history.js';
import { findPathStart } from '../../inputs/item.js';
import type { Context } from '../../platform/context.js';
import { WORKFLOW_ID_FIELD_CHOICES } from '../../service/workflow-id-field.js';
import { parseUrl } from '../../text/url.js';
import { COLOR_CHOICES } from '../../view/presentation.js';
import { OUTPUT_FORMATS } from '../shared/output-format.js';

export interface Candidate {
  value: string;
  description?: string;
}

/** Candidates, and files or folders of the user's, which the shell finds itself. */
export interface Offer {
  candidates?: readonly Candidate[];
  paths?: 'files' | 'folders';
  /** Where in the text the path begins. */
  pathStart?: number;
}

/** A value as far as it has been written, and what was written before it. */
interface Asked {
  text: string;
  flags: Readonly<Record<string, string>>;
  operands: readonly string[];
}

type Completer = (asked: Asked, context: Context) => Offer | Promise<Offer>;

/** At most so many runs, as `wfr history` shows. */
const RECENT = 20;

const files: Completer = () => ({ paths: 'files' });

/** By the name of the value; the others can be anything. */
export const VALUES: Readonly<Record<string, Completer>> = {
  file: files,
  'file|-': files,
  'path|-': files,
  folder: () => ({ paths: 'folders' }),
  input,
  item: input,
  kind: report,
  format: () => ({ candidates: OUTPUT_FORMATS.map(named) }),
  when: () => ({ candidates: COLOR_CHOICES.map(named) }),
  field: () => ({ candidates: WORKFLOW_ID_FIELD_CHOICES.map(named) }),
  name: profiles,
  workflow: aliases,
  'run-id': pastRuns,
  spelling,
  step,
  command: ({ operands }) => ({ candidates: operands.length === 0 ? [named('wfr')] : [], paths: 'files' }),
};

function input({ text }: Asked): Offer {
  const pathStart = findPathStart(text);
  return pathStart === undefined ? {} : { paths: 'files', pathStart };
}

async function report({ text }: Asked): Promise<Offer> {
  const { REPORT_KINDS } = await import('../../report/requests.js');
  const kind = REPORT_KINDS.find((candidate) => candidate.endsWith('=') && text.startsWith(candidate));
  return kind === undefined
    ? { candidates: REPORT_KINDS.map(named) }
    : { paths: 'files', pathStart: kind.length };
}

async function profiles(_asked: Asked, context: Context): Promise<Offer> {
  const { profiles = {} } = (await loadConfig(context))?.content ?? {};
  return {
    candidates: Object.entries(profiles).map(([value, { baseUrl = '' }]) => ({
      value,
      description: baseUrl,
    })),
  };
}

async function aliases({ flags }: Asked, context: Context): Promise<Offer> {
  const { workflows = {} } = (await profileOf(flags, context))?.settings ?? {};
  return { candidates: Object.entries(workflows).map(([value, description]) => ({ value, description })) };
}

async function pastRuns({ text, flags, operands }: Asked, context: Context): Promise<Offer> {
  const profile = await profileOf(flags, context);
  const baseUrl = parseUrl(resolveSetting('baseUrl', flags, profile, context)?.text ?? '')?.href;
  const runs = (await History.open(context).readRuns()).filter(
    (run) => baseUrl === undefined || run.baseUrl === baseUrl,
  );
  const nameOf = namesOfWorkflows(profile);
  const latest = new Map<string, Candidate>();
  const ids: Candidate[] = [];
  for (const { id, workflow, status = 'accepted', triggered } of runs) {
    const name = nameOf(workflow);
    const time = triggered.replace(/\.\d+Z$/, 'Z');
    const references = [
      { value: '@last', description: `${status} ${name} ${time} ${id}` },
      // zsh shows those that share a description on one line, out of their order.
      { value: `@last:${name}`, description: `${status} ${time} ${id}` },
    ];
    for (const one of references) if (!latest.has(one.value)) latest.set(one.value, one);
    const isWanted = id.toLowerCase().startsWith(text.toLowerCase()) && !operands.includes(id);
    if (isWanted && ids.length < RECENT) ids.push({ value: id, description: `${status} ${name} ${time}` });
  }
  return { candidates: [...latest.values(), ...ids] };
}

async function spelling(): Promise<Offer> {
  const { FIELD_SPELLINGS } = await import('../sandbox/options.js');
  return { candidates: FIELD_SPELLINGS.map(named) };
}

async function step({ flags }: Asked, context: Context): Promise<Offer> {
  const { parseSandboxFlags } = await import('../sandbox/options.js');
  const { workflows } = await parseSandboxFlags(
    flags.workflows ? { workflows: flags.workflows } : {},
    context,
  );
  const names = workflows.flatMap(({ steps }) => steps.map(({ name }) => name));
  return { candidates: [...new Set(names)].map(named) };
}

/** Without a profile that can be used, there may still be a history. */
function profileOf(flags: Asked['flags'], context: Context): Promise<Profile | undefined> {
  return chooseProfile(flags, context).catch(() => undefined);
}

/** What the profile calls a workflow, or else its id. */
function namesOfWorkflows(profile: Profile | undefined): (id: string) => string {
  const entries = Object.entries(profile?.settings.workflows ?? {});
  const names = new Map(entries.map(([name, id]) => [id.toLowerCase(), name]));
  return (id) => names.get(id.toLowerCase()) ?? id;
}

function named(value: string): Candidate {
  return { value };
}
