/** The run ids of a command line, with @last and the beginnings of ids resolved from the history. */
import type { Profile } from '../../config/profile.js';
import type { ServiceSources } from '../../config/resolve-setting.js';
import type { ServiceSettings } from '../../config/service.js';
import { resolveWorkflowId } from '../../config/workflow.js';
import { collectUsageErrors, throwProblems } from '../../errors.js';
import {
  findByStart,
  type History,
  idShortener,
  isBatch,
  isShortId,
  openHistory,
  type PastRun,
} from '../../history/history.js';
import { isUsableId } from '../../service/parse-run.js';
import type { ListedRun } from '../../view/table.js';
import { OUTPUT_FORMATS, parseFormat, parseGet, type ShowFlags } from './output-flags.js';
import type { Session } from './session.js';
import { sessionSteps } from './session-steps.js';

/** Validates what status and watch have in common, and finds the runs in the history. Throws UsageError with every problem. */
export async function planRuns<Flags extends ShowFlags>(
  rawIds: readonly string[],
  sources: ServiceSources & { flags: Flags },
) {
  const { flags, profile, context } = sources;
  const distinct = [...new Set(rawIds)];
  const severalRuns = distinct.length > 1;
  // Of several runs, the JSON of each is a line, too, printed when it has ended.
  const hasLines = severalRuns && (flags.json || flags.output === 'json');
  const plan = await collectUsageErrors({
    ids: () =>
      throwProblems(
        rawIds.map(
          (id) => !isUsableId(id) && `${JSON.stringify(id)} is not a run id; use the id that wfr run printed`,
        ),
      ),
    format: () => parseFormat(flags, OUTPUT_FORMATS),
    pointer: () => parseGet(flags, severalRuns),
    ...sessionSteps({ ...sources, flags: hasLines ? { ...flags, output: 'jsonl' } : flags }),
  });
  const history = openHistory(context);
  const { ids, warnings } = await resolvePastRuns(distinct, plan.settings.baseUrl, history, profile);
  return { ...plan, flags, ids, severalRuns: ids.length > 1, history, warnings };
}

/** Returns how a list shows runs, by what the history has of them, which is read only if the list `isShown`. */
export async function listRuns(
  { ids, settings }: { ids: readonly string[]; settings: Pick<ServiceSettings, 'workflowNameOf'> },
  { history, service }: Pick<Session, 'history' | 'service'>,
  isShown: boolean,
): Promise<ListedRun[]> {
  const recorded = isShown ? await history.readSoon() : [];
  const runs = recorded.filter(({ baseUrl }) => baseUrl === service.baseUrl.href);
  const shorten = idShortener([...runs.map(({ id }) => id), ...ids]);
  return ids.map((id) => {
    const past = runs.find((run) => run.id === id);
    return { id, shortId: shorten(id), past, workflow: settings.workflowNameOf(past?.workflow ?? '') };
  });
}

/** Returns what shortens the ids of listed runs that the history has, and so understands when they are typed. */
export function shortenKnown(listed: readonly ListedRun[]): (id: string) => string {
  const known = new Map(listed.map(({ id, shortId, past }) => [id, past ? shortId : id]));
  return (id) => known.get(id) ?? id;
}

/**
 * Replaces `@last`, `@last:<workflow>` and the beginning of the only UUID that begins so by ids from the history; any other
 * text is an id. Throws UsageError where the history has no such run.
 */
async function resolvePastRuns(
  raw: readonly string[],
  baseUrl: URL,
  history: History,
  profile: Profile | undefined,
) {
  const mayBePast = raw.some((text) => text.startsWith('@') || isShortId(text));
  const recorded = mayBePast ? await history.readAll() : [];
  const batches = recorded.filter(isBatch).map(({ id }) => id);
  const runs = recorded.filter((run) => !isBatch(run) && run.baseUrl === baseUrl.href);
  const problems: string[] = [];
  const warnings: string[] = [];
  const known = runs.map(({ id }) => id);
  const ids = raw.map((text) => {
    const [, word, workflow] = /^(@last)(?::(.+))?$/s.exec(text) ?? [];
    const wanted = workflow && resolveWorkflowId(workflow, profile).toLowerCase();
    const isWanted = (run: PastRun) => !wanted || run.workflow.toLowerCase() === wanted;
    const found = word ? [runs.find(isWanted)?.id] : findByStart(text, known);
    const isAmbiguous = found.length > 1;
    const [id = text] = isAmbiguous ? [] : found;
    const why = isAmbiguous
      ? 'several runs begin with it; see wfr history -o id'
      : !word && text.startsWith('@') && 'did you mean @last?';
    if (why) warnings.push(`${text} is sent as typed: ${why}`);
    if (word && id === text) problems.push(`${text}: the history has no such run at ${baseUrl.href}`);
    if (found.length === 0 && findByStart(text, batches).length > 0)
      problems.push(`${text}: is a batch, not a run; wfr results ${text} lists its rows`);
    return id;
  });
  throwProblems(problems, 'wfr history');
  return { ids: [...new Set(ids)], warnings };
}
