/**
 * Shows a progress on stderr: on a terminal as a spinner line, else as a line for each change, and one a minute while nothing
 * changes.
 */
import type { Context } from '../../platform/context.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { MIN_WIDTH, wrapLines } from '../../text/wrap.js';
import type { Paint, Presentation } from '../presentation.js';
import { cutText, textWidth } from '../table.js';

/**
 * A part of a line. Where the line is too long, those of the highest rank are left out first; rank 0 is always shown. A part
 * takes at least `room` columns, even if empty: what is left out must not depend on the digits of a time.
 */
export type Part = readonly [text: string, rank: number, room?: number, paint?: Paint];

/** Parts of a line that commas separate; two spaces separate groups. Empty texts are left out. */
export type Group = readonly Part[];

export type Line = readonly Group[];

/** Draws how much is done, 0 to 1. */
export type DrawBar = (share: number | undefined) => string;

/** What a painter shows; `now` is monotonic (ms). */
export interface Progress {
  /** Returns the lines that are always shown; `bar` draws how much is done, where that is known and bars are shown. */
  lines(now: number, bar: DrawBar): readonly Line[];
  /** Returns the lines below them, of which those are shown that fit into so many rows. */
  below(width: number, room: number): readonly string[];
}

/** Shows a progress until it is stopped. */
export interface Painter {
  /** Shows a change at once; `text` is the line that says it where there is no live line. */
  changed(text?: string): void;
  /** Shows a change with the next frame: for many changes a second. */
  updated(text?: string): void;
  stop(): void;
}

/** What a live line and plain ones are shown with. */
interface PainterTools
  extends Pick<Presentation, 'live' | 'color' | 'terminalProgress'>,
    Pick<Context, 'stderr' | 'clock' | 'onSuspend'> {
  /** Prints a line where there is no live one. */
  print: (line: string) => void;
}

/** Returns what shows a progress, from now to stop(). For a live line alone, ora is loaded. */
export async function loadPainter(tools: PainterTools): Promise<(progress: Progress) => Painter> {
  if (!tools.live) return (progress) => plainPainter(progress, tools);
  const { default: ora } = await import('ora');
  return (progress) => livePainter(progress, ora, tools);
}

/** The columns of the spinner of a live line, and the space after it. */
const INDENT = 2;
/** With the last column, which stays free because some terminals would wrap, and room for the `^C` that they echo. */
const MARGIN = INDENT + 1 + '^C'.length;
/** How often the text is refreshed (ms). */
const TICK = 1_000;
/** The line is hidden until the window has kept its size for so long (ms): dragging resizes it many times. */
const RESIZE_PAUSE = 100;
/** Columns below which bars are half as wide. */
const WIDE = 70;
/** Turns wrapping off (DECAWM), so that a line drawn for the old width is cut rather than wrapped. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';

/** Returns the control sequence of the terminal's progress display: 0 removes it, 1 shows a share, 3 that it is unknown. */
const terminalProgress = (state: 0 | 1 | 3, share = 0) =>
  `\u001b]9;4;${state};${Math.round(share * 100)}\u001b\\`;

/** Shows a progress as a spinner line, and lines below it, removed when it stops. */
function livePainter(
  progress: Progress,
  ora: typeof import('ora')['default'],
  { color, terminalProgress: hasTerminalProgress, stderr: output, clock, onSuspend }: PainterTools,
): Painter {
  const { stream } = output;
  const spinner = ora({
    // ora's type demands more of a stream than ora uses.
    stream: stream as NodeJS.WriteStream,
    isEnabled: true,
    // With it, Ctrl-Z would no longer stop wfr.
    discardStdin: false,
    color: color ? 'cyan' : (false as never),
  });
  /** The lines on the screen. */
  let shown: readonly string[] = [];
  let isResizing = false;
  let cancelTick = () => {};

  const changed = () => {
    if (isResizing) return;
    updated();
    if (spinner.isSpinning) spinner.render();
    else spinner.start();
  };

  /** Control sequences are part of the text: ora treats anything else that is written as output to make room for. */
  const updated = () => {
    const width = output.columns - MARGIN;
    let done: number | undefined;
    const bar = (share: number | undefined) => {
      done = share;
      return drawBar(share, width < WIDE ? 6 : 12);
    };
    const above = fitLines(progress.lines(clock.monotonic(), bar), width, output.mask);
    // A terminal that scrolls cannot be redrawn.
    const room = Math.max(1, output.rows - 1);
    const below = progress
      .below(width, room - above.length)
      // A command that is cut could not be pasted.
      .filter((line) => textWidth(line) <= width);
    shown = output.mask([...above, ...below].slice(0, room).join('\n')).split('\n');
    const display = hasTerminalProgress ? terminalProgress(done === undefined ? 3 : 1, done) : '';
    // Below the text, not the spinner.
    const indent = `\n${' '.repeat(INDENT)}`;
    spinner.text = shown.map((line) => NO_WRAP + line + WRAP).join(indent) + display;
  };

  const tick = () => {
    cancelTick = clock.after(TICK, tick);
    isResizing = false;
    changed();
  };

  const hide = () => {
    spinner.stop();
    if (hasTerminalProgress) stream.write(terminalProgress(0));
  };

  /** A narrower terminal wraps a line into several rows, of which ora would clear one. */
  const onResize = () => {
    const { columns } = output;
    if (columns === 0) return;
    if (spinner.isSpinning) {
      const added = shown.reduce((sum, line) => sum + Math.ceil((textWidth(line) + INDENT) / columns) - 1, 0);
      spinner.stop();
      if (added > 0) stream.write(`\u001b[${added}A\u001b[J`);
    }
    isResizing = true;
    cancelTick();
    cancelTick = clock.after(RESIZE_PAUSE, tick);
  };

  stream.on('resize', onResize);
  const unsubscribe = onSuspend({ before: hide, after: changed });
  tick();
  return {
    changed,
    updated,
    stop() {
      cancelTick();
      stream.removeListener('resize', onResize);
      unsubscribe();
      hide();
    },
  };
}

/** Interval of the lines that show no change (ms). */
const HEARTBEAT = 60_000;

/** Prints the changes, and the lines of `progress` as one a minute after the last one that was shown at once. */
function plainPainter(progress: Progress, { print, clock }: PainterTools): Painter {
  let stop = () => {};
  const restart = () => {
    stop();
    stop = clock.after(HEARTBEAT, () => {
      print(fitLine(progress.lines(clock.monotonic(), () => '').flat()));
      restart();
    });
  };
  const updated = (text?: string) => {
    if (text) print(text);
  };
  const changed = (text?: string) => {
    updated(text);
    if (text) restart();
  };
  restart();
  return { changed, updated, stop: () => stop() };
}

/**
 * Returns lines of at most `width` columns: each has the parts that fit, those of the lowest rank first, and wraps those of
 * rank 0.
 */
export function fitLines(lines: readonly Line[], width: number, mask: SecretMask['mask']): string[] {
  // A secret of several words that is wrapped could not be masked later.
  const texts = lines.map((line) => mask(fitLine(line, width))).filter(Boolean);
  return wrapLines(texts, width).map((text) => cutText(text, width));
}

function fitLine(groups: Line, width = Number.POSITIVE_INFINITY): string {
  const shown: number[] = [];
  const lineOf = (show: (part: Part) => string) =>
    joinTexts(
      groups.map((parts) => joinTexts(parts.filter(([, rank]) => shown.includes(rank)).map(show), ', ')),
    );
  for (const [, rank] of groups.flat().sort(([, one], [, other]) => one - other)) {
    shown.push(rank);
    if (rank > 0 && lineOf(([text, , room = 0]) => text.padEnd(room)).length > width) shown.pop();
  }
  // Where lines are cut, the end of a color would be cut off.
  return lineOf(([text, , , paint]) => (width < MIN_WIDTH ? text : (paint?.(text) ?? text)));
}

/** Joins the texts that are not empty. */
export function joinTexts(texts: readonly string[], separator = '  '): string {
  return texts.filter(Boolean).join(separator);
}

/**
 * Returns a bar of `width` characters that shows a share, 0 to 1: only none leaves it empty, and only the whole fills it. An
 * empty text if the share is unknown.
 */
export function drawBar(share: number | undefined, width = 12): string {
  if (share === undefined) return '';
  const filled = share > 0 ? Math.max(1, Math.floor(Math.min(share, 1) * width)) : 0;
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
