/** The flags and the help of `wfr config` and of each of its commands. */
import { type Command, Option } from 'commander';
import type { Exit } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import {
  addFlags,
  addSettingFlags,
  type CommandEntry,
  common,
  rare,
  rawFlags,
  type Start,
} from '../shared/flags.js';
import type { ConfigAction, ConfigFlags } from './config.js';

const HELP = `
A flag overrides the environment, and both override the profile of the file.

All settings of the file are optional:

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
allowHttp, workflowIdField, resend503, interval, maxInterval. A profile's token,
headers and certificates are only for the origin of its baseUrl. The file must
not contain the token itself.

Examples:
  wfr config init --base-url https://workflows.example.com/api/v1
  wfr config show --profile production
  wfr config check --connect`;

export const CONFIG: CommandEntry = {
  name: 'config',
  summary: 'show the effective settings and check the config file',
  help: HELP,
  parts: [
    {
      name: 'path',
      summary: 'print the path of the config file',
      help: '\nExample:\n  "$EDITOR" "$(wfr config path)"',
      define(command, start) {
        command.description('Print the path of the config file, and whether it exists.');
        setAction('path', command, start);
      },
    },
    {
      name: 'show',
      summary: 'show the effective settings and the source of each',
      help: `
With flags of wfr run, it shows the settings that wfr run has with them.

Example:
  wfr config show --profile production`,
      define(command, start) {
        command
          .description('Show the effective settings and the source of each.')
          .addOption(common(new Option('--json', 'print the settings as JSON')));
        addFlags(command, 'profile', 'messages');
        addSettingFlags(command, rare);
        setAction('show', command, start);
      },
    },
    {
      name: 'check',
      summary: 'check the config file',
      help: '\nExample:\n  wfr config check --connect',
      define(command, start) {
        command
          .description('Report the errors in the config file.')
          .addOption(common(new Option('--connect', 'also ask the service for a run')));
        addFlags(command, 'service', 'messages');
        setAction('check', command, start);
      },
    },
    {
      name: 'init',
      summary: 'write a first config file',
      help: `
The file has the settings of the flags that are given. A file that exists is
left unchanged.

Example:
  wfr config init --base-url https://workflows.example.com/api/v1`,
      define(command, start) {
        command.description('Write a first config file.');
        addFlags(command, 'profile', 'messages');
        addSettingFlags(command);
        setAction('init', command, start);
      },
    },
  ],
  define(command) {
    command.description('Show the effective settings, or locate, check or begin the config file.');
  },
};

function setAction(action: ConfigAction, command: Command, start: Start): void {
  command.action(() =>
    start(async (context: Context): Promise<Exit> => {
      const { config } = await import('./config.js');
      return config(action, rawFlags<ConfigFlags>(command), context);
    }),
  );
}
