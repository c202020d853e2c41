/** The table of settings as the JSON Schema that editors read: config.schema.json, written by `npm run schema`. */
import { CONFIG_FILE, SETTINGS, type Setting, type ValueSchema } from '../../src/config/settings-table.js';

type Json = Record<string, unknown>;

/** Returns the schema of a config file, in draft-07, which most editors support. */
export function createJsonSchema(): Json {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...toJsonSchema(CONFIG_FILE) };
}

function toJsonSchema(schema: ValueSchema): Json {
  if (schema.shorthand !== undefined) {
    const { shorthand, description, ...object } = schema;
    return { description, anyOf: [toJsonSchema(shorthand), toJsonSchema(object)] };
  }
  // All properties of either kind of schema, each of which may be missing.
  const setting: Partial<Setting> = schema;
  const {
    flag,
    variable,
    isBoundToBaseUrl,
    excludes,
    requires,
    isSensitive,
    pattern,
    declaration,
    ...keywords
  } = setting;
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
    ...declaration?.jsonSchema,
  };
}

/** What a setting requires of the others in its profile. */
function requirements({ isBoundToBaseUrl, excludes, requires }: Setting): Json | undefined {
  if (!isBoundToBaseUrl) return undefined;
  return {
    required: ['baseUrl', ...(requires ? [requires] : [])],
    ...(excludes && { properties: { [excludes]: false } }),
  };
}

/** Maps the values of an object, and leaves out those that become undefined. */
function mapValues<Value>(object: Readonly<Record<string, Value>>, map: (value: Value) => Json | undefined) {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
