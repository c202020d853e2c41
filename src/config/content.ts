/** What a config file may hold, and whether one does: the same rules as config.schema.json, for every start. */
import { WORKFLOW_ID_FIELD_CHOICES } from '../service/workflow-id-field.js';
import { baseUrlProblem } from './base-url.js';

/** The settings of one profile, as they were written. */
export interface ProfileSettings {
  baseUrl?: string;
  tokenFile?: string;
  tokenCommand?: string[];
  allowHttp?: boolean;
  workflowIdField?: string;
  resend503?: boolean;
  interval?: string;
  maxInterval?: string;
  timeout?: string;
  workflows?: Record<string, string>;
}

export interface ConfigContent {
  $schema?: string;
  defaultProfile?: string;
  profiles?: Record<string, ProfileSettings>;
}

type Check = (value: unknown) => boolean;

const matches = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
const isText: Check = (value) => typeof value === 'string';
const isBoolean: Check = (value) => typeof value === 'boolean';
/** A token that can be told (a JWT, and those of services that mark theirs), or a URL with a password that is no variable. */
const SECRET =
  /([Bb]earer [\w.~+/=-]{8}|eyJ[\w-]+\.|(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-(?=[\w-]{20}))(?=[A-Za-z_-]*\d)[\w-]{10}|[A-Za-z][\w+.-]*:\/\/[^\s/:@]*:[^\s/@$][^\s/@]*@)/;
const isPath = matches(new RegExp(`^(?!Bearer |${SECRET.source})[^\\0]+$`));
// A word may be a script with one somewhere in it; what is a part of a longer name is none.
const isWord = matches(
  new RegExp(`^(?!\\s*([Aa]uthorization\\s*:|Bearer )|([\\s\\S]*(//|[^\\w./-]))?${SECRET.source})[^\\0]+$`),
);
const isInterval = matches(/^(?=.*[1-9])(\d{1,9}ms|(\d{1,9}(\.\d{1,3})?|\.\d{1,3})[smh]?)$/);
const isAlias = /^(?!.*:\/\/)(?!.*[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12})[^-]/i;
const isUuid = matches(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);

const CHECKS: Readonly<Record<keyof ProfileSettings, Check>> = {
  baseUrl: isText,
  tokenFile: isPath,
  tokenCommand: (value) => Array.isArray(value) && value.length > 0 && value.every(isWord),
  allowHttp: isBoolean,
  workflowIdField: (value) => WORKFLOW_ID_FIELD_CHOICES.some((choice) => choice === value),
  resend503: isBoolean,
  interval: isInterval,
  maxInterval: isInterval,
  timeout: matches(/^(\d{1,9}ms|(\d{1,9}(\.\d{1,3})?|\.\d{1,3})[smh]?)$/),
  workflows: (value) => isRecord(value, (id, name) => isAlias.test(name) && isUuid(id)),
};

/** Whether a JSON value is a config file without a mistake. */
export function isConfigContent(value: unknown): value is ConfigContent {
  if (!isRecord(value, (_member, name) => ['$schema', 'defaultProfile', 'profiles'].includes(name)))
    return false;
  const { $schema = '', defaultProfile, profiles = {} } = value;
  if (!isText($schema) || !isRecord(profiles, (profile, name) => /^[^-]/.test(name) && isProfile(profile))) {
    return false;
  }
  return (
    defaultProfile === undefined ||
    (typeof defaultProfile === 'string' && Object.hasOwn(profiles, defaultProfile))
  );
}

function isProfile(value: unknown): boolean {
  if (!isRecord(value, (member, name) => isSettingName(name) && CHECKS[name](member))) return false;
  const { baseUrl, tokenFile, tokenCommand, allowHttp, resend503 } = value as ProfileSettings;
  if (tokenFile !== undefined && tokenCommand !== undefined) return false;
  // These hold for one service, and are worth nothing without its address.
  if (baseUrl === undefined) return (tokenFile ?? tokenCommand ?? allowHttp ?? resend503) === undefined;
  return baseUrlProblem(baseUrl, allowHttp === true) === undefined;
}

function isSettingName(name: string): name is keyof ProfileSettings {
  return Object.hasOwn(CHECKS, name);
}

/** Whether a JSON value is an object all of whose members fit. */
function isRecord(
  value: unknown,
  fits: (member: unknown, name: string) => boolean,
): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, member]) => fits(member, name));
}
