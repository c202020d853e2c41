/** The flags of `wfr help`. */
import type { CommandEntry } from '../shared/flags.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'show help on a command or a topic',
  define(command) {
    command
      .argument('[topic...]', 'a command such as config show, or inputs, exit-codes, environment')
      .option('--json', 'print all commands, flags, variables and codes as JSON')
      .option('--skill', 'print instructions for agents, in the format of skills');
  },
  load: () => import('./help.js'),
};
