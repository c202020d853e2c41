/**
 * The settings of a profile, each described once. Validation, error messages, flags and variables, defaults,
 * `wfr config show` and config.schema.json (`npm run schema`) come from this table: a new setting is one more row. What
 * it is for is said by its flag, or where the schema is made.
 */
import { PARAMETERS_SCHEMA, textSchema } from '../parameters/declaration.js';
import { DEFAULT_LIMITS } from '../platform/context.js';
import { WORKFLOW_ID_FIELD_CHOICES } from '../service/workflow-id-field.js';
import type { Schema } from '../text/json/check-schema.js';
import { DURATION } from '../text/quantity.js';
import { UUID } from '../text/url.js';

export interface Setting extends Schema {
  /** What overrides the profile: a flag, then an environment variable. */
  flag?: `--${string}`;
  variable?: `WFR_${string}`;
  /** The settings that must be in the same profile; with baseUrl, it applies only to the origin of that. */
  requires?: readonly string[];
  /** A setting that must not be in the same profile. */
  excludes?: string;
  /** A mistyped value may contain a secret, so messages never quote it. */
  isSensitive?: true;
}

/** Matches a token (a JWT, or one with a known prefix), and a URL with a password that is not a variable. */
const SECRET =
  /([Bb]earer [\w.~+/=-]{8}|eyJ[\w-]{1,999}\.|(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-(?=[\w-]{20}))(?=[A-Za-z_-]{0,99}\d)[\w-]{10}|[A-Za-z][\w+.-]{0,30}:\/\/[^\s/:@]*:[^\s/@$][^\s/@]*@)/
    .source;
/** A path or an argument, which may be a script: a secret may follow what cannot be part of a longer name. */
const WITHOUT_SECRET = new RegExp(
  `^(?!\\s*([Aa]uthorization\\s*:|Bearer )|([\\s\\S]*(//|[^\\w./-]))?${SECRET})[^\\u0000]+$`,
);
const POSITIVE_DURATION = new RegExp(`^(?=.*[1-9])${DURATION.source.slice(1)}`);
const RUN_URL = /^https?:\/\/[^\s/@{}<>|"'\\`]+\/[^\s{}<>|"'\\`]*\{id\}[^\s{}<>|"'\\`]*$/;
const NOT_UUID_URL_OR_FLAG = /^(?!.*:\/\/)(?!.*[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12})[^-]/;

/** Returns a setting with a text. */
const text = textSchema<Partial<Setting>>;

/** What a setting requires that is for the service of the profile. */
const NEEDS_BASE_URL = ['baseUrl'];

/** Returns a setting that is on or off, at the service of the profile. */
const toggle = (rest: Partial<Setting>) =>
  ({ ...rest, type: 'boolean', title: 'true or false', default: false, requires: NEEDS_BASE_URL }) as const;

/** Returns a setting with the path of a file for the service of the profile; the value may be the content itself. */
const file = (content: string, rest: Partial<Setting> = {}) =>
  text(`the path of a file with ${content}`, {
    pattern: WITHOUT_SECRET,
    requires: NEEDS_BASE_URL,
    isSensitive: true,
    ...rest,
  });

/** Returns a setting with a time between polls, by default of `ms` milliseconds. */
const interval = (ms: number, flag: `--${string}`) => {
  const value = `${ms / 1_000}s`;
  return text(`a duration of at least 1ms, such as "${value}"`, {
    pattern: POSITIVE_DURATION,
    default: value,
    flag,
  });
};

const WORKFLOW_UUID = text('the UUID of a workflow, such as "5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e"', {
  pattern: UUID,
});

const POLLING = DEFAULT_LIMITS.polling;

/** What messages and a first config file have in place of the address of a service. */
export const EXAMPLE_BASE_URL = 'https://workflows.example.com/api/v1';

const ROWS = {
  baseUrl: text(`a URL, such as "${EXAMPLE_BASE_URL}"`, {
    flag: '--base-url',
    variable: 'WFR_BASE_URL',
  }),
  tokenFile: file('the access token', {
    flag: '--token-file',
    variable: 'WFR_TOKEN_FILE',
    excludes: 'tokenCommand',
  }),
  tokenCommand: {
    type: 'array',
    title: 'a list of a command and its arguments, such as ["pass", "show", "workflows"]',
    minItems: 1,
    items: text('a string', { pattern: WITHOUT_SECRET, isSensitive: true }),
    requires: NEEDS_BASE_URL,
    isSensitive: true,
  },
  allowHttp: toggle({ flag: '--allow-http', variable: 'WFR_ALLOW_HTTP' }),
  headerFile: file('request headers', { flag: '--header-file' }),
  caFile: file('certificates', { flag: '--cacert' }),
  certFile: file('a client certificate'),
  keyFile: file('a private key', { requires: ['baseUrl', 'certFile'] }),
  runUrl: text('a URL with {id}, such as "https://app.example.com/runs/{id}"', {
    pattern: RUN_URL,
    requires: NEEDS_BASE_URL,
  }),
  workflowIdField: text('auto, worfklowId, workflowId or both', {
    enum: WORKFLOW_ID_FIELD_CHOICES,
    default: 'auto',
    flag: '--workflow-id-field',
    variable: 'WFR_WORKFLOW_ID_FIELD',
  }),
  resend503: toggle({ flag: '--resend-503' }),
  interval: interval(POLLING.interval, '--interval'),
  maxInterval: interval(POLLING.maxInterval, '--max-interval'),
  timeout: text('a duration, such as "10m"', { pattern: DURATION, flag: '--timeout' }),
  workflows: {
    type: 'object',
    title: 'an object of workflow UUIDs by name',
    propertyNames: text(
      'a workflow name, which is not empty, does not start with "-", and contains neither a UUID nor a URL',
      { pattern: NOT_UUID_URL_OR_FLAG },
    ),
    additionalProperties: {
      type: 'object',
      title: 'the UUID of a workflow, or an object with "id" and "parameters"',
      shorthand: WORKFLOW_UUID,
      required: ['id'],
      properties: { id: WORKFLOW_UUID, parameters: PARAMETERS_SCHEMA },
    },
  },
} as const satisfies Record<string, Setting>;

type ValueOf<S extends Setting> = S extends { type: 'boolean' }
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
