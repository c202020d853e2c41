/** Checks inputs, which "must exactly match" the declared parameters (keys and types): the same for wfr and its sandbox. */
import { findNearest } from '../text/nearest.js';
import type { Parameter, Parameters } from './declaration.js';

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
