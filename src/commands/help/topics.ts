/** The help topics of `wfr help <topic>`. */
import { EXIT_CODE_MEANINGS } from '../../exit-code.js';
import { layOutTerms } from '../../text/wrap.js';
import type { TOPIC_NAMES } from '../shared/flags.js';

/** The meanings of variables, some with the value that has it; those with the same meaning are together. */
const VARIABLES: Readonly<Record<string, string>> = {
  WFR_BASE_URL: 'service address with path prefix',
  WFR_TOKEN: 'access token',
  WFR_TOKEN_FILE: 'file with the access token; WFR_TOKEN overrides it',
  'WFR_ALLOW_HTTP=1': 'allow http to other hosts',
  WFR_WORKFLOW_ID_FIELD: 'auto, worfklowId, workflowId or both',
  WFR_PROFILE: 'profile of the config file to use',
  WFR_CONFIG: 'config file; wfr config path prints the default',
  'HTTPS_PROXY, HTTP_PROXY, NO_PROXY': 'proxy, and hosts to reach without it',
  'SSL_CERT_FILE, SSL_CERT_DIR': 'CA certificates of the system; see also --cacert',
  NODE_EXTRA_CA_CERTS: 'file with additional CA certificates',
  'TRACEPARENT, TRACESTATE': 'trace to send (W3C Trace Context)',
  'WFR_TRACE=0': 'send no trace context',
  'WFR_HISTORY=0': 'keep no history of runs',
  XDG_STATE_HOME: 'folder of the history (default: ~/.local/state)',
  NO_COLOR: 'turn colors off',
  'FORCE_COLOR, CLICOLOR_FORCE': 'color messages without a terminal',
  'CI, TERM=dumb': 'print a line for each change, no live line',
  'GITHUB_STEP_SUMMARY, GITHUB_OUTPUT': 'files that --report github appends to',
};

/** Returns each variable with its meaning. */
export function environmentVariables(): { name: string; value: string | undefined; description: string }[] {
  return Object.entries(VARIABLES).flatMap(([names, description]) =>
    names.split(', ').map((text) => {
      const [name = '', value] = text.split('=');
      return { name, value, description };
    }),
  );
}

const INPUTS = [
  ['name=text', 'a string: customer=ACME'],
  ['name:=json', 'any JSON value, sent unchanged: amount:=12.50'],
  ['name@path', 'a document, its type from the file name: invoice@scan.pdf'],
  ['name@path;type=T', "a document of media type T: 'raw@dump;type=text/csv'"],
  ['name@=path', 'a string from a UTF-8 file: note@=note.txt'],
  ['name@:=path', 'JSON from a file: lines@:=lines.json'],
] as const;

/** By name, what returns the text of a topic, whose terms are laid out in `width` columns. */
export const TOPICS: Readonly<Record<(typeof TOPIC_NAMES)[number], (width: number) => string>> = {
  inputs: (width) => `Inputs

The first separator in an input decides its type; the value never does. Only a
separator that begins with @ reads a file: name=$value sends any value.

${layOutTerms(INPUTS, 20, width)}

The path - is standard input, once at most; ~/ is your home folder. In a name,
escape =, :, @ and \\ with a backslash: a\\=b=c sets the input "a=b" to c. Write a
document whose path begins with = or := with ./, such as scan@./=x.pdf.

In the JSON of --inputs-file, a document is {"$document": "scan.pdf", "type":
"application/pdf"}; the type is optional, and the path is relative to that file.

Inputs must match declared parameters (wfr help config).

Example:
  gunzip -c scan.pdf.gz | wfr run invoice \\
    'invoice@-;type=application/pdf' customer=ACME
`,

  'exit-codes': (width) => `Exit codes

${layOutTerms(EXIT_CODE_MEANINGS, 17, width)}

For several runs, the first that applies of a signal, 70, 74, 6, 4, 7, 8; else
the code that all of them have; else 3.

A row is waiting if not yet sent, invalid if it cannot be, rejected by the
service, unknown if a run may exist, lost if its run no longer does, held if it
may have changed, gone if it left the table.

Example:
  wfr run "$workflow" invoice@scan.pdf || echo "exit code $?"
`,

  environment: (width) => `Environment

A flag overrides a variable, and both override the profile of the config file.
An empty variable counts as unset.

${layOutTerms(Object.entries(VARIABLES), 26, width)}

Example:
  export WFR_TOKEN_FILE=~/.secrets/workflows
`,
};
