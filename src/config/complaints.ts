/** Complaints about a command line, gathered. */
import { UsageError } from '../errors.js';

type Steps = Record<string, () => unknown>;
type Results<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/** Runs all steps, one after the other, and gives what they gave. Throws UsageError with the complaints of all of them. */
export async function collectUsageErrors<S extends Steps>(steps: S, hint?: string): Promise<Results<S>> {
  const problems: string[] = [];
  const results: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      results[name] = await step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new UsageError(problems, hint);
  return results as Results<S>;
}
