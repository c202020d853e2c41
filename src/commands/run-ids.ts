/** The run ids of a command line. */
import { UsageError } from '../errors.js';
import { isUsableId } from '../service/parse-run.js';

/** The ids, each once, in their order. Throws UsageError for those that cannot stand in a path. */
export function runIds(written: readonly string[]): string[] {
  const problems = written
    .filter((id) => !isUsableId(id))
    .map((id) => `${JSON.stringify(id)} is not a run id; give the id that wfr run printed`);
  if (problems.length > 0) throw new UsageError(problems);
  return [...new Set(written)];
}
