/** The table of settings as the JSON Schema that editors read: config.schema.json, written by `npm run schema`. */
import { CONFIG_FILE } from '../../src/config/check-config.js';
import { SETTINGS, type Setting } from '../../src/config/settings-table.js';
import type { Schema } from '../../src/text/json/check-schema.js';

type Json = Record<string, unknown>;

/** Returns the schema of a config file, in draft-07, which most editors support. */
export function createJsonSchema(): Json {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...toJsonSchema(CONFIG_FILE) };
}

function toJsonSchema(schema: Schema): Json {
  if (schema.shorthand !== undefined) {
    const { shorthand, description, ...object } = schema;
    return { description, anyOf: [toJsonSchema(shorthand), toJsonSchema(object)] };
  }
  const setting: Setting = schema;
  const { flag, variable, excludes, requires, isSensitive, pattern, check, jsonSchema, ...keywords } =
    setting;
  const { items, propertyNames, properties, additionalProperties, ...plain } = keywords;
  const overriddenBy = [flag, variable].filter((name) => name !== undefined).join(', ');
  return {
    ...plain,
    ...(overriddenBy && { description: `${schema.description} (${overriddenBy})` }),
    ...(pattern && { pattern: pattern.source.replaceAll('\\/', '/') }),
    ...(items && { items: toJsonSchema(items) }),
    ...(propertyNames && { propertyNames: toJsonSchema(propertyNames) }),
    ...(properties && { properties: mapValues(properties, toJsonSchema) }),
    ...(properties === SETTINGS && { dependencies: mapValues(SETTINGS, requirements) }),
    ...(setting.type === 'object' && {
      additionalProperties: additionalProperties ? toJsonSchema(additionalProperties) : false,
    }),
    ...jsonSchema,
  };
}

/** What a setting requires of the others in its profile. */
function requirements({ excludes, requires }: Setting): Json | undefined {
  return requires && { required: requires, ...(excludes && { properties: { [excludes]: false } }) };
}

/** Maps the values of an object, and leaves out those that become undefined. */
function mapValues<Value>(object: Readonly<Record<string, Value>>, map: (value: Value) => Json | undefined) {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
