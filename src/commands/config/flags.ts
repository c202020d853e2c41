/** The flags and the help of `wfr config`. */
import { Argument, type Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addServiceFlags, addWaitFlags, rawFlags } from '../shared/flags.js';
import type { ConfigFlags } from './config.js';

const HELP = `
path prints where the file is, show the effective settings and where each comes
from, check the errors in the file. The file has profiles of optional settings:

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

The other settings are tokenFile, allowHttp, workflowIdField, resend503,
interval and maxInterval. A flag overrides the environment, and both override
the profile. A profile's token is sent only to the origin of its baseUrl. The
file must not contain the token itself.

Examples:
  wfr config check
  wfr config show --profile production
  "$EDITOR" "$(wfr config path)"`;

export const CONFIG: CommandEntry = {
  name: 'config',
  summary: 'show the effective settings, check the config file',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Show the effective settings, or find and check the config file.')
    .addArgument(new Argument('<action>', 'path, show or check').choices(['path', 'show', 'check']));
  addWaitFlags(command);
  addServiceFlags(command)
    .option('--workflow-id-field <field>', 'see wfr help run')
    .option('--json', 'show as JSON')
    .addHelpText('after', HELP)
    .action((action: 'path' | 'show' | 'check') =>
      start(async (context) => {
        const { config } = await import('./config.js');
        return config(action, rawFlags<ConfigFlags>(command), context);
      }),
    );
}
