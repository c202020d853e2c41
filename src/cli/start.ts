import type { Context } from '../context.js';
import type { Exit } from '../exit-code.js';

/** Takes the work of the command that was chosen; each imports its own code only then. */
export type Start = (work: (context: Context) => Promise<Exit>) => void;
