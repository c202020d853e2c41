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
