/** Parses a config file and checks it against the table of settings. Loaded only where there is one. */
import { UsageError } from '../errors.js';
import {
  aboutName,
  aboutValue,
  asObject,
  type JsonPath,
  type JsonProblem,
  parseJsonFile,
} from '../text/json/json-file.js';
import { findNearest } from '../text/nearest.js';
import { baseUrlProblem, redactUrl } from './base-url.js';
import { CONFIG_FILE, type ConfigContent, SETTINGS, type ValueSchema } from './settings-table.js';

export interface ConfigFile {
  path: string;
  content: ConfigContent;
  /** Returns the line of a member, counted from 1, by the names that lead to it. */
  lineOf(...names: string[]): number;
}

/** Parses a config file. Throws UsageError with every mistake in it. */
export function parseConfig(file: Buffer, path: string): ConfigFile {
  const { value, problems, placeOf } = parseJsonFile(file, path, checkConfig);
  if (problems.length > 0) throw new UsageError(problems, 'wfr help config');
  return { path, content: value as ConfigContent, lineOf: (...names) => placeOf(names, 'name').line };
}

/** Returns every mistake in the content of a config file, and how to fix it; none if it is a ConfigContent. Quotes no secret. */
export function checkConfig(content: unknown): JsonProblem[] {
  return [...checkValue(content, CONFIG_FILE, []), ...checkReferences(content)];
}

function checkValue(value: unknown, schema: ValueSchema, path: JsonPath): JsonProblem[] {
  const { shorthand, declaration, required = [], items } = schema;
  if (shorthand !== undefined && typeOf(value) === shorthand.type) return checkValue(value, shorthand, path);
  if (typeOf(value) !== schema.type || !isAllowed(value, schema))
    return [aboutValue(path, describeInvalidValue(value, schema, path))];
  if (Array.isArray(value) && items !== undefined)
    return value.flatMap((item, index) => checkValue(item, items, [...path, index]));
  if (declaration !== undefined)
    return declaration.check(value).map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
  const members = Object.entries(asObject(value));
  const missing = required.filter((name) => !members.some(([member]) => member === name));
  return [
    ...missing.map((name) => aboutName(path, `${quote(path.at(-1))} requires ${quote(name)}`)),
    ...members.flatMap(([name, member]) => checkMember(name, member, schema, [...path, name])),
  ];
}

function checkMember(name: string, value: unknown, schema: ValueSchema, path: JsonPath): JsonProblem[] {
  const { properties = {}, additionalProperties, propertyNames } = schema;
  const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  if (property === undefined)
    return [aboutName(path, describeUnknownSetting(name, value, path, Object.keys(properties)))];
  const problems = checkValue(value, property, path);
  if (propertyNames === undefined || isAllowed(name, propertyNames)) return problems;
  const { title, description, examples } = propertyNames;
  const message = `${title} ${quote(name)} ${description}; use one such as ${quote(examples[0])}`;
  return [aboutName(path, message), ...problems];
}

function isAllowed(value: unknown, { pattern, enum: choices, minItems = 0 }: ValueSchema): boolean {
  if (typeof value === 'string') return (pattern?.test(value) ?? true) && (choices?.includes(value) ?? true);
  return !Array.isArray(value) || value.length >= minItems;
}

/** Checks the settings that depend on others. */
function checkReferences(content: unknown): JsonProblem[] {
  const { defaultProfile, profiles } = asObject(content);
  const known = Object.keys(asObject(profiles));
  const problems = Object.entries(asObject(profiles)).flatMap(([name, profile]) =>
    checkProfile(asObject(profile), ['profiles', name]),
  );
  if (typeof defaultProfile === 'string' && !known.includes(defaultProfile)) {
    const choices = known.length === 0 ? 'the file has no profiles' : `valid profiles: ${known.join(', ')}`;
    problems.push(aboutValue(['defaultProfile'], `unknown profile ${quote(defaultProfile)}; ${choices}`));
  }
  return problems;
}

function checkProfile(profile: Readonly<Record<string, unknown>>, path: JsonPath): JsonProblem[] {
  const problems: JsonProblem[] = [];
  const has = (name: string) => Object.hasOwn(profile, name);
  for (const [name, { isBoundToBaseUrl, excludes, requires }] of Object.entries(SETTINGS)) {
    if (!has(name)) continue;
    const report = (problem: string) =>
      problems.push(aboutName([...path, name], `${quote(name)} ${problem}`));
    const missing = [isBoundToBaseUrl && 'baseUrl', requires].find((one) => one && !has(one));
    if (missing) report(`requires ${quote(missing)} in the same profile`);
    else if (excludes && has(excludes)) report(`and ${quote(excludes)} cannot be used together; remove one`);
  }
  const { baseUrl } = profile;
  const problem =
    typeof baseUrl === 'string'
      ? baseUrlProblem(baseUrl, profile.allowHttp === true, '"allowHttp": true')
      : undefined;
  if (problem !== undefined)
    problems.push(
      aboutValue([...path, 'baseUrl'], `"baseUrl" ${redactUrl(String(baseUrl)) || '""'}: ${problem}`),
    );
  return problems;
}

const SECRET_ADVICE =
  'appears to contain a secret; keep it out of the config file: set "tokenFile" to the path of a file that contains it,' +
  ' or "tokenCommand" to a command that prints it';

function describeUnknownSetting(
  name: string,
  value: unknown,
  path: JsonPath,
  known: readonly string[],
): string {
  const plain = lettersOf(name);
  const hasAuthorization = /^headers?$/.test(plain) && /authorization/i.test(JSON.stringify(value));
  if (namesSecret(name) || hasAuthorization) return `${quote(name)} ${SECRET_ADVICE}`;
  const similar = known.find((other) => isSimilar(lettersOf(other), plain)) ?? findNearest(name, known);
  if (similar !== undefined) return `unknown setting ${quote(name)}; did you mean ${quote(similar)}?`;
  if (path.length === 1 && Object.hasOwn(SETTINGS, name)) {
    return `${quote(name)} must be inside a profile: {"profiles": {"<name>": {${quote(name)}: ...}}}`;
  }
  return `unknown setting ${quote(name)}; valid settings: ${known.join(', ')}`;
}

function describeInvalidValue(value: unknown, schema: ValueSchema, path: JsonPath): string {
  const isWrongType = typeOf(value) !== schema.type;
  const isListItem = typeof path.at(-1) === 'number';
  const setting = String(path.at(isListItem ? -2 : -1) ?? '');
  const isSensitive = schema.isSensitive === true || namesSecret(setting);
  if (!isWrongType && isSensitive && typeof value === 'string' && value !== '')
    return `${quote(setting)} ${SECRET_ADVICE}`;
  const subject =
    path.length === 0 ? 'the file' : isListItem ? `each part of ${quote(setting)}` : quote(setting);
  const found = isWrongType ? (NOUNS[typeOf(value)] ?? String(value)) : quote(value);
  // Where the title names every choice, an example adds nothing.
  const isChoice = schema.enum !== undefined || schema.type === 'boolean';
  const example = isChoice ? '' : `, such as ${quote(schema.examples[0])}`;
  return `${subject} must be ${schema.title}${example}; found ${found}`;
}

const NAMES_SECRET =
  /token(?!file|command)|passw|passphrase|^pass$|pwd|secret|(api|access|private)key|credential|^auth|bearer/;

function namesSecret(name: string): boolean {
  return NAMES_SECRET.test(lettersOf(name));
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

function isSimilar(a: string, b: string): boolean {
  return b.length > 3 && (a.startsWith(b) || b.startsWith(a));
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}

const NOUNS: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a string',
  number: 'a number',
};

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
