/** The environment variables that wfr reads, for `wfr help environment` and `wfr help --json`. */
import { wrap } from '../../text/wrap.js';

/** Variables with the same meaning, some with the value that has it, in groups. */
type Variables = readonly (readonly [names: readonly string[], meaning: string])[];

const SETTINGS: Variables = [
  [['WFR_BASE_URL'], "the service's address, with its path prefix: https, or http to this machine"],
  [['WFR_TOKEN'], 'the access token'],
  [
    ['WFR_TOKEN_FILE'],
    'a file with the access token; WFR_TOKEN overrides it. The token of a profile that --profile names overrides both at the service of that profile',
  ],
  [['WFR_ALLOW_HTTP=1'], 'allow http to other hosts'],
  [['WFR_WORKFLOW_ID_FIELD'], 'auto, worfklowId, workflowId or both'],
  [['WFR_PROFILE'], 'the profile of the config file to use'],
  [
    ['WFR_CONFIG'],
    'the config file (default: wfr/config.json in XDG_CONFIG_HOME, ~/.config or, on Windows, APPDATA)',
  ],
];

const SURROUNDINGS: Variables = [
  [
    ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'],
    'the proxy, and the hosts to reach without it; this machine is always reached directly',
  ],
  [['SSL_CERT_FILE', 'SSL_CERT_DIR'], "the system's CA certificates, as in OpenSSL; see also --cacert"],
  [['NODE_EXTRA_CA_CERTS'], 'a file with additional CA certificates, read at every start'],
  [
    ['TRACEPARENT', 'TRACESTATE'],
    'the trace that this command is a part of, which is sent to the service (W3C Trace Context)',
  ],
  [['WFR_TRACE=0'], 'send no trace context'],
  [['WFR_HISTORY=0'], 'keep no history of runs'],
  [['XDG_STATE_HOME'], 'where the history is stored (default: ~/.local/state)'],
  [['NO_COLOR'], 'turn colors off'],
  [['FORCE_COLOR'], 'turn colors on without a terminal'],
  [['CI', 'TERM=dumb'], 'print a line for each change instead of a live line'],
  [['GITHUB_STEP_SUMMARY', 'GITHUB_OUTPUT'], 'the files that --report github appends to'],
];

/** Returns each variable with its meaning. */
export function environmentVariables(): { name: string; value?: string; description: string }[] {
  return [...SETTINGS, ...SURROUNDINGS].flatMap(([names, description]) =>
    names.map((text) => {
      const [name = '', value] = text.split('=');
      return { name, ...(value !== undefined && { value }), description };
    }),
  );
}

/** Returns the help topic. */
export function environmentHelp(): string {
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

const INDENT = 26;

function formatVariables(variables: Variables): string {
  return variables
    .map(([names, meaning]) => {
      const head = `  ${names.join(', ')}`;
      const start = head.length < INDENT - 1 ? head.padEnd(INDENT) : `${head}\n${' '.repeat(INDENT)}`;
      return start + wrap(meaning, 80 - INDENT).join(`\n${' '.repeat(INDENT)}`);
    })
    .join('\n');
}
