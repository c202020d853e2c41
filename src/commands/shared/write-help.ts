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

/** The widths of the list of flags; in wider windows, long lines are hard to read. */
const MIN_WIDTH = 40;
const MAX_WIDTH = 100;
/** The width without a window, and of the texts, which are written for it. */
const WRITTEN_WIDTH = 80;

/** Returns the columns of a help text on this output. */
export function helpWidth({ isTerminal, columns }: Output): number {
  return isTerminal && columns > 0 ? Math.min(Math.max(columns, MIN_WIDTH), MAX_WIDTH) : WRITTEN_WIDTH;
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
  const { wrapLines } = await import('../../text/wrap.js');
  const isNarrow = output.columns < WRITTEN_WIDTH;
  const shown = isNarrow ? wrapLines(text.split('\n'), output.columns).join('\n') : text;
  const { bold } = await createStyle(hasColor(color, env, output));
  await output.write(
    shown.replace(TITLE, (title) => bold(title)).replace(HEADING, (heading) => bold(heading)),
  );
}
