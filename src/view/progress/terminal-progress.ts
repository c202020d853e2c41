/** Progress in the terminal's tab or task bar (OSC 9;4, from ConEmu). */
import type { Context } from '../../platform/context.js';

/** Removes the terminal's progress display. */
export const NO_TERMINAL_PROGRESS = '\u001b]9;4;0;0\u001b\\';

/** Returns the control sequence that shows a share, 0 to 1; undefined shows indeterminate progress. */
export function terminalProgress(share: number | undefined): string {
  return `\u001b]9;4;${share === undefined ? '3;0' : `1;${Math.round(share * 100)}`}\u001b\\`;
}

/**
 * Returns whether the terminal is known to support it; others show OSC 9 as a notification. A multiplexer inherits the
 * variables of its terminal, but does not forward the sequence.
 */
export function hasTerminalProgress(env: Context['env']): boolean {
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
