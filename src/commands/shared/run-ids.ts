/** The run ids of a command line. */
import type { Profile } from '../../config/profile.js';
import { resolveWorkflowId } from '../../config/workflow.js';
import { UsageError } from '../../errors.js';
import type { History, PastRun } from '../../history/history.js';
import { isUsableId } from '../../service/parse-run.js';

/** The ids as they were written, each once, in their order. Throws UsageError for those that cannot stand in a path. */
export function runIds(written: readonly string[]): string[] {
  const problems = written
    .filter((id) => !isUsableId(id))
    .map((id) => `${JSON.stringify(id)} is not a run id; give the id that wfr run printed`);
  if (problems.length > 0) throw new UsageError(problems);
  return [...new Set(written)];
}

/** The ids with those of the history in place of `@last` and `@last:<workflow>`. Throws UsageError where there is none. */
export async function withPastRuns(
  ids: readonly string[],
  baseUrl: URL,
  history: History,
  profile: Profile | undefined,
): Promise<string[]> {
  if (!ids.some((id) => id.startsWith('@'))) return [...ids];
  const runs = (await history.readRuns()).filter((run) => run.baseUrl === baseUrl.href);
  const problems: string[] = [];
  const found = ids.map((id) => {
    const isMeant = reference(id, profile);
    if (isMeant === undefined) return id;
    const run = runs.find(isMeant);
    if (run === undefined) problems.push(`${id}: the history has no such run at ${baseUrl.href}`);
    return run?.id ?? id;
  });
  if (problems.length > 0) throw new UsageError(problems, 'wfr history');
  return [...new Set(found)];
}

/** Whether a run is the one that is meant; undefined for an id that means itself. */
function reference(id: string, profile: Profile | undefined): ((run: PastRun) => boolean) | undefined {
  const [, workflow] = /^@last(?::(.+))?$/s.exec(id) ?? [undefined, null];
  if (workflow === null) return undefined;
  if (workflow === undefined) return () => true;
  const wanted = resolveWorkflowId(workflow, profile).toLowerCase();
  return (run) => run.workflow.toLowerCase() === wanted;
}
