/** `wfr __complete`: what can stand where the cursor is, for the scripts of `wfr completion`. */

import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { isUnsafe, sanitize } from '../../text/sanitize.js';
import { type Candidate, type Offer, VALUES } from './candidates.js';

export type { Candidate };

/** The word that is being written, and what was written before it. */
export interface Cursor {
  word: string;
  /** How the word begins before what is to be completed, such as `--output=`. */
  prefix: string;
  /** What it is: the name that the help has for such a value, or all that can stand here. */
  wanted: string | readonly Candidate[];
  /** The flags of the command that have a value, by commander's name for them. */
  flags: Readonly<Record<string, string>>;
  operands: readonly string[];
}

/**
 * Prints a line for each candidate: the whole word and, `described`, a tab and what it is. An empty candidate asks the
 * shell for files: tab, `files` or `folders`, tab, what of the word stands before the path. Whatever fails is passed
 * over: nobody reads a complaint while they write.
 */
export async function complete(
  findPlace: () => Cursor | undefined,
  described: boolean,
  context: Context,
): Promise<Exit> {
  try {
    const place = findPlace();
    if (place !== undefined) await context.stdout.write(await linesFor(place, described, context));
  } catch {
    // There is nothing to offer, then.
  }
  return ExitCode.ok;
}

async function linesFor(place: Cursor, described: boolean, context: Context): Promise<string> {
  const { word, prefix, operands, flags, wanted } = place;
  const text = word.slice(prefix.length);
  const offer: Offer =
    typeof wanted === 'string'
      ? ((await VALUES[wanted]?.({ text, operands, flags }, context)) ?? {})
      : { candidates: wanted };
  const candidates = (offer.candidates ?? [])
    .filter(({ value }) => isInert(value) && (typeof wanted !== 'string' || !value.startsWith('-')))
    .map(({ value, description = '' }) => ({ value: prefix + value, description }))
    .filter(({ value }) => value.toLowerCase().startsWith(word.toLowerCase()));
  const lines = candidates.map(({ value, description }) =>
    described && description !== '' ? `${value}\t${sanitize(description)}\n` : `${value}\n`,
  );
  if (offer.paths !== undefined) {
    lines.push(`\t${offer.paths}\t${word.slice(0, prefix.length + (offer.pathStart ?? 0))}\n`);
  }
  return lines.join('');
}

/** Whether a text can be a word as it stands: what is escaped would be another one. */
function isInert(text: string): boolean {
  return text !== '' && ![...text].some((character) => isUnsafe(character.codePointAt(0) ?? 0));
}
