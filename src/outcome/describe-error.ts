/** What wfr tells people about an error, from its facts. */
import { type Facts, NOTHING_CREATED, OUTCOME_UNKNOWN, WfrError } from '../errors.js';
import type { ErrorCode } from '../exit-code.js';
import { quoteLines, sanitize, sanitizeLine, truncate } from '../text/sanitize.js';

/** The label of an error on the screen, which the view colors. */
export const ERROR_LABEL = 'error:';

/**
 * Formats an error as lines: `wfr: error: ` before the first, `| ` before the service's message, two spaces before others.
 * Several problems are counted first, and have a line each. What the user asked for is not called an error.
 */
export function formatError(facts: Facts): string[] {
  const { code, runMayExist, summary, problemCount = 1, serverMessage, response, hints, stack = [] } = facts;
  const start = code === 'interrupted' && !runMayExist ? 'wfr: ' : `wfr: ${ERROR_LABEL} `;
  // It belongs to what happened, unlike the lines of advice.
  const lines = summary.join('\n').replace(`\n${NOTHING_CREATED}`, `; ${NOTHING_CREATED}`).split('\n');
  if (problemCount > 1) lines.unshift(`${problemCount} problems`);
  return [
    ...lines.map((line, index) => (index === 0 ? start : '  ') + sanitize(line)),
    ...(serverMessage ? quoteLines(serverMessage) : []),
    ...(response?.requestId === undefined ? [] : [`  Request id: ${sanitize(response.requestId)}`]),
    ...hints.map((line) => `  ${sanitize(line)}`),
    ...stack.map(sanitizeLine),
  ];
}

/** Returns what is known of an error; what wfr does not expect is an internal error. */
export function factsOf(error: unknown): Facts {
  return error instanceof WfrError ? error.facts : internalError(error);
}

/** Most lines of a stack that are shown: its message may contain text from outside. */
const MAX_STACK_LINES = 100;

function internalError(error: unknown): Facts {
  const text = String(error);
  const { message = text, stack = text }: Partial<Error> = error instanceof Error ? error : {};
  const { facts } = new WfrError('internal', [`internal error: ${message}`], {
    hints: ['Please report it with the details; remove any secrets first.'],
    stack: stack.split('\n').slice(0, MAX_STACK_LINES).map(truncate),
  });
  return facts;
}

/** What a row's state says already, so that its reason need not. */
const REDUNDANT_LINES: readonly string[] = [OUTCOME_UNKNOWN, NOTHING_CREATED];

/** Returns whether the code of an error says that the service answered no. */
export function isRejection(code: ErrorCode | undefined): boolean {
  return code === 'rejected' || code === 'unauthorized' || code === 'forbidden';
}

/** Returns why a row was not triggered, beside the word for its state: one or more lines, not sanitized. */
export function rowReason({ code, response, text }: Facts): string {
  const { status, message } = response ?? {};
  if (isRejection(code) && message) return `${status}: ${message}`;
  return text
    .split('\n')
    .filter((line) => !REDUNDANT_LINES.includes(line))
    .join('\n');
}
