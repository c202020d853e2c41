/** Checks the content of a config file against the table of settings, at every start: errors are data, not messages yet. */
import { baseUrlProblem } from './base-url.js';
import { CONFIG_FILE, type NameSchema, SETTINGS, type ValueSchema } from './settings-table.js';

/** The names and indexes that lead to a value. */
type JsonPath = readonly (string | number)[];

/** One mistake in a config file; diagnose-config.ts has the messages. */
export type ConfigError = { path: JsonPath } & (
  | { code: 'wrong-type' | 'invalid-value'; value: unknown; schema: ValueSchema }
  | { code: 'invalid-name'; schema: NameSchema }
  | { code: 'unknown-setting'; value: unknown; known: readonly string[] }
  | { code: 'unknown-profile'; value: string; known: readonly string[] }
  | { code: 'invalid-declaration'; isAboutName: boolean; problem: string }
  | { code: 'missing-member'; member: string }
  | { code: 'missing-setting'; requires: string }
  | { code: 'excluded'; by: string }
  | { code: 'invalid-base-url'; value: string; allowHttp: boolean }
);

/** Returns every mistake in the content of a config file; none if it is a ConfigContent. */
export function checkConfig(content: unknown): ConfigError[] {
  return [...checkValue(content, CONFIG_FILE, []), ...checkReferences(asObject(content))];
}

function checkValue(value: unknown, schema: ValueSchema, path: JsonPath): ConfigError[] {
  const { shorthand, declaration, required = [] } = schema;
  if (shorthand !== undefined && typeOf(value) === shorthand.type) return checkValue(value, shorthand, path);
  if (typeOf(value) !== schema.type) return [{ code: 'wrong-type', path, value, schema }];
  if (!isAllowed(value, schema)) return [{ code: 'invalid-value', path, value, schema }];
  const { items } = schema;
  if (Array.isArray(value)) {
    return items === undefined
      ? []
      : value.flatMap((item, index) => checkValue(item, items, [...path, index]));
  }
  if (declaration !== undefined) {
    return declaration
      .check(value)
      .map((problem) => ({ code: 'invalid-declaration', ...problem, path: [...path, ...problem.path] }));
  }
  const members = Object.entries(asObject(value));
  const missing = required.filter((name) => !members.some(([member]) => member === name));
  return [
    ...missing.map((member) => ({ code: 'missing-member' as const, path, member })),
    ...members.flatMap(([name, member]) => checkMember(name, member, schema, [...path, name])),
  ];
}

function checkMember(name: string, value: unknown, schema: ValueSchema, path: JsonPath): ConfigError[] {
  const { properties = {}, additionalProperties, propertyNames } = schema;
  const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  if (property === undefined) {
    return [{ code: 'unknown-setting', path, value, known: Object.keys(properties) }];
  }
  const errors = checkValue(value, property, path);
  if (propertyNames === undefined || propertyNames.pattern.test(name)) return errors;
  return [{ code: 'invalid-name', path, schema: propertyNames }, ...errors];
}

function isAllowed(value: unknown, { pattern, enum: choices, minItems = 0 }: ValueSchema): boolean {
  if (typeof value === 'string') return (pattern?.test(value) ?? true) && (choices?.includes(value) ?? true);
  return !Array.isArray(value) || value.length >= minItems;
}

/** Checks the settings that depend on others. */
function checkReferences({ defaultProfile, profiles }: Record<string, unknown>): ConfigError[] {
  const known = Object.keys(asObject(profiles));
  const errors = Object.entries(asObject(profiles)).flatMap(([name, profile]) =>
    checkProfile(asObject(profile), ['profiles', name]),
  );
  if (typeof defaultProfile === 'string' && !known.includes(defaultProfile)) {
    errors.push({ code: 'unknown-profile', path: ['defaultProfile'], value: defaultProfile, known });
  }
  return errors;
}

function checkProfile(profile: Record<string, unknown>, path: JsonPath): ConfigError[] {
  const errors: ConfigError[] = [];
  const has = (name: string) => Object.hasOwn(profile, name);
  for (const [name, { isBoundToBaseUrl, excludes, requires }] of Object.entries(SETTINGS)) {
    if (!has(name)) continue;
    const missing = [...(isBoundToBaseUrl ? ['baseUrl'] : []), ...(requires ? [requires] : [])].find(
      (one) => !has(one),
    );
    if (missing) errors.push({ code: 'missing-setting', path: [...path, name], requires: missing });
    else if (excludes && has(excludes))
      errors.push({ code: 'excluded', path: [...path, name], by: excludes });
  }
  const { baseUrl } = profile;
  const allowHttp = profile.allowHttp === true;
  if (typeof baseUrl === 'string' && baseUrlProblem(baseUrl, allowHttp) !== undefined) {
    errors.push({ code: 'invalid-base-url', path: [...path, 'baseUrl'], value: baseUrl, allowHttp });
  }
  return errors;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Returns the members of an object; none of any other value. */
function asObject(value: unknown): Record<string, unknown> {
  return typeOf(value) === 'object' ? (value as Record<string, unknown>) : {};
}
