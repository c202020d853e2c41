/** Checks a config file against the table of settings. */
import { textSchema } from '../parameters/declaration.js';
import { checkSchema, type Schema } from '../text/json/check-schema.js';
import { aboutName, aboutValue, asObject, type JsonPath, type JsonProblem } from '../text/json/json-file.js';
import { baseUrlProblem, redactUrl } from '../text/url.js';
import { EXAMPLE_BASE_URL, type ProfileSettings, SETTINGS, type Setting } from './settings-table.js';

/** The content of a config file that passed the checks. */
export interface ConfigContent {
  $schema?: string;
  defaultProfile?: string;
  profiles?: Record<string, ProfileSettings>;
}

export const CONFIG_FILE: Schema = {
  type: 'object',
  title: 'an object with profiles, such as {"profiles": {}}',
  properties: {
    $schema: textSchema('the location of this schema'),
    defaultProfile: textSchema('the name of a profile'),
    profiles: {
      type: 'object',
      title: 'an object of profiles by name',
      propertyNames: textSchema('a profile name that is not empty and does not start with "-"', {
        pattern: /^[^-]/,
      }),
      additionalProperties: {
        type: 'object',
        title: `a profile, such as {"baseUrl": "${EXAMPLE_BASE_URL}"}`,
        properties: SETTINGS,
        check: checkProfile,
      },
    },
  },
  check: checkDefaultProfile,
};

/** Returns every mistake in the content of a config file, and how to fix it; none if it is a ConfigContent. Quotes no secret. */
export function checkConfig(content: unknown): JsonProblem[] {
  return checkSchema(content, CONFIG_FILE, [], adviseOnSecret);
}

function checkDefaultProfile(file: unknown): JsonProblem[] {
  const { defaultProfile, profiles } = asObject(file);
  const known = Object.keys(asObject(profiles));
  if (typeof defaultProfile !== 'string' || known.includes(defaultProfile)) return [];
  const choices = known.length === 0 ? 'the file has no profiles' : `choose one of ${known.join(', ')}`;
  return [aboutValue(['defaultProfile'], `unknown profile ${JSON.stringify(defaultProfile)}; ${choices}`)];
}

/** Checks the settings that depend on others. */
function checkProfile(value: unknown, path: JsonPath): JsonProblem[] {
  const profile = asObject(value);
  const problems: JsonProblem[] = [];
  for (const [name, { requires = [], excludes }] of Object.entries<Setting>(SETTINGS)) {
    if (!(name in profile)) continue;
    const report = (problem: string) => problems.push(aboutName([...path, name], `"${name}" ${problem}`));
    const missing = requires.find((one) => !(one in profile));
    if (missing !== undefined) report(`requires "${missing}" in the same profile`);
    else if (excludes && excludes in profile) report(`and "${excludes}" cannot be used together`);
  }
  const { baseUrl, allowHttp } = profile;
  const problem =
    typeof baseUrl === 'string' && baseUrlProblem(baseUrl, allowHttp === true, '"allowHttp": true');
  if (problem)
    problems.push(aboutValue([...path, 'baseUrl'], `"baseUrl" ${redactUrl(baseUrl) || '""'}: ${problem}`));
  return problems;
}

const SECRET_NAME =
  /token(?!file|command)|passw|passphrase|^pass$|pwd|secret|(api|access|private)key|credential|^auth|bearer/;

/** Returns what to do with a secret, where a value that is unknown or invalid may be one. */
function adviseOnSecret(name: string, value: unknown, setting: Setting | undefined): string | undefined {
  const letters = name.toLowerCase().replace(/[^a-z]/g, '');
  const isNamed = SECRET_NAME.test(letters);
  const isHeader = /^headers?$/.test(letters) && /authorization/i.test(JSON.stringify(value));
  const mayBeSecret = setting
    ? (isNamed || setting.isSensitive) && setting.type === typeof value && value !== ''
    : isNamed || isHeader;
  return mayBeSecret
    ? `${JSON.stringify(name)} appears to contain a secret; set "tokenFile" to a file that contains it, or "tokenCommand" to a command that prints it`
    : undefined;
}
