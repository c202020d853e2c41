/** Errors as data: the last line of stderr with --json. */
import { type Schema, Validator } from '@cfworker/json-schema';
import schema from '../../error.schema.json' with { type: 'json' };
import type { ErrorData } from '../../src/outcome/error-data.js';

const validator = new Validator(schema as Schema, '2020-12');

/** Returns the error at the end of stderr. Throws unless it is one valid line, and the only line of JSON. */
export function errorData(stderr: string): ErrorData {
  const lines = stderr.split('\n');
  const last = lines.at(-2) ?? '';
  if (lines.at(-1) !== '') throw new Error(`the last line is incomplete: ${stderr}`);
  if (lines.filter((line) => line.startsWith('{')).length !== 1)
    throw new Error(`not one line of JSON: ${stderr}`);
  const value = JSON.parse(last) as { error: ErrorData };
  const { valid, errors } = validator.validate(value);
  if (!valid) throw new Error(`${JSON.stringify(errors)}: ${last}`);
  return value.error;
}
