/** The help topics of `wfr help <topic>`, each on one screen of 80 columns, and the help on a workflow of a profile. */

import { chooseProfile, type Profile, type ProfileFlags } from '../../config/profile.js';
import { namedWorkflows } from '../../config/workflow.js';
import { ERROR_CODES, EXIT_CODE_MEANINGS } from '../../exit-code.js';
import { exampleCommand, itemStart } from '../../inputs/item.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import { layOutTerms } from '../../text/wrap.js';

/** The meanings of variables, some with the value that has it; those with the same meaning are together. */
type Variables = Readonly<Record<string, string>>;

const SETTINGS: Variables = {
  WFR_BASE_URL: "the service's address, with its path prefix: https, or http to this machine",
  WFR_TOKEN: 'the access token',
  WFR_TOKEN_FILE:
    'a file with the access token; WFR_TOKEN overrides it. The token of a profile that --profile names overrides both at the service of that profile',
  'WFR_ALLOW_HTTP=1': 'allow http to other hosts',
  WFR_WORKFLOW_ID_FIELD: 'auto, worfklowId, workflowId or both',
  WFR_PROFILE: 'the profile of the config file to use',
  WFR_CONFIG:
    'the config file (default: wfr/config.json in XDG_CONFIG_HOME, ~/.config or, on Windows, APPDATA)',
};

const SURROUNDINGS: Variables = {
  'HTTPS_PROXY, HTTP_PROXY, NO_PROXY':
    'the proxy, and the hosts to reach without it; this machine is always reached directly',
  'SSL_CERT_FILE, SSL_CERT_DIR': "the system's CA certificates, as in OpenSSL; see also --cacert",
  NODE_EXTRA_CA_CERTS: 'a file with additional CA certificates, read at every start',
  'TRACEPARENT, TRACESTATE':
    'the trace that this command is a part of, which is sent to the service (W3C Trace Context)',
  'WFR_TRACE=0': 'send no trace context',
  'WFR_HISTORY=0': 'keep no history of runs',
  XDG_STATE_HOME: 'where the history is stored (default: ~/.local/state)',
  NO_COLOR: 'turn colors off',
  'FORCE_COLOR, CLICOLOR_FORCE': 'turn colors of messages on without a terminal',
  'CI, TERM=dumb': 'print a line for each change instead of a live line',
  'GITHUB_STEP_SUMMARY, GITHUB_OUTPUT': 'the files that --report github appends to',
};

/** Returns each variable with its meaning. */
export function environmentVariables(): { name: string; value?: string; description: string }[] {
  return Object.entries({ ...SETTINGS, ...SURROUNDINGS }).flatMap(([names, description]) =>
    names.split(', ').map((text) => {
      const [name = '', value] = text.split('=');
      return { name, ...(value !== undefined && { value }), description };
    }),
  );
}

/** Returns the help topic. */
function environmentHelp(): string {
  return `Environment

A flag overrides a variable, and both override the profile of the config file
(see wfr help config). An empty variable counts as unset.

${formatVariables(SETTINGS)}

${formatVariables(SURROUNDINGS)}

Examples:
  export WFR_BASE_URL=https://workflows.example.com/api/v1
  export WFR_TOKEN_FILE=~/.secrets/workflows
`;
}

const formatVariables = (variables: Variables) => layOutTerms(Object.entries(variables), 26).join('\n');

const INPUTS = `Inputs

The first separator in an input decides its type; the value never does. Only a
separator that begins with @ reads a file: name=$value sends any value.

  name=text           a string                          customer=ACME
  name:=json          any JSON value, sent unchanged    amount:=12.50
  name@path           a document; the file name         invoice@scan.pdf
                      decides the media type
  name@path;type=T    a document of media type T        'raw@dump;type=text/csv'
  name@=path          a string from a UTF-8 file        note@=note.txt
  name@:=path         JSON from a file                  lines@:=lines.json

The path - is standard input, once at most; ~/ is your home folder. In a name,
escape =, :, @ and \\ with a backslash: a\\=b=c sets the input "a=b" to c. Write a
document whose path begins with = or := with ./, such as scan@./=x.pdf.

Give inputs as arguments or with -i, which can be repeated. --inputs-file reads
a JSON object of inputs; arguments override its keys. In it, a document is
{"$document": "scan.pdf", "type": "application/pdf"}; the type is optional, and
the path is relative to that file. --no-documents rejects it there: with values
from outside, send JSON that others control with --inputs-file - --no-documents.

Duplicate names and unknown media types are errors. All errors are reported
together, before anything is sent. --dry-run prints what would be sent. If the
config file declares the parameters of the workflow, inputs must match them; see
wfr help config.

Examples:
  wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e invoice@scan.pdf customer=ACME
  gunzip -c scan.pdf.gz | wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e \\
    'invoice@-;type=application/pdf' customer=ACME
`;

const OUTPUT = `Output

stdout carries the result and nothing else; messages go to stderr.

  -o, --output   run, watch of one run           status
  text           the run's output, as JSON,      a summary for people
                 once it is FINISHED
  json           the last Run seen, however      the Run
                 it ended (or --json)
  jsonl          every changed Run, one a line   the Run, on one line
  id             the run's id, at once           the id

For several runs, text prints a line for each as it ends, and json a Run on a
line. wfr run --detach prints the id (text, id) or the accepted Run.

JSON is printed as the service sent it: numbers, the order of keys and unknown
fields are unchanged. Only white space differs, and characters that a terminal
or a CI log would act on are escaped as \\uXXXX. A FINISHED run without an output
prints null. On a terminal, JSON is colored; --color always colors it in a pipe.

--get <pointer> prints one value of the output, named by a JSON Pointer such as
/lines/0/total: a string as its text (control characters as \\uXXXX), all else as
JSON. With -o json, the pointer is into the Run. A run that is not FINISHED
keeps its exit code; a pointer to nothing exits 65. In a name, write ~1 for /
and ~0 for ~.

--save-documents <folder> saves the documents in the output as files; the JSON
has their paths instead. With --quiet, stderr has only the run's id, warnings
and errors; --verbose adds requests, retries and timings.

Examples:
  total=$(wfr run "$workflow" invoice@scan.pdf --get /total)
  wfr watch --output jsonl "$id" | jq -r .status
  wfr run "$workflow" invoice@scan.pdf --save-documents out > output.json
`;

const TABLES = `Tables and the rows of a batch

  --rows table.csv, table.tsv   CSV: a row is a line below the header
  --rows table.jsonl            JSON Lines: a row is an object, as --inputs-file
  --each invoice scans/*.pdf    a row is a file, sent as the document invoice

The header of a CSV table has the names of inputs with their separators, such as
customer,amount:=,invoice@ (see wfr help inputs). An empty cell sends no input.
Paths are relative to the table, and must stay inside its folder, or that of
--files-under. -i adds an input to every row that has none of that name.
Spreadsheets of many countries write semicolons: --delimiter ';'.

wfr names a row by its line, as customers.csv:12, or by its file; --label
customer adds that input: customers.csv:12 (ACME). Where a flag takes a row, it
is the line or position at which the row was found first, or the next above all
others.

Each row ends with one of these outcomes:
  finished       its run FINISHED
  failed         its run FAILED                    again with --retry-failed
  rejected       the service rejected the row      again with --retry-failed
  rejected       the access token was rejected     run again with a valid one
  invalid        its inputs or files are invalid   fix them, and run again
  held           it may be a changed row           send it with --send-changed
  unreachable    the service is down or busy       run again
  waiting        the batch stopped, or --limit     run again
  running        wfr stopped waiting for its run   run again
  lost           its run is unknown (404, 60 s)    again with --retry-failed
  unknown        a run may exist                   check the service first
  gone           it is no longer in the table      nothing

"Run again" is the same command: it continues from the results file. For unknown
rows, --adopt 12=<id> continues with the run that you found, --adopt 12=none
says that there is none, and --resend-unknown 12,14-16 sends rows again. A row
is its content: rows may be inserted, moved and removed.

The first row whose token is rejected or workflow unknown (404), and the
eleventh in succession with the same 4xx, stop the batch, unless --keep-going.

Example:
  wfr batch invoice --rows customers.csv --results out.jsonl
  wfr batch invoice --rows customers.csv --results out.jsonl --retry-failed
`;

const ONCE = `At most one run: wfr run --once <file>

The same command with the same file triggers at most one run, however often it
is run and whatever interrupted it. The file records each step before it takes
effect: keep it where the next attempt finds it. Of two commands at once on one
machine, one triggers the run and both watch it. Another workflow, service or
input than that of the recorded run exits 2 and sends nothing.

  the file says        the same command
  nothing              triggers the run
  not sent, rejected   triggers the run, also with corrected inputs
  accepted             watches the run
  FINISHED             prints the same output again, without a request
  FAILED               exits 1
  sent, no answer      exits 6 and sends nothing

What to do next, by exit code:
  0    nothing: the output is on stdout, or the id with --detach
  1    the run FAILED; --retry-failed triggers another one
  2    fix what the message names, then the same command
  4    get a valid token, then the same command
  5    fix what the message names, then the same command
  6    a run may exist: look for it in the service, then the same command with
         --adopt <id>       to continue with the run that exists
         --resend-unknown   to send again, as there is none
  7    the same command, later; if the run is lost (404), with --retry-failed
  8    the same command: it watches the run, which continues
  65   the run FINISHED: the same command with another --get pointer
  70   report it; the same command continues
  74   make space or choose another path, then the same command
  129, 130, 143   the same command

Examples:
  wfr run --once 4711.once "$workflow" invoice@scan.pdf > output.json
  wfr run --once 4711.once "$workflow" invoice@scan.pdf --adopt "$id"
  wfr results 4711.once
`;

function exitCodes(): string {
  return `Exit codes

${layOutTerms(EXIT_CODE_MEANINGS, 17).join('\n')}

For several runs, the first that applies of a signal, 70, 74, 6, 4, 7, 8; else
the code that all of them have; else 3.

Example:
  code=0; wfr run "$workflow" invoice@scan.pdf > output.json || code=$?
  case $code in
    0) echo "done" ;;
    6) echo "check the service first" ;;
    *) echo "failed" ;;
  esac
`;
}

function errors(): string {
  const rows = Object.entries(ERROR_CODES).map(([code, [exit, meaning]]) => {
    const exits = exit === 'signal' ? '128+' : String(exit);
    return [code.padEnd(20) + exits, meaning] as const;
  });
  return `Errors for programs

With -o json, -o jsonl or --json, whatever ends a command with an exit code
other than 0 is one JSON line, the last of stderr, in place of the message:

  {"error":{"code":"still-running","exitCode":8,"message":"…","details":[],
  "hints":[],"retryable":false,"retryAfterMs":null,"attempts":null,
  "runMayExist":false,"candidateId":null,"runId":"…","step":null,
  "differs":[],"resume":"wfr watch …","service":null,
  "runCount":1,"runs":[{"id":"…","code":"still-running"}]}}

  code, exitCode     what happened, in one word: see below
  message, details   what happened, in one sentence, and more lines about it
  hints              how to fix it, and what to add to resume
  retryable          the same command is safe to run again, and might succeed
  retryAfterMs       how long the service asks to wait before that
  attempts           how many requests to trigger the run were sent
  runMayExist        a run may exist; candidateId is an id that it may have
  runId, resume      the run, and the command that continues with it
  step               where the run failed
  differs            the inputs that are not those that --once recorded
  service            the response: its status, message and requestId
  runCount, runs     what did not succeed: id, code, row, label

Ignore other members. --report json has the same object, also for exit code 2.
The package has its schema, error.schema.json.

${layOutTerms(rows, 28).join('\n')}

Example:
  wfr run --json "$workflow" customer=ACME 2> log || tail -n 1 log | jq .error
`;
}

/** Topics by name. */
export const TOPICS: Readonly<Record<string, string>> = {
  inputs: INPUTS,
  tables: TABLES,
  output: OUTPUT,
  once: ONCE,
  'exit-codes': exitCodes(),
  errors: errors(),
  environment: environmentHelp(),
};

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
describe a document. "failure": {"step": "Read", "message": "no pages"} makes
every run fail at that step, and with "when": {"pages": 0} in it only those with
this input.

--from-profile <name> serves the workflows of a profile of the config file, with
their declared parameters, instead.

Examples:
  wfr sandbox --workflows workflows.json --list
  wfr sandbox --workflows workflows.json -- ./pipeline.sh
`;

/** By command, then by subtopic. */
export const SUBTOPICS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  batch: { rows: TABLES },
  run: { inputs: INPUTS, output: OUTPUT, once: ONCE },
  sandbox: { workflows: SANDBOX_WORKFLOWS },
};

/** A longer name has its description on the next line. */
const MAX_NAME_WIDTH = 27;

/** Returns the help; undefined if the profile has no workflow of this name, or cannot be read. */
export async function workflowHelp(
  name: string,
  flags: ProfileFlags,
  context: Context,
): Promise<string | undefined> {
  // Help is for those whose config file is not valid, too.
  const profile = await chooseProfile(flags, context).catch((): Profile | undefined => undefined);
  const workflow = namedWorkflows(profile).find((candidate) => candidate.name === name);
  if (profile === undefined || workflow === undefined) return undefined;
  const { id, parameters } = workflow;
  const title = sanitize(`Workflow ${name} of profile ${profile.name}: ${id}`);
  const command = parameters ? exampleCommand(name, parameters) : shellCommand(['wfr', 'run', name]);
  const list = parameters
    ? ['Parameters:', ...parametersList([...parameters.values()])]
    : ['Its parameters are not declared; see wfr help config.'];
  return `${[title, '', 'Example:', `  ${command}`, '', ...list].join('\n')}\n`;
}

function parametersList(parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return ['  none'];
  const names = parameters.map((parameter) => sanitize(itemStart(parameter)));
  const width = Math.min(Math.max(...names.map(({ length }) => length)), MAX_NAME_WIDTH);
  return layOutTerms(
    parameters.map((parameter, index) => [names[index] ?? '', sanitize(describeParameter(parameter))]),
    width + 4,
  );
}
