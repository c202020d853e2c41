/** Complaints about a command line, gathered. */
import { UsageError } from '../errors.js';

type Steps = Record<string, () => unknown>;
type Results<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/**
 * Runs all steps, one after the other, and returns their results by name. Throws UsageError with the problems of all of
 * them; what other steps have opened is closed then.
 */
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
  if (problems.length === 0) return results as Results<S>;
  for (const result of Object.values(results)) if (isOpen(result)) await result.close();
  throw new UsageError(problems, hint);
}

function isOpen(result: unknown): result is { close(): Promise<void> } {
  return (
    typeof result === 'object' && result !== null && 'close' in result && typeof result.close === 'function'
  );
}
