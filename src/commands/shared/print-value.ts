/** --get: prints one value of a run. */

import { WfrError } from '../../errors.js';
import { isFinished, outputOf, type Run } from '../../service/run.js';
import { formatJson, rawString } from '../../text/json/format-json.js';
import { listNames } from '../../text/json/members.js';
import {
  countElements,
  followPointer,
  jsonTypeOf,
  type PointerTarget,
  pointerOf,
  type ValuePointer,
} from '../../text/json/pointer.js';
import { pluralize } from '../../text/quantity.js';
import { COMMANDS_WARNING, createCommandFinder } from '../../text/sanitize.js';
import { isCiLog } from '../../view/presentation.js';
import type { OutputFormat } from './output-flags.js';
import type { Session } from './session.js';

const ESCAPED =
  'the value has control characters, which are printed as \\uXXXX; the JSON without --get has it unchanged';

/**
 * Prints the value at a pointer into the output, or with the format `json` into the Run: a string as its text, everything
 * else as JSON. Returns false where a run that is not FINISHED has none. Throws WfrError and OutputError.
 */
export async function printValue(
  run: Run,
  format: OutputFormat,
  pointer: ValuePointer,
  { stdout, layout, reporter, context }: Session,
): Promise<boolean> {
  const ofRun = format === 'json';
  if (!ofRun && !isFinished(run)) return false;
  const target = followPointer(ofRun ? run.json : outputOf(run), pointer.segments);
  const { value, depth } = target;
  if (depth < pointer.segments.length) {
    if (!isFinished(run)) return false;
    throw noSuchValue(pointer, ofRun ? 'Run' : 'output', target);
  }
  if (jsonTypeOf(value) !== 'string') {
    await stdout.write(formatJson(value, layout.jsonColors));
    return true;
  }
  let hasEscapes = false;
  await stdout.write(
    rawString(value, () => {
      hasEscapes = true;
    }),
  );
  if (hasEscapes) reporter.warn(ESCAPED);
  const hasCommand = createCommandFinder();
  let hasCommands = false;
  for (const piece of isCiLog(context) ? rawString(value) : []) hasCommands = hasCommand(piece);
  if (hasCommands) reporter.warn(COMMANDS_WARNING);
  return true;
}

/** Returns the error of a pointer that leads no further than to `value`. */
export function noSuchValue(
  { text, segments }: ValuePointer,
  subject: 'output' | 'Run',
  { value, depth }: PointerTarget,
): WfrError {
  const parent = pointerOf(segments.slice(0, depth)) || `the ${subject}`;
  return new WfrError('no-such-value', [
    `the ${subject} has no value at ${text}`,
    `${parent} ${describeValue(value)}`,
  ]);
}

function describeValue(value: Uint8Array): string {
  const type = jsonTypeOf(value);
  if (type === 'object') return `has the keys ${listNames(value)}`;
  if (type === 'array') return `is an array of ${pluralize(countElements(value), 'value')}`;
  return type === 'null' ? 'is null' : `is a ${type}`;
}
