/**
 * The declared parameters of a workflow's Start Node: `{"invoice": "document", "amount?": "number"}`. Profiles of the
 * config file and workflow files of the sandbox have the same syntax.
 */
import { findNearest } from '../text/nearest.js';

const PARAMETER_TYPES = ['string', 'document', 'number', 'boolean', 'object', 'array'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

export interface Parameter {
  name: string;
  type: ParameterType;
  isOptional: boolean;
  description?: string;
  /** The accepted media types of a document, such as `application/pdf` and `image/*`; all if undefined. */
  accept?: readonly string[];
}

/** By name, in the order of the declaration. */
export type Parameters = ReadonlyMap<string, Parameter>;

/** One mistake in a declaration. */
export interface DeclarationProblem {
  /** The names and indexes that lead from the declaration to the mistake. */
  path: readonly (string | number)[];
  /** Whether it is about the last name of the path, rather than its value. */
  isAboutName: boolean;
  /** Completes the message "… is wrong". */
  problem: string;
}

const FIELDS = ['type', 'description', 'accept'];
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}[/](\*|[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126})$/;

/** The declaration as JSON Schema (draft-07), for editors. */
export const PARAMETERS_SCHEMA = {
  type: 'object',
  propertyNames: { pattern: '^(?!\\??$)' },
  additionalProperties: {
    anyOf: [
      { enum: PARAMETER_TYPES },
      {
        type: 'object',
        properties: {
          type: { enum: PARAMETER_TYPES, description: 'The type of the value.' },
          description: { type: 'string', minLength: 1, description: 'Shown by wfr help and completion.' },
          accept: {
            type: 'array',
            minItems: 1,
            items: { type: 'string', pattern: MEDIA_TYPE.source },
            description: 'The accepted media types of a document, such as application/pdf or image/*.',
            examples: [['application/pdf']],
          },
        },
        required: ['type'],
        dependencies: { accept: { properties: { type: { const: 'document' } } } },
        additionalProperties: false,
      },
    ],
  },
};

/** Parses a declaration. The parameters are complete only if there are no problems. */
export function parseParameters(declaration: unknown): {
  parameters: Parameters;
  problems: DeclarationProblem[];
} {
  const parameters = new Map<string, Parameter>();
  const problems: DeclarationProblem[] = [];
  if (!isObject(declaration)) {
    return { parameters, problems: [aboutValue([], 'must be an object of types by parameter name')] };
  }
  for (const [key, value] of Object.entries(declaration)) {
    const isOptional = key.endsWith('?');
    const name = isOptional ? key.slice(0, -1) : key;
    if (name === '') problems.push(aboutName([key], 'must have a name'));
    if (parameters.has(name)) problems.push(aboutName([key], 'is declared twice'));
    const fields = isObject(value) ? value : { type: value };
    problems.push(...checkFields(fields, value, [key]));
    parameters.set(name, { ...(fields as object as Parameter), name, isOptional });
  }
  return { parameters, problems };
}

/** Returns the parameters of a declaration that was checked before, or is part of wfr. */
export function declare(declaration: unknown): Parameters {
  return parseParameters(declaration).parameters;
}

/** Describes what a parameter takes, for people: `document (application/pdf), optional: The scanned invoice`. */
export function describeParameter({ type, accept, isOptional, description }: Parameter): string {
  const types = accept === undefined ? '' : ` (${accept.join(', ')})`;
  return `${type}${types}${isOptional ? ', optional' : ''}${description === undefined ? '' : `: ${description}`}`;
}

function checkFields(
  { type, description, accept }: Record<string, unknown>,
  value: unknown,
  path: readonly string[],
): DeclarationProblem[] {
  const isShort = !isObject(value);
  const unknown = isShort ? [] : Object.keys(value).filter((field) => !FIELDS.includes(field));
  const problems = unknown.map((field) =>
    aboutName([...path, field], `is unknown; expected ${FIELDS.join(', ')}`),
  );
  if (!PARAMETER_TYPES.some((known) => known === type)) {
    const nearest = typeof type === 'string' ? findNearest(type, PARAMETER_TYPES) : undefined;
    const suggestion = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    const problem = `must be one of ${PARAMETER_TYPES.join(', ')}${suggestion}`;
    const isGiven = isShort || type !== undefined;
    problems.push(
      isGiven
        ? aboutValue(isShort ? path : [...path, 'type'], problem)
        : aboutValue(path, `must have a "type": ${PARAMETER_TYPES.join(', ')}`),
    );
  }
  if (description !== undefined && (typeof description !== 'string' || description === ''))
    problems.push(aboutValue([...path, 'description'], 'must be a non-empty string'));
  if (accept !== undefined && !isListOfMediaTypes(accept))
    problems.push(
      aboutValue([...path, 'accept'], 'must be a list of media types, such as ["application/pdf"]'),
    );
  if (accept !== undefined && type !== 'document')
    problems.push(aboutName([...path, 'accept'], 'requires the type document'));
  return problems;
}

function isListOfMediaTypes(value: unknown): boolean {
  const isMediaType = (entry: unknown) => typeof entry === 'string' && MEDIA_TYPE.test(entry);
  return Array.isArray(value) && value.length > 0 && value.every(isMediaType);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function aboutName(path: DeclarationProblem['path'], problem: string): DeclarationProblem {
  return { path, isAboutName: true, problem };
}

function aboutValue(path: DeclarationProblem['path'], problem: string): DeclarationProblem {
  return { path, isAboutName: false, problem };
}

/** What an input is, as the service sees it. */
export type InputKind =
  | { type: 'string' | 'number' | 'boolean' | 'object' | 'array' | 'null' }
  /** A data URI; `mediaType` is undefined where it is not known yet. */
  | { type: 'document'; mediaType: string | undefined }
  | { type: 'malformed-document'; problem: string };

/** One difference between inputs and parameters. */
export type Mismatch = { name: string } & (
  | { code: 'missing'; parameter: Parameter }
  | { code: 'unknown'; nearest: string | undefined }
  | { code: 'mistyped'; parameter: Parameter; found: InputKind }
  | { code: 'not-accepted'; parameter: Parameter; mediaType: string }
);

/** Returns every difference; an input whose kind is undefined is given, but its value is not known. */
export function checkInputs(
  parameters: Parameters,
  inputs: ReadonlyMap<string, InputKind | undefined>,
): Mismatch[] {
  const mismatches: Mismatch[] = [];
  for (const [name, parameter] of parameters) {
    const found = inputs.get(name);
    if (found !== undefined) mismatches.push(...checkValue(parameter, found));
    else if (!parameter.isOptional && !inputs.has(name))
      mismatches.push({ name, code: 'missing', parameter });
  }
  for (const name of inputs.keys()) {
    if (parameters.has(name)) continue;
    const free = [...parameters.keys()].filter((other) => !inputs.has(other));
    const nearest = findNearest(name, free) ?? findNearest(name, parameters.keys());
    mismatches.push({ name, code: 'unknown', nearest });
  }
  return mismatches;
}

function checkValue(parameter: Parameter, found: InputKind): Mismatch[] {
  const { name, type, accept } = parameter;
  const isDataUri = found.type === 'document' || found.type === 'malformed-document';
  // A data URI is also a string.
  if (found.type !== type && !(type === 'string' && isDataUri))
    return [{ name, code: 'mistyped', parameter, found }];
  if (found.type !== 'document' || found.mediaType === undefined) return [];
  if (type === 'string' || accept === undefined || isAccepted(found.mediaType, accept)) return [];
  return [{ name, code: 'not-accepted', parameter, mediaType: found.mediaType }];
}

/** Returns whether a media type is one of a list, in which `image/*` stands for all images. */
function isAccepted(mediaType: string, accept: readonly string[]): boolean {
  const [given = ''] = mediaType.toLowerCase().split(';');
  return accept.some((entry) => {
    const accepted = entry.toLowerCase();
    return accepted.endsWith('/*') ? given.startsWith(accepted.slice(0, -1)) : given === accepted;
  });
}

const HEAD = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)(?:;[^,]*)?;base64,/i;
/** A longer head is not that of a document. */
export const MAX_HEAD_LENGTH = 300;

/** Returns the length and the media type, without its parameters, of the data URI head at the start of a text, if there is one. */
export function parseDataUriHead(text: string): { length: number; mediaType: string } | undefined {
  const [head = '', mediaType] = HEAD.exec(text.slice(0, MAX_HEAD_LENGTH)) ?? [];
  return mediaType === undefined ? undefined : { length: head.length, mediaType };
}

/** Returns whether characters are base64 that may be the end of a document (RFC 4648, section 4). */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
