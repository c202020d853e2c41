/** The table of settings as the JSON Schema that editors read: config.schema.json, written by `npm run schema`. */
import { Command } from 'commander';
import { describeCommand } from '../../src/commands/help/reference.js';
import { RUN } from '../../src/commands/run/flags.js';
import { CONFIG_FILE } from '../../src/config/check-config.js';
import { SETTINGS, type Setting } from '../../src/config/settings-table.js';
import type { Schema } from '../../src/text/json/check-schema.js';

type Json = Record<string, unknown>;

/** What a member is for, where no flag says it. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  $schema: 'Lets an editor complete and check the file.',
  defaultProfile: 'The profile to use when neither --profile nor WFR_PROFILE names one.',
  profiles:
    'Profiles by name, for --profile and WFR_PROFILE: each is a service, how to connect to it, and its workflows.',
  tokenCommand:
    'A command that prints the access token as its first line. It runs without a shell, in the folder of this file, for up to' +
    ' 60 s, when a token is needed and again when the service rejects the token.',
  certFile: 'The client certificate in PEM, followed by those that lead to its issuer.',
  keyFile:
    'The private key of certFile in PEM, unless that file has it, too. An encrypted one asks for its passphrase.',
  runUrl: 'The page of a run, for people: {id} stands for its id. wfr prints it, and links to it in reports.',
  workflows:
    'Names for workflows, for wfr run <name>. With names, wfr run rejects any other that is no UUID.',
  id: "The workflow's UUID, which is part of its URL.",
  parameters:
    'The parameters of the Start Node. A name that ends with ? is optional. Inputs must match them.',
  type: 'The type of the value.',
  description: 'Shown by wfr config show and completion.',
  accept: 'The accepted media types of a document.',
};

/** Returns the schema of a config file, in draft-07, which most editors support. */
export function createJsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    description:
      'Settings of wfr. They contain no secret: the access token is in a separate file, or printed by a command.',
    ...toJsonSchema(CONFIG_FILE),
  };
}

function toJsonSchema(schema: Schema): Json {
  if (schema.shorthand !== undefined) {
    const { shorthand, ...object } = schema;
    return { anyOf: [toJsonSchema(shorthand), toJsonSchema(object)] };
  }
  const setting: Setting = schema;
  const { flag, variable, excludes, requires, isSensitive, pattern, check, ...keywords } = setting;
  const { items, propertyNames, properties, additionalProperties, ...plain } = keywords;
  return {
    ...plain,
    ...(pattern && { pattern: pattern.source.replaceAll('\\/', '/') }),
    ...(items && { items: toJsonSchema(items) }),
    ...(propertyNames && { propertyNames: toJsonSchema(propertyNames) }),
    ...(properties && { properties: mapValues(properties, toDescribedSchema) }),
    ...(properties === SETTINGS && { dependencies: mapValues(SETTINGS, requirements) }),
    ...(setting.type === 'object' && {
      additionalProperties: additionalProperties ? toJsonSchema(additionalProperties) : false,
    }),
    ...(properties?.accept && {
      dependencies: { accept: { properties: { type: { const: 'document' } } } },
    }),
  };
}

function toDescribedSchema(member: Schema, name: string): Json {
  return { description: describe(name, member), ...toJsonSchema(member) };
}

const RUN_COMMAND = new Command();
RUN.define(RUN_COMMAND);
const { flags: FLAGS } = describeCommand(RUN_COMMAND);

/** Returns what a member is for, in the words of its flag, and how it is read. */
function describe(name: string, { flag, variable, requires = [] }: Setting): string {
  const { description = DESCRIPTIONS[name] } = FLAGS.find((one) => one.name === flag) ?? {};
  if (description === undefined) throw new Error(`${name} has no description`);
  const overriddenBy = [flag, variable].filter((one) => one !== undefined).join(', ');
  return [
    description.replace(/^./, (letter) => letter.toUpperCase()) + (overriddenBy && ` (${overriddenBy})`),
    ...(name.endsWith('File') ? ['"~/" is your home folder; other paths are relative to this file.'] : []),
    ...(requires.includes('baseUrl') ? ['For the origin of baseUrl alone.'] : []),
  ].join('\n');
}

/** What a setting requires of the others in its profile. */
function requirements({ excludes, requires }: Setting): Json | undefined {
  return requires && { required: requires, ...(excludes && { properties: { [excludes]: false } }) };
}

/** Maps the values of an object, and leaves out those that become undefined. */
function mapValues<Value>(
  object: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Json | undefined,
) {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value, name)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
