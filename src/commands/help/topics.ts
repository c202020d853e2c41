/** The help topics, each on one screen of 80 columns. */
import { EXIT_CODE_MEANINGS } from '../../exit-code.js';
import { wrap } from '../../text/wrap.js';

const INPUTS = `Inputs

The separator decides the type, never the value; the first one counts.

  name=text           the string, as it stands          customer=ACME
  name:=json          any JSON value, as it stands      amount:=12.50
  name@path           a document; its media type        invoice@scan.pdf
                      comes from the file's name
  name@path;type=T    a document of media type T        'raw@dump;type=text/csv'
  name=@path          a string, from a UTF-8 file       note=@note.txt
  name:=@path         JSON, from a file                 lines:=@lines.json

A path of - is standard input, once at most; ~/ is your home folder. In a name,
a backslash makes the next =, :, @ or \\ an ordinary character: a\\=b=c gives the
name "a=b" the value c. A value that begins with @ is written \\@, as in
handle=\\@acme.

Inputs are arguments, or repeated -i flags. --inputs-file reads a JSON object of
inputs, which items override. In it, {"$document": "scan.pdf"} stands for a
document, with "type": "application/pdf" where the name does not tell it; the
path is relative to that file.

A name that is given twice is an error, and so is a file name that does not tell
the media type. All complaints come at once, before anything is sent. --dry-run
shows what would be sent.

Examples:
  wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e invoice@scan.pdf customer=ACME
  pdfunite *.pdf - | wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e \\
    'invoice@-;type=application/pdf' customer=ACME
`;

const ENVIRONMENT = `Environment

A flag wins over a variable, and both win over the profile of the config file
(see wfr help config); an empty variable counts as unset.

  WFR_BASE_URL            the service's address, with its path prefix: https, or
                          http to this machine
  WFR_TOKEN               the access token
  WFR_TOKEN_FILE          a file that holds it (WFR_TOKEN wins)
  WFR_ALLOW_HTTP=1        allow http to other hosts
  WFR_WORKFLOW_ID_FIELD   auto, worfklowId, workflowId or both
  WFR_PROFILE             the profile of the config file to use
  WFR_CONFIG              the config file, in place of wfr/config.json in
                          XDG_CONFIG_HOME, ~/.config or, on Windows, APPDATA

  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                          the proxy to use, and the hosts to reach without it;
                          this machine is always reached directly
  NODE_EXTRA_CA_CERTS     a file with further certificates to trust
  WFR_HISTORY=0           keep no history of the runs that were triggered
  XDG_STATE_HOME          where the history is, instead of ~/.local/state
  NO_COLOR, FORCE_COLOR   no colours; colours also without a terminal
  CI, TERM=dumb           plain lines instead of a live one
  GITHUB_STEP_SUMMARY, GITHUB_OUTPUT
                          the files that --report github adds to

Examples:
  export WFR_BASE_URL=https://workflows.example.com/api/v1
  export WFR_TOKEN_FILE=~/.secrets/workflows
`;

const OUTPUT = `Output

stdout carries the answer and nothing else; stderr carries the reporter.

  -o, --output   run, watch of one run           status
  text           the run's output, as JSON,      a short summary for people
                 once it is FINISHED
  json           the last Run seen, however      the Run
                 it ended (--json for short)
  jsonl          every changed Run, a line each  the Run, one line
  id             the run's id, at once           the id

Of several runs, text is a line for each as it ends, and json a Run on a line.
wfr run --detach prints the id (text, id) or the Run as it was accepted.

The JSON is the service's own: every number, the order of names and unknown
fields stay as they were sent. Only white space is wfr's, and what a terminal or
a CI log would act on is written as \\uXXXX, which is the same value.

--save-documents <folder> writes the documents in the output to files; the JSON
has their paths instead. --quiet keeps stderr to the run's id, warnings and
errors; --verbose adds requests, retries and timings.

Examples:
  wfr run "$workflow" invoice@scan.pdf | jq -r .total
  wfr watch --output jsonl "$id" | jq -r .status
  wfr run "$workflow" invoice@scan.pdf --save-documents out > output.json
`;

const SCRIPTING = `Scripting

The exit code says how a run ended; see wfr help exit-codes. The output is on
stdout only if the run FINISHED, so a pipe never takes half an answer for one.

Start now, wait later; the id is all that is needed:
  id=$(wfr run --detach "$workflow" invoice@scan.pdf)
  wfr watch --timeout 10m "$id" > output.json

Never repeat a command that exited with 6: a run may exist, and a second one may
cost a second time. 7 while triggering means that no run was created; 8 and a
signal leave a run that goes on, and wfr says how to watch it.

In a shell, with the pipe's exit code kept:
  set -o pipefail
  wfr run --quiet "$workflow" customer=ACME | jq -r .total

Values that a script fills in are safe as they are: everything behind the first
separator belongs to the value. Prefer it quoted: "customer=$customer". A name
from outside needs a backslash before = : @ \\ ; a path may begin with ./

A token belongs into WFR_TOKEN, or into a file that WFR_TOKEN_FILE names, never
on a command line, which others on the machine can read.

To try a script without a service, with a command of your own behind --:
  wfr sandbox -- ./pipeline.sh

Example:
  wfr run "$workflow" invoice@scan.pdf > output.json || echo "exit code $?" >&2
`;

function exitCodes(): string {
  const rows = EXIT_CODE_MEANINGS.map(([codes, meaning]) => {
    return `  ${codes.padEnd(15)}${wrap(meaning, 60).join(`\n${' '.repeat(17)}`)}`;
  });
  return `Exit codes

${rows.join('\n')}

Of several runs: the first that applies of a signal, 70, 74, 6, 4, 7, 8; else 0,
1 or 5 if all are alike; else 3.

Example:
  wfr run "$workflow" invoice@scan.pdf > output.json
  case $? in
    0) echo "done" ;;
    6) echo "look before you repeat it" ;;
    *) echo "failed" ;;
  esac
`;
}

/** The topics of \`wfr help <topic>\`, by name. */
export const TOPICS: Readonly<Record<string, () => string>> = {
  inputs: () => INPUTS,
  output: () => OUTPUT,
  'exit-codes': exitCodes,
  environment: () => ENVIRONMENT,
  scripting: () => SCRIPTING,
};
