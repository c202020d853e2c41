/** What is said of an error: what went wrong, why, and what to do next. */
import { quoteLines } from '../../text/sanitize.js';

export interface ErrorDescription {
  /** What went wrong with what; one line each. */
  summary: readonly string[];
  /** The service's own words, as they came. */
  serverMessage?: string | undefined;
  /** Why, and what to do next. */
  hints: readonly string[];
}

/** An explanation as lines: `wfr: ` before the first, two spaces before the others, `| ` before the service's words. */
export function errorLines({ summary, serverMessage, hints }: ErrorDescription): string[] {
  const lines = summary.map((line, index) => (index === 0 ? `wfr: ${line}` : `  ${line}`));
  return [
    ...lines,
    ...(serverMessage ? quoteLines(serverMessage).split('\n') : []),
    ...hints.map((line) => `  ${line}`),
  ];
}
