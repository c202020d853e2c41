/** Checks a value of a JSON file that a person writes: each mistake has its place and how to fix it. */
import { findNearest } from '../nearest.js';
import { aboutName, aboutValue, asObject, type JsonPath, type JsonProblem } from './json-file.js';

/** What a value may be, in keywords of JSON Schema. */
export interface Schema {
  type: 'string' | 'boolean' | 'array' | 'object';
  /** Completes the message "must be …". */
  title: string;
  default?: string | boolean;
  enum?: readonly string[];
  pattern?: RegExp;
  minItems?: number;
  items?: Schema;
  /** Without properties and additionalProperties, an object may have any. */
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema;
  propertyNames?: Schema;
  /** The properties that must not be missing. */
  required?: readonly string[];
  /** What may stand in place of an object. */
  shorthand?: Schema;
  /** Checks what these keywords do not express. */
  check?(value: unknown, path: JsonPath): readonly JsonProblem[];
}

/** Returns what to say instead about a name or a value that may be a secret. */
type Advise = (name: string, value: unknown, schema: Schema | undefined) => string | undefined;

/** Returns every mistake in a value. */
export function checkSchema(value: unknown, schema: Schema, path: JsonPath, advise?: Advise): JsonProblem[] {
  const { shorthand, items, required = [], properties = {}, additionalProperties, propertyNames } = schema;
  if (typeOf(value) === shorthand?.type) return checkSchema(value, shorthand, path, advise);
  if (!isValid(value, schema)) {
    return [
      aboutValue(path, advise?.(lastName(path) ?? '', value, schema) ?? describeInvalid(value, schema, path)),
    ];
  }
  const problems = [...(schema.check?.(value, path) ?? [])];
  if (Array.isArray(value) && items)
    problems.push(...value.flatMap((item, index) => checkSchema(item, items, [...path, index], advise)));
  const members = asObject(value);
  for (const name of required)
    if (!Object.hasOwn(members, name)) problems.push(aboutName(path, `${nameOf(path)} requires "${name}"`));
  for (const [name, member] of Object.entries(members)) {
    const place = [...path, name];
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (propertyNames && !isValid(name, propertyNames))
      problems.push(aboutName(place, `${JSON.stringify(name)} must be ${propertyNames.title}`));
    if (known) problems.push(...checkSchema(member, known, place, advise));
    else if (schema.properties) {
      const unknown = describeUnknown(name, Object.keys(properties));
      problems.push(aboutName(place, advise?.(name, member, undefined) ?? unknown));
    }
  }
  return problems;
}

function isValid(value: unknown, schema: Schema): boolean {
  const { type, minItems = 0 } = schema;
  if (typeOf(value) !== type) return false;
  if (typeof value === 'string') return isValidText(value, schema);
  return !Array.isArray(value) || value.length >= minItems;
}

/** Returns whether a text has the pattern of a schema, and is one of its choices. */
export function isValidText(text: string, { pattern, enum: choices }: Schema): boolean {
  return (pattern?.test(text) ?? true) && (choices?.includes(text) ?? true);
}

function describeInvalid(value: unknown, schema: Schema, path: JsonPath): string {
  const rule = `${nameOf(path)} must be ${schema.title}`;
  // A value of another type may contain anything.
  const found =
    typeOf(value) === schema.type ? JSON.stringify(value) : (NOUNS[typeOf(value)] ?? String(value));
  return `${rule}; found ${found}`;
}

function describeUnknown(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known);
  return `unknown key ${JSON.stringify(name)}; ${nearest ? `did you mean "${nearest}"?` : `expected ${known.join(', ')}`}`;
}

const lastName = (path: JsonPath) => path.findLast((segment) => typeof segment === 'string');

/** Returns `"name"`, or `each of "name"` for an element of a list. */
function nameOf(path: JsonPath): string {
  const name = lastName(path);
  if (name === undefined) return 'the file';
  return name === path.at(-1) ? JSON.stringify(name) : `each of ${JSON.stringify(name)}`;
}

const NOUNS: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a string',
  number: 'a number',
};

/** Returns the type of a JSON value. */
export function typeOf(value: unknown) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : (typeof value as 'string' | 'number' | 'boolean' | 'object');
}
