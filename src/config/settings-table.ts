/**
 * The settings of the config file, each described once. Validation, error messages, flags and variables, defaults,
 * `wfr config show` and config.schema.json (`npm run schema`) come from this table: a new setting is one more row.
 */
import { PARAMETERS_SCHEMA, parseParameters } from '../parameters/declaration.js';
import { DEFAULT_LIMITS } from '../platform/context.js';
import { WORKFLOW_ID_FIELD_CHOICES } from '../service/workflow-id-field.js';
import type { JsonProblem } from '../text/json/json-file.js';

/** A value of the file, in keywords of JSON Schema. */
export interface ValueSchema {
  type: 'string' | 'boolean' | 'array' | 'object';
  /** Completes the message "must be …". */
  title: string;
  description?: string;
  default?: string | boolean;
  /** The first one is quoted in messages. */
  examples: readonly [unknown, ...unknown[]];
  enum?: readonly string[];
  pattern?: RegExp;
  minItems?: number;
  items?: ValueSchema;
  properties?: Readonly<Record<string, ValueSchema>>;
  additionalProperties?: ValueSchema;
  /** The description completes the message "the name …". */
  propertyNames?: ValueSchema;
  /** The properties that must not be missing. */
  required?: readonly string[];
  /** What may stand in place of an object. */
  shorthand?: ValueSchema;
  /** Checks what these keywords do not express, and its JSON Schema. */
  declaration?: { check(value: unknown): readonly JsonProblem[]; jsonSchema: object };
  /** A mistyped value may contain a secret, so messages never quote it. */
  isSensitive?: true;
}

export interface Setting extends ValueSchema {
  description: string;
  /** What overrides the profile: a flag, then an environment variable. */
  flag?: `--${string}`;
  variable?: `WFR_${string}`;
  /** Applies only to the origin of the profile's baseUrl, and so requires a baseUrl in the same profile. */
  isBoundToBaseUrl?: true;
  /** A setting that must not be in the same profile. */
  excludes?: string;
  /** A setting that must be in the same profile. */
  requires?: string;
}

/** Matches a token (a JWT, or one with a known prefix), and a URL with a password that is not a variable. */
const SECRET =
  /([Bb]earer [\w.~+/=-]{8}|eyJ[\w-]{1,999}\.|(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-(?=[\w-]{20}))(?=[A-Za-z_-]{0,99}\d)[\w-]{10}|[A-Za-z][\w+.-]{0,30}:\/\/[^\s/:@]*:[^\s/@$][^\s/@]*@)/
    .source;
const PATH = new RegExp(`^(?!Bearer |${SECRET})[^\\u0000]+$`);
/** An argument may be a script, so a secret may follow every character that cannot be part of a longer name. */
const ARGUMENT = new RegExp(
  `^(?!\\s*([Aa]uthorization\\s*:|Bearer )|([\\s\\S]*(//|[^\\w./-]))?${SECRET})[^\\u0000]+$`,
);
const DURATION = /^(\d{1,9}ms|(\d{1,9}(\.\d{1,3})?|\.\d{1,3})[smh]?)$/;
const POSITIVE_DURATION = new RegExp(`^(?=.*[1-9])${DURATION.source.slice(1)}`);
const RUN_URL = /^https?:\/\/[^\s/@{}<>|"'\\`]+\/[^\s{}<>|"'\\`]*\{id\}[^\s{}<>|"'\\`]*$/;
const UUID = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;
const NOT_UUID_URL_OR_FLAG = /^(?!.*:\/\/)(?!.*[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12})[^-]/;

const WORKFLOW_UUID = {
  type: 'string',
  title: 'the UUID of a workflow',
  description: "The workflow's UUID, which is part of its URL.",
  pattern: UUID,
  examples: ['5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e'],
} as const satisfies ValueSchema;

/** Returns a setting that is on or off, at the service of the profile. */
const toggle = (description: string) =>
  ({
    type: 'boolean',
    title: 'true or false',
    description,
    default: false,
    examples: [true],
    isBoundToBaseUrl: true,
  }) as const;

/** The path of a file for the service of the profile; the value may be the content itself. */
const SERVICE_FILE = { type: 'string', pattern: PATH, isBoundToBaseUrl: true, isSensitive: true } as const;

const ROWS = {
  baseUrl: {
    type: 'string',
    title: 'a URL',
    description: 'The base URL of the service, with its path prefix: https, or http to this machine.',
    examples: ['https://workflows.example.com/api/v1'],
    flag: '--base-url',
    variable: 'WFR_BASE_URL',
    isSensitive: true,
  },
  allowHttp: {
    ...toggle('Allow http to a host other than this machine, on a private network.'),
    flag: '--allow-http',
    variable: 'WFR_ALLOW_HTTP',
  },
  tokenFile: {
    ...SERVICE_FILE,
    title: 'the path of a file that contains the access token',
    description:
      'A file that contains the access token and nothing else. "~/" is your home folder; other paths are relative to' +
      ' this file. The token is sent only to the origin of baseUrl. WFR_TOKEN, the token itself, overrides it.',
    examples: ['~/.secrets/workflows'],
    flag: '--token-file',
    variable: 'WFR_TOKEN_FILE',
    excludes: 'tokenCommand',
  },
  tokenCommand: {
    type: 'array',
    title: 'a list of a command and its arguments',
    description:
      'A command that prints the access token as its first line. It runs without a shell, in the folder of this file,' +
      ' for up to 60 s, when a token is needed and again when the service rejects the token. The token is sent only to' +
      ' the origin of baseUrl.',
    minItems: 1,
    items: { type: 'string', title: 'a string', pattern: ARGUMENT, examples: ['pass'], isSensitive: true },
    examples: [['pass', 'show', 'workflows']],
    isBoundToBaseUrl: true,
    isSensitive: true,
  },
  headerFile: {
    ...SERVICE_FILE,
    title: 'the path of a file with request headers',
    description:
      'A file with request headers, one "name: value" a line, for secrets such as API keys; blank lines and lines that' +
      ' begin with # are ignored. "~/" is your home folder; other paths are relative to this file. The headers are sent' +
      ' only to the origin of baseUrl.',
    examples: ['~/.secrets/workflows-headers'],
    flag: '--header-file',
  },
  caFile: {
    ...SERVICE_FILE,
    title: 'the path of a file with certificates',
    description:
      'Certificates in PEM, to trust in addition to those of Node.js and of the system. "~/" is your home folder; other' +
      ' paths are relative to this file. They are trusted only for the origin of baseUrl.',
    examples: ['~/.certs/authority.pem'],
    flag: '--cacert',
  },
  certFile: {
    ...SERVICE_FILE,
    title: 'the path of a file with a client certificate',
    description:
      'The client certificate in PEM, followed by those that lead to its issuer, for a service that requires one. It is' +
      ' shown only to the origin of baseUrl.',
    examples: ['~/.certs/client.pem'],
  },
  keyFile: {
    ...SERVICE_FILE,
    title: 'the path of a file with a private key',
    description:
      'The private key of certFile in PEM, unless that file has it, too. An encrypted one asks for its passphrase on a' +
      ' terminal.',
    examples: ['~/.certs/client.key'],
    requires: 'certFile',
  },
  runUrl: {
    type: 'string',
    title: 'a URL with {id}',
    description:
      'The page of a run, for people: {id} stands for its id. wfr prints it, and links to it in reports.',
    pattern: RUN_URL,
    examples: ['https://app.example.com/runs/{id}'],
    isBoundToBaseUrl: true,
  },
  workflowIdField: {
    type: 'string',
    title: 'auto, worfklowId, workflowId or both',
    description: "The name of the field that carries the workflow's id in a trigger.",
    enum: WORKFLOW_ID_FIELD_CHOICES,
    default: 'auto',
    examples: ['auto'],
    flag: '--workflow-id-field',
    variable: 'WFR_WORKFLOW_ID_FIELD',
  },
  resend503: {
    ...toggle(
      'Send a trigger again after a 503 with Retry-After. Only if the operator of the service guarantees that such an' +
        ' answer created nothing.',
    ),
    flag: '--resend-503',
  },
  interval: {
    type: 'string',
    title: 'a duration of at least 1ms',
    description: 'The time between polls, such as 500ms, 2s, 1.5m or 1h.',
    pattern: POSITIVE_DURATION,
    default: `${DEFAULT_LIMITS.polling.interval / 1_000}s`,
    examples: ['2s'],
    flag: '--interval',
  },
  maxInterval: {
    type: 'string',
    title: 'a duration of at least 1ms',
    description: 'The longest time between polls of a run that does not change.',
    pattern: POSITIVE_DURATION,
    default: `${DEFAULT_LIMITS.polling.maxInterval / 1_000}s`,
    examples: ['10s'],
    flag: '--max-interval',
  },
  timeout: {
    type: 'string',
    title: 'a duration',
    description: 'Stop waiting this long after the run was accepted; the run continues.',
    pattern: DURATION,
    examples: ['10m'],
    flag: '--timeout',
  },
  workflows: {
    type: 'object',
    title: 'an object of workflow UUIDs by name',
    description:
      'Names for workflows, for wfr run <name>. With names, wfr run rejects any other that is no UUID.',
    examples: [{ invoice: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e' }],
    propertyNames: {
      type: 'string',
      title: 'workflow name',
      description: 'must not be empty, start with "-", or contain a UUID or a URL',
      pattern: NOT_UUID_URL_OR_FLAG,
      examples: ['invoice'],
    },
    additionalProperties: {
      type: 'object',
      title: 'the UUID of a workflow, or an object with "id" and "parameters"',
      description:
        "The workflow's UUID, which is part of its URL, or an object that also declares its parameters.",
      examples: ['5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e'],
      shorthand: WORKFLOW_UUID,
      required: ['id'],
      properties: {
        id: WORKFLOW_UUID,
        parameters: {
          type: 'object',
          title: 'an object of types by parameter name',
          description:
            'The parameters of the Start Node: string, document, number, boolean, object or array. A name that ends with ?' +
            ' is optional. Inputs are checked before anything is sent.',
          examples: [{ invoice: 'document', customer: 'string', 'amount?': 'number' }],
          declaration: {
            check: (value: unknown) => parseParameters(value).problems,
            jsonSchema: PARAMETERS_SCHEMA,
          },
        },
      },
    },
  },
} as const satisfies Record<string, Setting>;

type ValueOf<S extends ValueSchema> = S extends { type: 'boolean' }
  ? boolean
  : S extends { type: 'array' }
    ? string[]
    : S extends { type: 'object' }
      ? Record<string, WorkflowSetting>
      : string;

/** A workflow: its UUID, or an object that also declares its parameters. */
type WorkflowSetting = string | { id: string; parameters?: Record<string, unknown> };

/** The settings of one profile that passed the checks. */
export type ProfileSettings = { [Name in keyof typeof ROWS]?: ValueOf<(typeof ROWS)[Name]> };

export const SETTINGS: Readonly<Record<keyof ProfileSettings, Setting>> = ROWS;

/** The content of a config file that passed the checks. */
export interface ConfigContent {
  $schema?: string;
  defaultProfile?: string;
  profiles?: Record<string, ProfileSettings>;
}

export const CONFIG_FILE: ValueSchema = {
  type: 'object',
  title: 'an object with profiles',
  description:
    'Settings of wfr. They contain no secret: the access token is in a separate file, or printed by a command.',
  examples: [{ profiles: {} }],
  properties: {
    $schema: {
      type: 'string',
      title: 'the location of this schema',
      description: 'Lets an editor complete and check the file.',
      examples: ['./node_modules/wfr/config.schema.json'],
    },
    defaultProfile: {
      type: 'string',
      title: 'the name of a profile',
      description: 'The profile to use when neither --profile nor WFR_PROFILE names one.',
      examples: ['production'],
    },
    profiles: {
      type: 'object',
      title: 'an object of profiles by name',
      description: 'Profiles by name, for --profile and WFR_PROFILE.',
      examples: [{ production: { baseUrl: 'https://workflows.example.com/api/v1' } }],
      propertyNames: {
        type: 'string',
        title: 'profile name',
        description: 'must not be empty or start with "-"',
        pattern: /^[^-]/,
        examples: ['production'],
      },
      additionalProperties: {
        type: 'object',
        title: 'a profile',
        description: 'A service, how to connect to it, and its workflows.',
        examples: [{ baseUrl: 'https://workflows.example.com/api/v1' }],
        properties: SETTINGS,
      },
    },
  },
};
