/** The definitions of `wfr completion` and of the hidden command that its scripts call on every Tab. */
import type { CommandEntry } from '../shared/flags.js';

export const COMPLETION: CommandEntry = {
  name: 'completion',
  summary: 'print a script that completes commands on Tab',
  help: `
It also completes flags and their values, workflows, parameters, run ids and
files, and never contacts the service.

Examples, with the startup file of each shell:
  eval "$(wfr completion bash)"         # ~/.bashrc
  source <(wfr completion zsh)          # ~/.zshrc, after compinit
  wfr completion fish | source          # ~/.config/fish/config.fish
  wfr completion powershell | Out-String | Invoke-Expression   # $PROFILE`,
  define(command) {
    command.argument('<shell>', 'your shell: bash, zsh, fish or powershell');
  },
  load: async () => ({ execute: (await import('./complete.js')).printScript }),
};

/** `wfr __complete <shell> -- <word...>`: the last word is the one under the cursor. */
export const COMPLETE: CommandEntry = {
  name: '__complete',
  summary: 'print completions',
  isHidden: true,
  define(command) {
    command.argument('[shell]').argument('[word...]').allowUnknownOption();
  },
  load: () => import('./complete.js'),
};
