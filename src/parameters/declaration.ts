/**
 * The declared parameters of a workflow's Start Node: `{"invoice": "document", "amount?": "number"}`. Profiles of the
 * config file and workflow files of the sandbox have the same syntax.
 */
import type { Schema } from '../text/json/check-schema.js';
import { aboutName, asObject, isObject, type JsonPath, type JsonProblem } from '../text/json/json-file.js';
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

/** The pattern of each half of a media type: a restricted name (RFC 6838, section 4.2). */
export const RESTRICTED_NAME = '[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}';
const MEDIA_TYPE = new RegExp(`^${RESTRICTED_NAME}[/](\\*|${RESTRICTED_NAME})$`);

/** Returns the schema of a text. */
export const textSchema = <S extends Partial<Schema>>(title: string, rest: S = {} as S) =>
  ({ ...rest, type: 'string', title }) as const;

const TYPE = { ...textSchema(`one of ${PARAMETER_TYPES.join(', ')}`), enum: PARAMETER_TYPES };

export const PARAMETERS_SCHEMA: Schema = {
  type: 'object',
  title: 'an object of types by parameter name, such as {"invoice": "document", "amount?": "number"}',
  propertyNames: textSchema('a name that is not empty', { pattern: /^(?!\??$)/ }),
  additionalProperties: {
    type: 'object',
    title: `${TYPE.title}, or an object with "type"`,
    shorthand: TYPE,
    required: ['type'],
    properties: {
      type: TYPE,
      description: textSchema('a text that is not empty', { pattern: /[\s\S]/ }),
      accept: {
        type: 'array',
        title: 'a list of media types, such as ["application/pdf"]',
        minItems: 1,
        items: textSchema('a media type, such as "application/pdf"', { pattern: MEDIA_TYPE }),
      },
    },
  },
  check: checkDeclarations,
};

/** Checks what concerns several members. */
function checkDeclarations(declaration: unknown, path: JsonPath): JsonProblem[] {
  const members = asObject(declaration);
  return Object.entries(members).flatMap(([key, value]) => {
    const isTwice = key.endsWith('?') && Object.hasOwn(members, key.slice(0, -1));
    const { accept, type } = asObject(value);
    const isNoDocument = accept !== undefined && type !== 'document';
    return [
      ...(isTwice ? [aboutName([...path, key], `${JSON.stringify(key)} is declared twice`)] : []),
      ...(isNoDocument ? [aboutName([...path, key, 'accept'], '"accept" requires the type document')] : []),
    ];
  });
}

/** Returns the parameters of a declaration that was checked before, or is part of wfr. */
export function declare(declaration: unknown): Parameters {
  const entries = Object.entries(asObject(declaration)).map(([key, value]) => {
    const fields = (isObject(value) ? value : { type: value }) as Omit<Parameter, 'name' | 'isOptional'>;
    const name = key.replace(/\?$/, '');
    return [name, { ...fields, name, isOptional: key.endsWith('?') }] as const;
  });
  return new Map(entries);
}

/** Describes what a parameter takes, for people: `document (application/pdf), optional: The scanned invoice`. */
export function describeParameter({ type, accept, isOptional, description }: Parameter): string {
  const types = accept ? ` (${accept.join(', ')})` : '';
  return `${type}${types}${isOptional ? ', optional' : ''}${description === undefined ? '' : `: ${description}`}`;
}

/** What an input is, as the service sees it. */
export type InputKind =
  | { type: 'string' | 'number' | 'boolean' | 'object' | 'array' | 'null' }
  /** A data URI; `mediaType` is undefined where it is not known yet. */
  | { type: 'document'; mediaType: string | undefined }
  /** A data URI whose base64 is not valid. */
  | { type: 'malformed-document' };

/** One difference between inputs and parameters. */
export interface Mismatch {
  name: string;
  message: string;
  isMissing?: true;
  /** Of a value of another type. */
  mistyped?: { parameter: Parameter; found: InputKind };
}

/** Returns every difference; an input whose kind is undefined is given, but its value is not known. */
export function checkInputs(
  parameters: Parameters,
  inputs: ReadonlyMap<string, InputKind | undefined>,
): Mismatch[] {
  const names = [...parameters.keys()];
  const free = names.filter((name) => !inputs.has(name));
  const known = names.length === 0 ? 'the workflow has none' : `expected ${names.join(', ')}`;
  const suggested: string[] = [];
  const unknown = [...inputs.keys()].flatMap((name): Mismatch[] => {
    if (parameters.has(name)) return [];
    const nearest = findNearest(name, free);
    if (nearest !== undefined) suggested.push(nearest);
    const fix = nearest === undefined ? known : `did you mean "${nearest}"?`;
    return [{ name, message: `unknown parameter "${name}"; ${fix}` }];
  });
  const declared = [...parameters.values()].flatMap((parameter): Mismatch[] => {
    const { name, type, isOptional } = parameter;
    const found = inputs.get(name);
    if (found) return checkValue(parameter, found);
    // A misspelt name is one mistake.
    if (isOptional || inputs.has(name) || suggested.includes(name)) return [];
    return [{ name, isMissing: true, message: `missing input ${name} (${type})` }];
  });
  return [...declared, ...unknown];
}

function checkValue(parameter: Parameter, found: InputKind): Mismatch[] {
  const { name, type, accept } = parameter;
  const isDataUri = found.type === 'document' || found.type === 'malformed-document';
  // A data URI is also a string.
  if (found.type !== type && !(type === 'string' && isDataUri)) {
    const isMalformed = found.type === 'malformed-document' && type === 'document';
    const actual = isMalformed
      ? '; the base64 of its data URI is not valid'
      : `, found ${nounOf(found.type)}`;
    return [{ name, message: `must be ${nounOf(type)}${actual}`, mistyped: { parameter, found } }];
  }
  const mediaType = found.type === 'document' ? found.mediaType : undefined;
  if (mediaType === undefined || !accept || isAccepted(mediaType, accept)) return [];
  return [{ name, message: `must be ${accept.join(' or ')}, found ${mediaType}` }];
}

function nounOf(type: InputKind['type']): string {
  if (type === 'null') return type;
  return `${/^[ao]/.test(type) ? 'an' : 'a'} ${type.replace('malformed-', '')}`;
}

/** Returns whether a media type is one of a list, in which `image/*` stands for all images. */
function isAccepted(mediaType: string, accept: readonly string[]): boolean {
  const [given = ''] = mediaType.toLowerCase().split(';');
  return accept.some((entry) => {
    const accepted = entry.toLowerCase();
    return accepted.endsWith('*') ? given.startsWith(accepted.slice(0, -1)) : given === accepted;
  });
}

const HEAD = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)(?:;[^,]*)?;base64,/i;
/** A longer head is not that of a document. */
const MAX_HEAD_LENGTH = 300;

/** Returns the length and the media type, without its parameters, of the data URI head at the start of a text, if there is one. */
export function parseDataUriHead(text: string): { length: number; mediaType: string } | undefined {
  const [head = '', mediaType] = HEAD.exec(text.slice(0, MAX_HEAD_LENGTH)) ?? [];
  return mediaType === undefined ? undefined : { length: head.length, mediaType };
}

/** Returns what a string is, which may be the data URI of a document. */
export function kindOfString(text: string): InputKind {
  const head = parseDataUriHead(text);
  if (!head) return { type: 'string' };
  const data = text.slice(head.length);
  // RFC 4648, section 4.
  return /^[A-Za-z0-9+/]*={0,2}$/.test(data) && data.length % 4 === 0
    ? { type: 'document', mediaType: head.mediaType }
    : { type: 'malformed-document' };
}
