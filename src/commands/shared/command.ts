/** What program.ts knows of each command before it is chosen. */
import type { Command } from 'commander';
import type { Exit } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';

/** Registers the action of the chosen command, which imports the command's code when it runs. */
export type Start = (action: (context: Context) => Promise<Exit>) => void;

/** A command's line in `wfr --help`, and the definition of its flags, help and action. */
export interface CommandEntry {
  name: string;
  summary: string;
  /** Leaves it out of `wfr --help`. */
  isHidden?: true;
  define(command: Command, start: Start): void;
}
