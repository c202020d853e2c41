/** How messages and results are shown: colors, width, live lines; from the flags, the terminals, CI, NO_COLOR and TERM. */
import { unknownName } from '../errors.js';
import { type Tone, WORDS } from '../outcome/outcome.js';
import { type Context, isTurnedOn, type Output } from '../platform/context.js';
import type { JsonColors } from '../text/json/format-json.js';
import { wrapLines } from '../text/wrap.js';

export interface PresentationFlags {
  quiet?: boolean;
  verbose?: boolean;
  color?: string;
  output?: string;
  results?: string;
}

export type Presentation = ReturnType<typeof decidePresentation>;

export const COLOR_CHOICES: readonly string[] = ['auto', 'always', 'never'];

/** Decides how messages are shown. Throws UsageError for an unknown --color. */
export function decidePresentation(flags: PresentationFlags, { env, stdout, stderr, errorsAsData }: Context) {
  const { color = 'auto', output, results, quiet = false, verbose = false } = flags;
  if (!COLOR_CHOICES.includes(color)) throw unknownName(`--color ${color}: `, color, COLOR_CHOICES);
  // A live line would erase parts of what is printed meanwhile, here or by the next program of a pipe.
  const mayMix = !stdout.isFile && (output === 'jsonl' || results === '-');
  // ora loops forever on a terminal of 0 columns.
  const live = stderr.columns > 0 && !isTurnedOn(env.CI) && env.TERM !== 'dumb' && !quiet && !mayMix;
  return {
    quiet,
    verbose: verbose && !quiet,
    color: hasColor(color, env, stderr),
    /** Whether stderr shows one live line rather than a line for each change. */
    live,
    /** Whether the terminal has a progress display of its own. */
    terminalProgress: hasTerminalProgress(env),
    /** Whether a later command can continue with a run: not where the sandbox ends with this command. */
    canContinue: env.WFR_SANDBOX === undefined,
    /** Whether errors are printed when they occur: with --json, what ends the command is printed as data. */
    showsErrors: !errorsAsData,
  };
}

/** Returns the style of an output; `flag` is the value of --color. */
export function openStyle(
  flag: string | undefined,
  { env }: Pick<Context, 'env'>,
  output: Output,
): Promise<Style> {
  return createStyle(hasColor(flag, env, output));
}

/** Returns whether an output is colored; `flag` is the value of --color. */
function hasColor(flag: string | undefined, env: Context['env'], output: Output): boolean {
  if (flag === 'always' || flag === 'never') return flag === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return isTurnedOn(env.FORCE_COLOR);
  if (isTurnedOn(env.CLICOLOR_FORCE)) return true;
  return output.isTerminal && env.TERM !== 'dumb';
}

/** Returns whether stdout is the log of a CI job, where a runner may act on lines of an output. */
export function isCiLog({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  return isTurnedOn(env.CI) && !stdout.isFile;
}

/**
 * Returns whether the terminal is known to show progress by the sequence OSC 9;4; others show OSC 9 as a notification. A
 * multiplexer inherits the variables of its terminal, but does not forward the sequence.
 */
function hasTerminalProgress(env: Context['env']): boolean {
  if (env.TMUX || env.STY) return false;
  return Boolean(
    env.WT_SESSION ||
      env.ConEmuANSI === 'ON' ||
      env.TERM_PROGRAM === 'WezTerm' ||
      env.TERM_PROGRAM === 'ghostty' ||
      // VTE 0.80 and later (GNOME's terminals).
      Number(env.VTE_VERSION) >= 8_000 ||
      // iTerm2 lists its features, each a capital letter and its details; P is progress.
      (env.TERM_PROGRAM === 'iTerm.app' && /P(?![a-z])/.test(env.TERM_FEATURES ?? '')),
  );
}

export type Layout = Awaited<ReturnType<typeof openLayout>>;

/** Returns the layout of stdout; `color` is the value of --color. A pipe has colors only with --color always. */
export async function openLayout(
  color: string | undefined,
  { stdout, env }: Pick<Context, 'stdout' | 'env'>,
) {
  const isColored = color === 'always' || (stdout.isTerminal && hasColor(color, env, stdout));
  return {
    style: await createStyle(isColored),
    jsonColors: isColored ? JSON_COLORS : undefined,
    /** The columns that a line may have; 0 where it may have any number. A window may be made narrower while a command runs. */
    get width() {
      return stdout.columns;
    },
  };
}

export type Paint = (text: string) => string;

/** The colors of tones, and two ways to show a text that has none. */
export type Style = Readonly<Record<Tone | 'dim' | 'bold', Paint>>;

const plain: Paint = (text) => text;

/** No colors. */
export const PLAIN: Style = { good: plain, bad: plain, doubt: plain, open: plain, dim: plain, bold: plain };

/** Returns the style of an output; chalk is loaded only for colors. */
export async function createStyle(color: boolean): Promise<Style> {
  if (!color) return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const { green: good, red: bad, yellow: doubt, dim, bold } = chalk;
  return { good, bad, doubt, open: plain, dim, bold };
}

/** Returns the color of the word for a state. */
export function wordPaint(word: string, style: Style): Paint {
  return style[WORDS.get(word) ?? 'doubt'];
}

/** The colors of jq 1.7. They are sequences, as a string of any length is colored without holding it. */
const JSON_COLORS: JsonColors = {
  key: '\u001b[1;34m',
  string: '\u001b[32m',
  null: '\u001b[90m',
  punctuation: '\u001b[1m',
  end: '\u001b[0m',
};

/** Returns how a status is colored: green and red for the two ends, dim before a run begins, yellow for any other. */
export function statusPaint(status: string | undefined, style: Style): Paint {
  if (status === undefined || status === 'PENDING') return style.dim;
  return status === 'RUNNING' ? style.doubt : wordPaint(status.toLowerCase(), style);
}

/** What to do next, and the command for it, if there is one. */
export interface NextStep {
  text: string;
  command?: string | undefined;
}

/**
 * Returns the lines of steps. Where a command does not fit beside its text, each is on lines of its own, which can be copied: a
 * shell joins those that end with a backslash, a terminal wraps others.
 */
export function stepLines(
  steps: readonly NextStep[],
  style: Style,
  width: number,
  joinsLines = false,
): string[] {
  const isNarrow =
    width > 0 && steps.some(({ text, command = '' }) => text.length + 2 + command.length > width);
  return steps.flatMap(({ text, command }) => {
    if (command === undefined) return wrapLines([text], width);
    return isNarrow
      ? [
          ...wrapLines([`${text}:`], width),
          ...(joinsLines ? breakCommand(command, width) : [`  ${command}`]).map((line) => style.bold(line)),
        ]
      : [`${text}: ${style.bold(command)}`];
  });
}

/** Matches what is before, between and behind the spaces of a command that precede a flag or a redirection. */
const GROUP = /(?:'[^']*'|"[^"]*"|[^ ]| (?![->]))+/g;

/** Returns a command in lines of at most `width` columns, broken before flags and redirections, or in one where they are too long. */
function breakCommand(command: string, width: number): string[] {
  // A command that can be copied has no control character.
  const groups = command.match(GROUP)?.map((group) => group.replaceAll(' ', '\0')) ?? [];
  const lines = wrapLines([`  ${groups.join(' ')}`], width - 2).map((line) => line.replaceAll('\0', ' '));
  if (lines.some((line) => line.length > width - 2)) return [`  ${command}`];
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}
