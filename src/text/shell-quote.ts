/**
 * Quotes command lines that users can paste into a shell: exact in bash, dash, zsh and fish; on Windows exact in
 * PowerShell, and in cmd unless a word has a quotation mark, `$`, a backtick, `%` or `!`.
 */
import { LOG_COMMAND, sanitize } from './sanitize.js';

/** Returns a command line quoted for the platform's shells; one with invisible characters is sanitized, and says so. */
export function shellCommand(args: readonly string[], platform: NodeJS.Platform = 'linux'): string {
  const command = args.map(platform === 'win32' ? quoteForWindows : quote).join(' ');
  // Quotation marks divide the commands of CI logs, but not on Windows.
  return isCopyable(command) && command.search(LOG_COMMAND) < 0
    ? command
    : `${sanitize(args.join(' '))} (this command cannot be copied: it contains control characters)`;
}

/** Returns a command line that runs another one in the working folder. */
export function inFolder(
  command: string,
  { cwd, platform }: { cwd: string; platform: NodeJS.Platform },
): string {
  return `${shellCommand(['cd', cwd], platform)} && ${command}`;
}

/** Returns the command line of a command of wfr for these runs. */
export function commandOfRuns(
  command: string,
  flags: readonly string[],
  ids: readonly string[],
  platform?: NodeJS.Platform,
): string {
  const separator = ids.some((id) => id.startsWith('-')) ? ['--'] : [];
  return shellCommand(['wfr', command, ...flags, ...separator, ...ids], platform);
}

/** Returns flags with their values as arguments. */
export function toArgs(flags: Record<string, string | boolean | readonly string[] | undefined>): string[] {
  return Object.entries(flags).flatMap(([name, values = []]) => {
    const flag = `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
    return [values].flat().flatMap((value) => (typeof value === 'string' ? [flag, value] : flag));
  });
}

/**
 * Returns whether shellCommand quotes a text exactly. No shell shows or takes all control, invisible, private and
 * unassigned characters, and half surrogate pairs; the expression for them is built only for text beyond ASCII.
 */
export function isCopyable(text: string): boolean {
  return /^[ -~]*$/.test(text) || !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
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

function quoteForWindows(text: string): string {
  // PowerShell gives @ and ~ a meaning at the start of a word, and a comma anywhere.
  if (/^[A-Za-z0-9_./\\-][A-Za-z0-9_@+=:./\\~-]*$/.test(text)) return text;
  // Before the closing mark, a program reads \" as a quotation mark.
  if (!/["$`%!\u201c-\u201e]/.test(text)) return `"${text.replace(/(?<!\\)\\+$/, '$&$&')}"`;
  // PowerShell takes typographic quotation marks for its own.
  return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}
