/** The flags and the help of `wfr config` and of each of its commands. */
import { addFlags, addSettingFlags, type CommandEntry, common, makeRare } from '../shared/flags.js';
import type { ConfigAction } from './config.js';

const SHOW = 'wfr config show --profile production';
const BASE_URL = 'https://workflows.example.com/api/v1';
const INIT = `wfr config init --base-url ${BASE_URL}`;

export const CONFIG: CommandEntry = {
  name: 'config',
  summary: 'show the effective settings and check the config file',
  help: `
A flag overrides the environment, and both override the profile of the file.

All settings of the file are optional:

  {
    "defaultProfile": "production",
    "profiles": {
      "production": {
        "baseUrl": "${BASE_URL}",
        "tokenCommand": ["pass", "show", "workflows"],
        "timeout": "30m",
        "workflows": {
          "invoice": {
            "id": "5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e",
            "parameters": { "invoice": "document", "amount?": "number" }
          }
        }
      }
    }
  }

The parameters of a workflow are string, document, number, boolean, object or
array, and optional with a ? after the name.

Other settings: tokenFile, headerFile, caFile, certFile, keyFile, runUrl,
allowHttp, workflowIdField, resend503, interval, maxInterval.

Examples:
  ${INIT}
  ${SHOW}
  wfr config check`,
  parts: [
    part('path', 'print the path of the config file', '"$EDITOR" "$(wfr config path)"', () => {}),
    part('show', 'show the effective settings and the source of each', SHOW, (command) => {
      command.addOption(common('--json', 'print the settings as JSON'));
      addFlags(command, 'profile', 'messages');
      addSettingFlags(command, makeRare);
    }),
    part('check', 'report the errors in the config file', 'wfr config check', (command) => {
      addFlags(command, 'profile', 'messages');
    }),
    part('init', 'write a first config file, with these settings', INIT, (command) => {
      addFlags(command, 'profile', 'messages');
      addSettingFlags(command);
    }),
  ],
  define() {},
};

function part(
  name: ConfigAction,
  summary: string,
  example: string,
  define: CommandEntry['define'],
): CommandEntry {
  return {
    name,
    summary,
    help: `\nExample:\n  ${example}`,
    define,
    async load() {
      const { config } = await import('./config.js');
      return { execute: (_args, flags, context) => config(name, flags, context) };
    },
  };
}
