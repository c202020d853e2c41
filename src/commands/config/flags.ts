/** The flags and the help of `wfr config`. */
import { Argument, type Command } from 'commander';
import { addServiceFlags, addWaitFlags, type CommandEntry, rawFlags, type Start } from '../shared/flags.js';
import type { ConfigFlags } from './config.js';

const HELP = `
path prints the path of the config file, show the effective settings and the
source of each, check the errors in the file. init writes a first file with the
flags that are given, unless there is one. All settings are optional:

  {
    "defaultProfile": "production",
    "profiles": {
      "production": {
        "baseUrl": "https://workflows.example.com/api/v1",
        "tokenCommand": ["pass", "show", "workflows"],
        "timeout": "30m",
        "workflows": {
          "claims": "0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79",
          "invoice": {
            "id": "5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e",
            "parameters": {
              "invoice": { "type": "document", "accept": ["application/pdf"] },
              "customer": { "type": "string", "description": "its number" },
              "amount?": "number"
            }
          }
        }
      }
    }
  }

The parameters of a workflow are string, document, number, boolean, object or
array, and optional with a ? after the name. With them, inputs are checked
before anything is sent.

Other settings: tokenFile, headerFile, caFile, certFile, keyFile, runUrl,
allowHttp, workflowIdField, resend503, interval, maxInterval. A flag overrides
the environment, and both override the profile. A profile's token, headers and
certificates are only for the origin of its baseUrl. The file must not contain
the token itself.

Examples:
  wfr config init --base-url https://workflows.example.com/api/v1
  wfr config check --connect
  wfr config show --profile production
  "$EDITOR" "$(wfr config path)"`;

export const CONFIG: CommandEntry = {
  name: 'config',
  summary: 'show the effective settings and check the config file',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Show the effective settings, or locate, check or begin the config file.')
    .addArgument(
      new Argument('<action>', 'path, show, check or init').choices(['path', 'show', 'check', 'init']),
    );
  addWaitFlags(command);
  addServiceFlags(command)
    .option('--workflow-id-field <field>', 'workflow field to send; see wfr help run')
    .option('--json', 'print the settings as JSON')
    .option('--connect', 'check: also ask the service for a run')
    .addHelpText('after', HELP)
    .action((action: 'path' | 'show' | 'check' | 'init') =>
      start(async (context) => {
        const { config } = await import('./config.js');
        return config(action, rawFlags<ConfigFlags>(command), context);
      }),
    );
}
