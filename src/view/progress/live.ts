/** Progress on a terminal: a spinner line on stderr, and lines below it, removed when it stops. */
import ora from 'ora';
import type { Context } from '../../platform/context.js';
import type { Presentation } from '../presentation.js';
import { textWidth } from '../table.js';
import { drawBar, fitLines, type Painter, type Progress } from './progress.js';

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

/** Shows `progress` in such a line, from now to stop(). */
export function livePainter(
  { color, terminalProgress: hasTerminalProgress }: Presentation,
  { stderr: output, clock, onSuspend }: Pick<Context, 'stderr' | 'clock' | 'onSuspend'>,
  progress: Progress,
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
