/** Why a row of a batch was not triggered, beside the word for its outcome, which says the rest. */
import { HttpError } from '../../errors.js';
import { errorText } from './describe-error.js';

/** What the outcome says already. */
const SAID: readonly string[] = ['the outcome is unknown: a run may have been created', 'no run was created'];

/** Returns the reason in one or more lines, not yet sanitized. */
export function rowReason(error: unknown): string {
  if (error instanceof HttpError && error.info.message) return `${error.info.status}: ${error.info.message}`;
  const lines = errorText(error).split('\n');
  return lines.filter((line) => !SAID.includes(line)).join('\n');
}
