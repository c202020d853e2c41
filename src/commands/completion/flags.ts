/** `wfr completion`, and the hidden command that its scripts call on every Tab. */
import { Argument, type Command } from 'commander';
import { ExitCode } from '../../exit-code.js';
import type { CommandEntry, Start } from '../shared/command.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const HELP = `
It completes commands, flags and their values, profiles and the names that they
have for workflows, recent runs and @last, and the files of inputs. It reads
the config file and the history, and never speaks to the service.

Examples, each for the file that the shell reads at its start:
  source <(wfr completion bash)         # ~/.bashrc
  source <(wfr completion zsh)          # ~/.zshrc, after compinit
  wfr completion fish | source          # ~/.config/fish/config.fish`;

export const COMPLETION: CommandEntry = {
  name: 'completion',
  summary: 'a script for bash, zsh or fish that completes on Tab',
  define,
};

/** `wfr __complete <shell> -- <word...>`: the last word is the one that is being written. */
export const COMPLETE: CommandEntry = {
  name: '__complete',
  summary: 'what can stand where the cursor is',
  isHidden: true,
  define: defineCallback,
};

function define(command: Command, start: Start): void {
  command
    .description('Print a script that lets a shell complete what you write on Tab.')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: (typeof SHELLS)[number]) =>
      start(async (context) => {
        const { SCRIPTS } = await import('./scripts.js');
        await context.stdout.write(SCRIPTS[shell]);
        return ExitCode.ok;
      }),
    );
}

function defineCallback(command: Command, start: Start): void {
  command
    .argument('[shell]')
    .argument('[word...]')
    .allowUnknownOption()
    .action((shell: string | undefined, words: readonly string[]) =>
      start(async (context) => {
        const { cursorAt } = await import('./cursor.js');
        const { complete } = await import('./complete.js');
        return complete(() => cursorAt(words, command.parent ?? command), shell !== 'bash', context);
      }),
    );
}
