/** The run ids of a command line, with @last resolved from the history. */
import type { Profile } from '../../config/profile.js';
import { resolveWorkflowId } from '../../config/workflow.js';
import { UsageError } from '../../errors.js';
import type { History, PastRun } from '../../history/history.js';
import { isUsableId } from '../../service/parse-run.js';

/** Returns the ids without duplicates, in order. Throws UsageError for ids that cannot be part of a URL path. */
export function parseRunIds(raw: readonly string[]): string[] {
  const problems = raw
    .filter((id) => !isUsableId(id))
    .map((id) => `${JSON.stringify(id)} is not a run id; use the id that wfr run printed`);
  if (problems.length > 0) throw new UsageError(problems);
  return [...new Set(raw)];
}

/** Replaces `@last` and `@last:<workflow>` by ids from the history. Throws UsageError where it has no such run. */
export async function resolvePastRuns(
  ids: readonly string[],
  baseUrl: URL,
  history: History,
  profile: Profile | undefined,
): Promise<string[]> {
  if (!ids.some((id) => id.startsWith('@'))) return [...ids];
  const runs = (await history.readRuns()).filter((run) => run.baseUrl === baseUrl.href);
  const problems: string[] = [];
  const found = ids.map((id) => {
    const matches = parseReference(id, profile);
    if (matches === undefined) return id;
    const run = runs.find(matches);
    if (run === undefined) problems.push(`${id}: the history has no such run at ${baseUrl.href}`);
    return run?.id ?? id;
  });
  if (problems.length > 0) throw new UsageError(problems, 'wfr history');
  return [...new Set(found)];
}

/** Returns a predicate for the runs that `@last` or `@last:<workflow>` refers to; undefined for an id. */
function parseReference(id: string, profile: Profile | undefined): ((run: PastRun) => boolean) | undefined {
  const [, workflow] = /^@last(?::(.+))?$/s.exec(id) ?? [undefined, null];
  if (workflow === null) return undefined;
  if (workflow === undefined) return () => true;
  const wanted = resolveWorkflowId(workflow, profile).toLowerCase();
  return (run) => run.workflow.toLowerCase() === wanted;
}
