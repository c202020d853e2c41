/** Errors as data: the last line of stderr with --json, and the commands in it. */
import { execFileSync } from 'node:child_process';
import { type Schema, Validator } from '@cfworker/json-schema';
import schema from '../../error.schema.json' with { type: 'json' };
import type { ErrorData } from '../../src/outcome/error-data.js';
import { LACKS } from './system.js';

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

/** Returns the arguments that a shell would give to the command. */
export function argumentsOf(command: string): string[] {
  // No word of these commands needs quotation marks.
  if (LACKS.bash) return command.split(' ').slice(1);
  const script = `wfr() { printf '%s\\0' "$@"; }; ${command}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** Returns what the screen has after `wfr: error: ` for problems of one command line: the only one, else their count first. */
export function problemBlock(problems: readonly string[]): string {
  const count = problems.length > 1 ? [`${problems.length} problems`] : [];
  return [...count, ...problems].join('\n  ');
}
