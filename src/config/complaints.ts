/** Complaints about a command line, gathered. */
import { UsageError } from '../errors.js';

/** Collects complaints, so that a user sees all of them at once. */
export class Complaints {
  readonly #problems: string[] = [];

  /** Runs `step`; the complaints of a UsageError are kept, and undefined is returned. */
  async collect<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#problems.push(...error.problems);
      return undefined;
    }
  }

  /** Throws UsageError if there was any. */
  throwIfAny(hint?: string): void {
    if (this.#problems.length > 0) throw new UsageError(this.#problems, hint);
  }
}
