/** The help on a part of a command: `wfr help <command> <subtopic>`. */
import { TOPICS } from './topics.js';

const CONFIG_PATH = `The path of the config file

wfr config path prints where the config file is, or would be: WFR_CONFIG, else
wfr/config.json in XDG_CONFIG_HOME, ~/.config or, on Windows, APPDATA. stderr
says whether the file exists. The working folder is never searched.

Example:
  "$EDITOR" "$(wfr config path)"
`;

const CONFIG_SHOW = `The effective settings

wfr config show prints each setting with its value and its source: a flag, a
variable, a line of the config file, or the default. The token is never shown,
only where it comes from. It takes the flags of other commands, so it tells
which settings they would use. --json prints {"name": {"value", "source"}}.

Examples:
  wfr config show --profile production
  wfr config show --json | jq -r .baseUrl.value
`;

const CONFIG_CHECK = `The errors in the config file

wfr config check prints every error in the file as path:line:column: message,
which editors parse, and exits with 2 if there is one. With --profile, that
profile must exist. A warning names each file that cannot be read, each program
of a tokenCommand that does not exist, and each certificate that expires within
30 days. Nothing is sent, and no command is run.

--connect then asks the service for a run that cannot exist: it says whether
the address, TLS and the token work, with the exit codes of wfr status.

Examples:
  wfr config check --connect
  WFR_CONFIG=new.json wfr config check
`;

const CONFIG_INIT = `A first config file

wfr config init writes a config file with the flags that are given, such as
--base-url and --token-file, and prints its path. --profile names its profile. A
file that exists is left unchanged, with exit code 2.

Example:
  wfr config init --base-url https://workflows.example.com/api/v1
`;

const SANDBOX_WORKFLOWS = `Workflows of the sandbox

--workflows <file> reads the workflows from a JSON file:

  {
    "workflows": [
      {
        "id": "11111111-2222-3333-4444-555555555555",
        "versionName": "v1",
        "parameters": { "scan": "document", "pages?": "number" },
        "steps": [{ "name": "Read", "duration": "500ms" }],
        "output": { "pages": "{{pages}}", "copy": "{{scan}}" }
      }
    ]
  }

Parameters are string, document, number, boolean, object or array, and optional
with a ? after the name. A text of the output that is one placeholder returns
the value of an input; {{scan.bytes}}, {{scan.sha256}} and {{scan.mediaType}}
describe a document. "failure": {"step": "Read", "message": "no pages"} lets
every run fail at that step.

--from-profile <name> serves the workflows of a profile of the config file, with
their declared parameters, instead.

Examples:
  wfr sandbox --workflows workflows.json --list
  wfr sandbox --workflows workflows.json -- ./pipeline.sh
`;

/** By command, then by subtopic. */
export const SUBTOPICS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  batch: { rows: () => TOPICS.tables?.() ?? '' },
  config: {
    path: () => CONFIG_PATH,
    show: () => CONFIG_SHOW,
    check: () => CONFIG_CHECK,
    init: () => CONFIG_INIT,
  },
  run: {
    inputs: () => TOPICS.inputs?.() ?? '',
    output: () => TOPICS.output?.() ?? '',
    once: () => TOPICS.once?.() ?? '',
  },
  sandbox: { workflows: () => SANDBOX_WORKFLOWS },
};
