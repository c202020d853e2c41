import type { Command } from 'commander';
import type { Exit } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';

/** Takes the work of the command that was chosen; each imports its own code only then. */
export type Start = (work: (context: Context) => Promise<Exit>) => void;

/** A command as the list of commands shows it, and how to give it its flags, its help and its work. */
export interface CommandEntry {
  name: string;
  summary: string;
  /** Whether it is for programs alone. */
  isHidden?: true;
  define(command: Command, start: Start): void;
}
