/** The run ids of a command line, with @last and the beginnings of ids resolved from the history. */
import type { Profile } from '../../config/profile.js';
import { resolveSetting, type ServiceSources } from '../../config/resolve-setting.js';
import { resolveServiceSettings, type ServiceSettings } from '../../config/service.js';
import { resolveWorkflowId } from '../../config/workflow.js';
import { UsageError } from '../../errors.js';
import { History, isShortId, type PastRun, shortIdFinder } from '../../history/history.js';
import { isUsableId } from '../../service/parse-run.js';
import { findNearest } from '../../text/nearest.js';

/** Returns the ids without duplicates, in order. Throws UsageError for ids that cannot be part of a URL path. */
export function parseRunIds(raw: readonly string[]): string[] {
  const problems = raw
    .filter((id) => !isUsableId(id))
    .map((id) => `${JSON.stringify(id)} is not a run id; use the id that wfr run printed`);
  if (problems.length > 0) throw new UsageError(problems);
  return [...new Set(raw)];
}

/**
 * Replaces `@last`, `@last:<workflow>` and the beginning of the only UUID that begins so by ids from the history; any other
 * text is an id. The notes say for people which run each text stands for. Throws UsageError where the history has no such run.
 */
export async function resolvePastRuns(
  raw: readonly string[],
  baseUrl: URL,
  history: History,
  profile: Profile | undefined,
) {
  if (!raw.some((text) => text.startsWith('@') || isShortId(text))) return { ids: [...raw], notes: [] };
  const runs = (await history.readRuns()).filter((run) => run.baseUrl === baseUrl.href);
  const problems: string[] = [];
  const notes: string[] = [];
  const findUuids = shortIdFinder(runs.map(({ id }) => id));
  const ids = raw.map((text) => {
    if (isMisspelledLast(text)) problems.push(`${text}: is not a run id; did you mean @last?`);
    const matches = parseReference(text, profile);
    if (matches !== undefined) {
      const run = runs.find(matches);
      if (run === undefined) problems.push(`${text}: the history has no such run at ${baseUrl.href}`);
      return run?.id ?? text;
    }
    const [uuid, ...others] = isShortId(text) ? findUuids(text) : [];
    if (uuid === undefined) return text;
    if (others.length > 0) notes.push(...ambiguityNotes(text, [uuid, ...others], runs));
    // The lines of several runs have their ids.
    else if (raw.length === 1) notes.push(`${text} is run ${uuid}`);
    return others.length === 0 ? uuid : text;
  });
  if (problems.length > 0) throw new UsageError(problems, 'wfr history');
  return { ids: [...new Set(ids)], notes };
}

/**
 * Resolves the service of past runs. Throws UsageError with every problem; where there is no base URL, with that of the
 * run in the history, which is not used by itself: the token may be for another service.
 */
export async function resolveServiceOfRuns(
  raw: readonly string[],
  sources: ServiceSources,
): Promise<ServiceSettings> {
  return resolveServiceSettings(sources).catch(async (error) => {
    if (resolveSetting('baseUrl', sources) !== undefined || !(error instanceof UsageError)) throw error;
    const runs = await History.open(sources.context).readRuns();
    const places = raw.flatMap((text) => {
      const matches =
        parseReference(text, sources.profile) ??
        (({ id }) => id === text || shortIdFinder([id])(text).length > 0);
      const run = runs.find(matches);
      return run === undefined ? [] : [`${text} is a run at ${run.baseUrl}: pass --base-url ${run.baseUrl}`];
    });
    throw new UsageError([...error.problems, ...places], error.hint);
  });
}

/** The most runs that are listed where an id is ambiguous. */
const MAX_CANDIDATES = 10;

/** Says why a text that begins several ids stands for none of them, and lists them. */
function ambiguityNotes(text: string, ids: readonly string[], runs: readonly PastRun[]): string[] {
  const candidates = runs.filter(({ id }) => ids.includes(id)).slice(0, MAX_CANDIDATES);
  return [
    `${text} is sent as typed: ${ids.length} runs in the history begin with it`,
    ...candidates.map(
      ({ id, status = 'accepted', triggered }) => `  ${id}  ${status}  ${triggered.replace(/\.\d+Z$/, 'Z')}`,
    ),
    ...(ids.length > candidates.length ? [`  and ${ids.length - candidates.length} more`] : []),
  ];
}

function isMisspelledLast(text: string): boolean {
  const [word = ''] = text.split(':');
  return word.startsWith('@') && word !== '@last' && findNearest(word, ['@last']) !== undefined;
}

/** Returns a predicate for the runs that `@last` or `@last:<workflow>` refers to; undefined for an id. */
function parseReference(id: string, profile: Profile | undefined): ((run: PastRun) => boolean) | undefined {
  const [, workflow] = /^@last(?::(.+))?$/s.exec(id) ?? [undefined, null];
  if (workflow === null) return undefined;
  if (workflow === undefined) return () => true;
  const wanted = resolveWorkflowId(workflow, profile).toLowerCase();
  return (run) => run.workflow.toLowerCase() === wanted;
}
