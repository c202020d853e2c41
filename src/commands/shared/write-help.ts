/** Writes help texts: what commander lays out fits the window, and headings are bold on a terminal. */
import { type Command, Help } from 'commander';
import type { Context, Output } from '../../platform/context.js';
import { ADVANCED_GROUP, commandPath, isCommon } from './flags.js';

/** Returns how flags are listed: the rare ones last, and in the short help the common ones only. */
export function helpLayout(isShort: boolean): Partial<Help> {
  const help = new Help();
  return {
    minWidthToWrap: 20,
    showGlobalOptions: false,
    subcommandTerm: (command) => command.name(),
    visibleOptions: (command) => {
      const flags = help.visibleOptions(command);
      if (!isShort || !flags.some(isCommon)) return flags;
      return flags.filter((flag) => isCommon(flag) || flag.long === '--help');
    },
    groupItems: (all, visible, groupOf) => {
      const isOneGroup = isShort && visible.some(isCommon);
      const groups = help.groupItems(all, visible, isOneGroup ? () => 'Options:' : groupOf);
      const advanced = groups.get(ADVANCED_GROUP);
      if (advanced === undefined) return groups;
      groups.delete(ADVANCED_GROUP);
      return groups.set(ADVANCED_GROUP, advanced);
    },
  };
}

/** Returns what follows the flags in the short help of a command: the first paragraph, the examples, and where the rest is. */
export function shortenHelp(command: Command, text: string): string {
  const [first = ''] = text.split('\n\n', 1);
  const short = text.startsWith('\nExample') ? text : first + text.slice(text.search(/\n\nExamples?\b.*:\n/));
  if (short === text && !command.options.some(isCommon)) return text;
  return `${short}\n\nMore: wfr ${commandPath(command)} --help`;
}

/** In a narrower window, meanings are not beside their terms, but below. */
const MIN_WIDTH = 60;
/** The width without a window, and in a wider one, whose long lines would be hard to read. */
const WRITTEN_WIDTH = 80;

/** Returns the columns in which flags and commands are laid out for this output. */
export function helpWidth({ isTerminal, columns }: Output): number {
  return isTerminal && columns >= MIN_WIDTH ? Math.min(columns, WRITTEN_WIDTH) : WRITTEN_WIDTH;
}

const PARAGRAPH = /^(?!Usage:)\S.*(?:\n\S.*)*$/gm;
/** A term and its meaning beside or below it, but not a command that is continued on the next line. */
const TERM = /^ {2}(\S.*?)(?: {2,}|(?<!\\)\n {6,})(\S.*(?:\n {6,}\S.*)*)$/gm;

/** Lays out a text that was written for 80 columns in fewer. */
async function narrow(text: string, width: number): Promise<string> {
  const { wrap, wrapLines } = await import('../../text/wrap.js');
  const paragraphs = text.replace(PARAGRAPH, (lines) => wrap(lines.replaceAll('\n', ' '), width).join('\n'));
  const fits = (lines: string) => lines.split('\n').every((line) => line.length <= width);
  const isBeside = width >= MIN_WIDTH && [...paragraphs.matchAll(TERM)].every(([lines]) => fits(lines));
  const below = (_: string, term: string, meaning: string) => {
    const lines = wrap(meaning.replaceAll(/\n +/g, ' '), width - 4);
    return [`  ${term}`, ...lines.map((line) => `    ${line}`)].join('\n');
  };
  const terms = isBeside ? paragraphs : paragraphs.replace(TERM, below);
  return terms
    .split('\n')
    .map((line) => {
      if (!/^ {2}(\w+=\$\()?wfr /.test(line)) return wrapLines([line], width).join('\n');
      // A command that is continued as in a shell can be pasted.
      const [, command = line, end = ''] = /^(.*)( \\)$/.exec(line) ?? [];
      return wrapLines([command], width - 2).join(' \\\n') + end;
    })
    .join('\n');
}

/** The title of a topic. */
const TITLE = /^(?!Usage:).+(?=\n\n)/;
/** `Usage:`, `Examples:` or `Messages (stderr):`, but no sentence that ends with a colon. */
const HEADING = /^Usage:|^[A-Z][\w()]*( [\w()]+){0,2}:$/gm;

/** Writes a help text to stdout or stderr; `color` is the value of --color. Throws OutputError. */
export async function writeHelp(
  text: string,
  color: string | undefined,
  output: Output,
  { env }: Pick<Context, 'env'>,
): Promise<void> {
  if (!output.isTerminal) return output.write(text);
  const { createStyle, hasColor } = await import('../../view/presentation.js');
  const shown = output.columns < WRITTEN_WIDTH ? await narrow(text, output.columns) : text;
  const { bold } = await createStyle(hasColor(color, env, output));
  await output.write(
    shown.replace(TITLE, (title) => bold(title)).replace(HEADING, (heading) => bold(heading)),
  );
}
