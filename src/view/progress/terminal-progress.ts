/** The progress that a terminal shows by itself, in its tab or the task bar (ConEmu's OSC 9;4, which others took over). */
import type { Context } from '../../platform/context.js';

/** Takes the terminal's own progress away. */
export const NO_TERMINAL_PROGRESS = '\u001b]9;4;0;0\u001b\\';

/** The control sequence that shows a share, 0 to 1; undefined shows that something goes on. */
export function terminalProgress(share: number | undefined): string {
  return `\u001b]9;4;${share === undefined ? '3;0' : `1;${Math.round(share * 100)}`}\u001b\\`;
}

/**
 * Whether the terminal is known to understand it; others take OSC 9 for a notification. A multiplexer inherits the
 * variables of the terminal around it, and passes nothing on.
 */
export function hasTerminalProgress(env: Context['env']): boolean {
  if (env.TMUX || env.STY) return false;
  return Boolean(
    env.WT_SESSION ||
      env.ConEmuANSI === 'ON' ||
      env.TERM_PROGRAM === 'WezTerm' ||
      env.TERM_PROGRAM === 'ghostty' ||
      // GNOME's terminals, from VTE 0.80 on.
      Number(env.VTE_VERSION) >= 8_000 ||
      // iTerm2 lists what it can do, each a capital and what follows it; P is progress.
      (env.TERM_PROGRAM === 'iTerm.app' && /P(?![a-z])/.test(env.TERM_FEATURES ?? '')),
  );
}
