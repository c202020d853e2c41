/** Checks a trigger's inputs, which "must exactly match the Start Node parameters (keys and types)". */
import { checkInputs, type InputKind, type Mismatch } from '../parameters/check-inputs.js';
import {
  type InputValues,
  MAX_RETURNED,
  type ReceivedDocument,
  type ReceivedValue,
  Rejection,
  ReturnedDocument,
} from './read-trigger.js';
import { type Workflow, wholePlaceholders } from './workflow.js';

/**
 * Returns the values of the inputs. Throws Rejection (422) naming every input that does not match, or (413) for a
 * document that is too large for the output.
 */
export function readValues(
  inputs: ReadonlyMap<string, ReceivedValue>,
  { parameters, output }: Pick<Workflow, 'parameters' | 'output'>,
): InputValues {
  const kinds = new Map([...inputs].map(([name, received]) => [name, kindOf(received)]));
  const mismatches = parameters === undefined ? [] : checkInputs(parameters, kinds);
  if (mismatches.length > 0) {
    const problems = mismatches.map((mismatch) => `inputs.${mismatch.name} ${describe(mismatch)}`);
    throw new Rejection(422, `The inputs do not match the Start Node: ${problems.join('; ')}.`);
  }
  const values = new Map<string, unknown>([...(parameters?.keys() ?? [])].map((name) => [name, null]));
  const returned = wholePlaceholders(output);
  for (const [name, received] of inputs) {
    const isReturned = received.type === 'data-uri' && returned.has(name);
    values.set(name, isReturned ? returnedDocument(name, received) : toJsonValue(received));
  }
  return values;
}

function returnedDocument(
  name: string,
  { document, uri }: ReceivedValue & { type: 'data-uri' },
): ReturnedDocument {
  if (uri !== undefined) return new ReturnedDocument(document, uri);
  const limit = `the sandbox returns data URIs of at most ${MAX_RETURNED / 1024 / 1024} MiB`;
  throw new Rejection(413, `inputs.${name} is too large for the output "{{${name}}}": ${limit}.`);
}

function describe(mismatch: Mismatch): string {
  switch (mismatch.code) {
    case 'missing':
      return `is missing (${mismatch.parameter.type})`;
    case 'unknown':
      return 'is not a parameter of the Start Node';
    case 'not-accepted':
      return `must be ${mismatch.parameter.accept?.join(' or ')}, found ${mismatch.mediaType}`;
    case 'mistyped':
      return describeType(mismatch.parameter.type, mismatch.found);
  }
}

function describeType(type: string, found: InputKind): string {
  if (found.type === 'malformed-document' && type === 'document')
    return `is not a valid document: ${found.problem}`;
  if (found.type === 'string' && type === 'document')
    return 'must be a document: data:<media type>;base64,<data>';
  const foundType = found.type === 'malformed-document' ? 'document' : found.type;
  return `must be of type ${type}, found ${foundType}`;
}

function kindOf(received: ReceivedValue): InputKind {
  switch (received.type) {
    case 'string':
      return { type: 'string' };
    case 'data-uri':
      return { type: 'document', mediaType: received.document.mediaType };
    case 'malformed-data-uri':
      return { type: 'malformed-document', problem: received.problem };
    case 'other':
      return { type: jsonTypeOf(received.value) };
  }
}

function jsonTypeOf(value: unknown): Exclude<InputKind['type'], 'document' | 'malformed-document'> {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'object';
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
