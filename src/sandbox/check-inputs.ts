/** Checks a trigger's inputs, which "must exactly match the Start Node parameters (keys and types)". */
import { type ReceivedDocument, type ReceivedValue, Rejection } from './received.js';
import type { ParameterType, Workflow } from './workflow.js';

/** The values of inputs by name; a document is a ReceivedDocument. */
export type InputValues = ReadonlyMap<string, unknown>;

/** Returns the values of the inputs. Throws Rejection (422) naming every input that does not match. */
export function checkInputs(
  inputs: ReadonlyMap<string, ReceivedValue>,
  { parameters }: Workflow,
): InputValues {
  const problems: string[] = [];
  const values = new Map<string, unknown>();
  for (const [name, type] of parameters) {
    const received = inputs.get(name);
    const problem = received === undefined ? `is missing (${type})` : describeMismatch(received, type);
    if (problem !== undefined) problems.push(`inputs.${name} ${problem}`);
    else if (received !== undefined) values.set(name, toJsonValue(received));
  }
  for (const name of inputs.keys()) {
    if (!parameters.has(name)) problems.push(`inputs.${name} is not a parameter of the Start Node`);
  }
  if (problems.length > 0) {
    throw new Rejection(422, `The inputs do not match the Start Node: ${problems.join('; ')}.`);
  }
  return values;
}

function describeMismatch(received: ReceivedValue, type: ParameterType): string | undefined {
  const found = typeOf(received);
  if (type === 'document' && received.type === 'malformed-data-uri') {
    return `is not a valid document: ${received.problem}`;
  }
  if (type === 'document' && received.type === 'string') {
    return 'must be a document: data:<media type>;base64,<data>';
  }
  // A data URI is also a string.
  const fits = found === type || (type === 'string' && found === 'document');
  return fits ? undefined : `must be of type ${type}, found ${found}`;
}

function typeOf(received: ReceivedValue): string {
  if (received.type === 'string') return 'string';
  if (received.type === 'other') {
    if (received.value === null) return 'null';
    return Array.isArray(received.value) ? 'array' : typeof received.value;
  }
  return 'document';
}

function toJsonValue(received: ReceivedValue): unknown {
  switch (received.type) {
    case 'string':
      return received.text;
    case 'data-uri':
      return received.document satisfies ReceivedDocument;
    case 'malformed-data-uri':
      return `data: (${received.problem})`;
    case 'other':
      return received.value;
  }
}
