/** `wfr config`: its flags, its help. */
import { Argument, type Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addServiceFlags, addWaitFlags, rawFlags } from '../shared/flags.js';
import type { ConfigFlags } from './config.js';

const HELP = `
path says where the file is, show what holds and from where each value comes,
check what is wrong in the file. The file has profiles, all settings optional:

  {
    "defaultProfile": "production",
    "profiles": {
      "production": {
        "baseUrl": "https://workflows.example.com/api/v1",
        "tokenCommand": ["pass", "show", "workflows"],
        "timeout": "30m",
        "workflows": { "invoice": "5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e" }
      }
    }
  }

Others are tokenFile, allowHttp, workflowIdField, resend503, interval and
maxInterval. A flag wins over the environment, and both over the profile. A
profile's token is sent to the origin of its baseUrl alone; the file itself
never holds a token.

Examples:
  wfr config check
  wfr config show --profile production
  "$EDITOR" "$(wfr config path)"`;

export const CONFIG: CommandEntry = {
  name: 'config',
  summary: 'the config file, and the settings that hold',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('The config file: where it is, what holds, and what is wrong in it.')
    .addArgument(new Argument('<action>', 'path, show or check').choices(['path', 'show', 'check']));
  addWaitFlags(command);
  addServiceFlags(command)
    .option('--workflow-id-field <field>', 'as of wfr run')
    .option('--json', 'show as JSON')
    .addHelpText('after', HELP)
    .action((action: 'path' | 'show' | 'check') =>
      start(async (context) => {
        const { config } = await import('./config.js');
        return config(action, rawFlags<ConfigFlags>(command), context);
      }),
    );
}
