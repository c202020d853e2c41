/** The definitions of `wfr completion` and of the hidden command that its scripts call on every Tab. */
import { unknownName } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { CommandEntry } from '../shared/flags.js';

const load = () => import('./complete.js');

export const COMPLETION: CommandEntry = {
  name: 'completion',
  summary: 'print a script that completes commands on Tab',
  help: `
It also completes flags and their values, profiles, workflow names, declared
parameters, recent run ids, @last, and the files of inputs. It reads the config
file and the history, and never contacts the service.

Examples, with the startup file of each shell:
  eval "$(wfr completion bash)"         # ~/.bashrc
  source <(wfr completion zsh)          # ~/.zshrc, after compinit
  wfr completion fish | source          # ~/.config/fish/config.fish
  wfr completion powershell | Out-String | Invoke-Expression   # $PROFILE`,
  define(command) {
    command.argument('<shell>', 'your shell: bash, zsh, fish or powershell');
  },
  async run(command, context) {
    const { SCRIPTS } = await load();
    const [shell = ''] = command.args;
    const script = SCRIPTS.get(shell);
    if (script === undefined)
      throw unknownName(`${shell || '""'}: `, shell, [...SCRIPTS.keys()], 'wfr help completion');
    await context.stdout.write(script);
    return ExitCode.ok;
  },
};

/** `wfr __complete <shell> -- <word...>`: the last word is the one under the cursor. */
export const COMPLETE: CommandEntry = {
  name: '__complete',
  summary: 'print completions',
  isHidden: true,
  define(command) {
    command.argument('[shell]').argument('[word...]').allowUnknownOption();
  },
  async run(command, context) {
    const { complete } = await load();
    const [shell, ...words] = command.args;
    return complete(words, command.parent ?? command, shell !== 'bash', context);
  },
};
