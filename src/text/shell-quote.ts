/** Quotes command lines that users can paste into a shell: exact in bash, dash, zsh and fish. */
import { LOG_COMMAND, sanitize } from './sanitize.js';

/** Control, invisible, private and unassigned characters, and half surrogate pairs: no shell shows or takes them all. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Returns a command line quoted for a shell; one with invisible characters is sanitized instead, and says so. */
export function shellCommand(args: readonly string[]): string {
  const command = args.map(quote).join(' ');
  return isCopyable(command)
    ? command
    : `${sanitize(args.join(' '))} (this command cannot be copied: it contains control characters)`;
}

/** Returns whether shellCommand quotes a text exactly. */
export function isCopyable(text: string): boolean {
  return !INVISIBLE.test(text);
}

function quote(text: string): string {
  // zsh replaces a word such as =ls by the path of the program.
  if (/^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/.test(text)) return text;
  const quoted = text
    // In fish, a backslash escapes even between single quotes.
    .replace(/['\\]/g, (character) => (character === "'" ? `'"'"'` : `'"\\\\"'`))
    // A CI log would act on it; quotes in between change nothing for a shell.
    .replace(LOG_COMMAND, `#'"#"'`);
  return `'${quoted}'`;
}
