/** `wfr __complete`: prints the candidates at the cursor, for the scripts of `wfr completion`. */

import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { isUnsafe, sanitize } from '../../text/sanitize.js';
import { type Candidate, COMPLETERS, type Completion } from './candidates.js';

export type { Candidate };

/** The word under the cursor, and what precedes it on the command line. */
export interface Cursor {
  word: string;
  /** The start of the word that is not completed, such as `--output=`. */
  prefix: string;
  /** The placeholder of the value in the help, or the candidates themselves. */
  expected: string | readonly Candidate[];
  /** The command's flags that have a value, by commander's attribute name. */
  flags: Readonly<Record<string, string>>;
  operands: readonly string[];
  /** The inputs that flags have given. */
  items: readonly string[];
}

/**
 * Prints a line for each candidate: the whole word and, with `hasDescriptions`, a tab and the description. A line with an
 * empty candidate asks the shell for files: tab, `files` or `folders`, tab, the start of the word before the path. Errors
 * are ignored: a message would garble the line that is being typed.
 */
export async function complete(
  locate: () => Cursor | undefined,
  hasDescriptions: boolean,
  context: Context,
): Promise<Exit> {
  try {
    const cursor = locate();
    if (cursor !== undefined)
      await context.stdout.write(await formatCandidates(cursor, hasDescriptions, context));
  } catch {
    // No candidates.
  }
  return ExitCode.ok;
}

async function formatCandidates(
  { word, prefix, expected, ...line }: Cursor,
  hasDescriptions: boolean,
  context: Context,
): Promise<string> {
  const text = word.slice(prefix.length);
  const completion: Completion =
    typeof expected === 'string'
      ? ((await COMPLETERS[expected]?.({ text, ...line }, context)) ?? {})
      : { candidates: expected };
  const candidates = (completion.candidates ?? [])
    .filter(({ value }) => isSafeWord(value) && (typeof expected !== 'string' || !value.startsWith('-')))
    .map(({ value, description = '' }) => ({ value: prefix + value, description }))
    .filter(({ value }) => value.toLowerCase().startsWith(word.toLowerCase()));
  const lines = candidates.map(({ value, description }) =>
    hasDescriptions && description !== '' ? `${value}\t${sanitize(description)}\n` : `${value}\n`,
  );
  if (completion.paths !== undefined) {
    lines.push(`\t${completion.paths}\t${word.slice(0, prefix.length + (completion.pathStart ?? 0))}\n`);
  }
  return lines.join('');
}

/** Returns whether a text needs no escaping: an escaped word would be another one. */
function isSafeWord(text: string): boolean {
  return text !== '' && ![...text].some((character) => isUnsafe(character.codePointAt(0) ?? 0));
}
