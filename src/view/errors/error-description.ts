/** What is said of an error: what went wrong, why, and what to do next. */
import { safeBlock } from '../../text/sanitize.js';

export interface Explanation {
  /** What went wrong with what; one line each. */
  what: readonly string[];
  /** The service's own words, as they came. */
  quoted?: string | undefined;
  /** Why, and what to do next. */
  next: readonly string[];
}

/** An explanation as lines: `wfr: ` before the first, two spaces before the others, `| ` before the service's words. */
export function explanationLines({ what, quoted, next }: Explanation): string[] {
  const lines = what.map((line, index) => (index === 0 ? `wfr: ${line}` : `  ${line}`));
  return [...lines, ...(quoted ? safeBlock(quoted).split('\n') : []), ...next.map((line) => `  ${line}`)];
}
