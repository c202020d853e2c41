/** "Must exactly match the Start Node parameters (keys and types)": whether inputs do, and what came of them. */
import { type ReceivedDocument, type ReceivedValue, Rejection } from './received.js';
import type { ParameterType, Workflow } from './workflow.js';

/** What a workflow works with: JSON values, and of documents what is known of them. */
export type InputValues = ReadonlyMap<string, unknown>;

/** The values of inputs that match. Throws Rejection (422) naming every input that does not. */
export function checkInputs(
  inputs: ReadonlyMap<string, ReceivedValue>,
  { parameters }: Workflow,
): InputValues {
  const complaints: string[] = [];
  const values = new Map<string, unknown>();
  for (const [name, type] of parameters) {
    const received = inputs.get(name);
    const complaint = received === undefined ? `is missing (${type})` : describeMismatch(received, type);
    if (complaint !== undefined) complaints.push(`inputs.${name} ${complaint}`);
    else if (received !== undefined) values.set(name, toJsonValue(received));
  }
  for (const name of inputs.keys()) {
    if (!parameters.has(name)) complaints.push(`inputs.${name} is not a parameter of the Start Node`);
  }
  if (complaints.length > 0) {
    throw new Rejection(422, `The inputs do not match the Start Node: ${complaints.join('; ')}.`);
  }
  return values;
}

function describeMismatch(received: ReceivedValue, type: ParameterType): string | undefined {
  const found = typeOf(received);
  if (type === 'document' && received.type === 'malformed-data-uri') {
    return `is not a well-formed document: ${received.complaint}`;
  }
  if (type === 'document' && received.type === 'string') {
    return 'should be a document, as data:<media type>;base64,<data>';
  }
  // A data URI is a string as well.
  const fits = found === type || (type === 'string' && found === 'document');
  return fits ? undefined : `should be of type ${type} and is ${found}`;
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
      return `data: (${received.complaint})`;
    case 'other':
      return received.value;
  }
}
