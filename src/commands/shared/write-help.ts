/** Writes help texts: which flags are listed, how wide, and with bold headings on a terminal. */
import { type Command, Help } from 'commander';
import type { Context, Output } from '../../platform/context.js';
import { layOutTerms, wrap, wrapLines } from '../../text/wrap.js';
import { ADVANCED_GROUP, commandPath, isCommon } from './flags.js';

/** Returns how flags are listed: the rare ones last, and in the short help the common ones only. */
export function helpLayout(isShort: boolean): Partial<Help> {
  const help = new Help();
  return {
    showGlobalOptions: false,
    formatItem: (term, termWidth, description, { helpWidth = WIDTH }) =>
      layOutTerms([[term, description]], termWidth + 4, helpWidth),
    subcommandTerm: (command) => command.name(),
    visibleOptions: (command) => {
      const flags = help.visibleOptions(command);
      if (!isShort || !flags.some(isCommon)) return flags;
      return flags.filter((flag) => isCommon(flag) || flag.long === '--help');
    },
    groupItems: (all, visible, groupOf) => {
      const isOneGroup = isShort && visible.some(isCommon);
      // Groups that are not ordered here follow: the rare flags, and --help where it is alone.
      const ordered = all.filter((item) => groupOf(item) !== ADVANCED_GROUP);
      return help.groupItems(ordered, visible, isOneGroup ? () => 'Options:' : groupOf);
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

/** The width without a window, and the most in one: longer lines would be hard to read. */
const WIDTH = 80;
const MAX_WIDTH = 100;

/** Returns the columns in which flags and commands are laid out for this output. */
export function helpWidth({ columns }: Output): number {
  return Math.min(columns || WIDTH, MAX_WIDTH);
}

/** The title of a topic. */
const TITLE = /^(?!Usage:).+(?=\n\n)/;
/** `Usage:`, `Examples:` or `Messages (stderr):`, but no sentence that ends with a colon. */
const HEADING = /^Usage:|^Examples.*:$|^[A-Z][\w()]*( [\w()]+){0,2}:$/gm;

/** A flag, a command or another term before its meaning, beside it or below, without what follows it such as `<path>`. */
const TERM = /^ {2}(?! )[^<\n]+?(?= [<[]\w| {2,}[^\s#]|\n {6})/gm;

/** Fits a text for 80 columns into others. An example stays a line, so that it can be copied. */
function narrow(text: string, width: number): string {
  if (width === WIDTH) return text;
  const paragraphs = text.replace(/^(\S.*[^:\n])\n(?=\S)/gm, '$1 ').split('\n');
  return paragraphs
    .flatMap((line) =>
      /^ {2}.*\bwfr |^ {4}\S/.test(line)
        ? [line]
        : /^ |^Usage:/.test(line)
          ? wrapLines([line], width)
          : wrap(line, width),
    )
    .join('\n');
}

/** Writes a help text to stdout or stderr; `color` is the value of --color. Throws OutputError. */
export async function writeHelp(
  text: string,
  color: string | undefined,
  output: Output,
  context: Pick<Context, 'env' | 'docs'>,
): Promise<void> {
  const found = text.replace(/^docs(?=\/)/gm, () => context.docs);
  if (!output.isTerminal) return output.write(found);
  const { openStyle } = await import('../../view/presentation.js');
  const { bold } = await openStyle(color, context, output);
  let shown = narrow(found, helpWidth(output));
  for (const pattern of [TITLE, HEADING, TERM]) shown = shown.replace(pattern, (part) => bold(part));
  await output.write(shown);
}
