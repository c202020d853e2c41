/** What is said of a request in a response: the message of an error, and the id by which an operator finds the request. */

import { asObject, isObject, parseJson } from '../text/json/json-file.js';

/** What has arrived of a response: header names in lower case, the body decoded and truncated. */
export interface ReceivedResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** Most characters that are shown of a body that was not read to its end, so that the rest cannot be counted. */
const MAX_TRUNCATED = 1_500;

/**
 * Returns the message; undefined if the body has none. Reads JSON, problem details (RFC 9457), text and HTML. The message
 * of a body that is not whole ends with a note that there is more.
 */
export function errorMessage(body: Buffer, isWhole: boolean): string | undefined {
  // Also without a byte order mark, which counts as white space.
  const text = body.toString().trim();
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (/^[[{]\s*[\]}]$/.test(text)) return undefined;
    const message = isObject(value) ? messageOf(value) : textsOf(value).join('; ');
    // JSON of an unknown shape is shown unchanged, because it may contain the reason.
    return message || text;
  } catch {
    const pageTitle = findPageTitle(text);
    if (pageTitle !== undefined || isWhole) return pageTitle ?? text;
    return `${text.slice(0, MAX_TRUNCATED).toWellFormed()}… (there is more)`;
  }
}

/** Returns the title of an HTML page, marked as such; undefined for any other text. */
function findPageTitle(text: string): string | undefined {
  if (!text.startsWith('<') || !/<(!doctype\s+html|html|head|body|title)\b/i.test(text)) return undefined;
  const title = /<title[^<>]*>([^<]*)</i.exec(text)?.[1] ?? '';
  return `${title} (an HTML page)`.replace(/\s+/g, ' ').trim();
}

/** Members that contain a message, members that contain a list of errors, and members that name what an error is about. */
const MESSAGES = 'message error title detail error_description description msg reason'.split(' ');
const LISTS = 'errors validation details issues violations invalid-params'.split(' ');
const SUBJECTS = 'field path pointer param parameter loc property source name'.split(' ');

/** Members whose objects and lists are searched for a message. */
const SEARCHED = [...MESSAGES, ...LISTS, 'code'];

const isTextOrObject = (value: unknown) => /^(string|object)$/.test(typeof value);

/** Returns the messages in an object, each once; empty if there is none. */
function messageOf(value: Record<string, unknown>): string {
  // Excludes values such as "error": true, or a numeric status.
  const messages = MESSAGES.map((key) => value[key]).filter(isTextOrObject);
  const texts = [...messages.map(textsOfMember), LISTS.flatMap((key) => textsOf(value[key]))];
  const parts = [...new Set(texts.map((part) => part.join('; ')))];
  return parts.filter((part) => !parts.some((other) => other !== part && other.includes(part))).join(': ');
}

/** Returns the texts of a list of errors, or of an object whose keys are fields. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOfMember);
  if (!isObject(value)) return value === null || value === undefined || value === '' ? [] : [String(value)];
  return Object.entries(value).flatMap(([field, entry]) => {
    const texts = textsOfMember(entry);
    return texts.length > 0 ? [`${field}: ${texts.join(', ')}`] : [];
  });
}

/** Returns the texts of a member of a list or an object. */
function textsOfMember(value: unknown): string[] {
  return isObject(value) ? textsOfEntry(value) : textsOf(value);
}

/** Returns the message with its subject; all members of an object of an unknown shape. */
function textsOfEntry(entry: Record<string, unknown>): string[] {
  const message = messageOf(entry) || textsOf(entry.code)[0];
  if (message === undefined) {
    // What was searched in vain is not searched again: that would take twice as long for each level.
    const isOther = ([key, value]: [string, unknown]) => !SEARCHED.includes(key) || typeof value !== 'object';
    return textsOf(Object.fromEntries(Object.entries(entry).filter(isOther)));
  }
  const subject = subjectOf(entry);
  return [subject === undefined || subject === message ? message : `${subject}: ${message}`];
}

function subjectOf(entry: Record<string, unknown>): string | undefined {
  const found = SUBJECTS.map((key) => entry[key]).find(isTextOrObject);
  if (isObject(found)) return subjectOf(found);
  return (Array.isArray(found) ? found.join('.') : (found as string | undefined)) || undefined;
}

/** Most characters of an unreadable response that are shown. */
const MAX_EXCERPT = 200;

/** Returns the start of a body (UTF-8), and the number of bytes that follow. */
export function excerptOf(body: Buffer): string {
  // A character has at most 4 bytes.
  const text = body.toString('utf8', 0, 4 * MAX_EXCERPT);
  const start = [...text].slice(0, MAX_EXCERPT).join('');
  const left = body.length - Buffer.byteLength(start);
  return `${start}${left > 0 ? `… (${left} more bytes)` : ''}`;
}

/** The names of headers that carry one: those of services first, then of clouds and gateways, then of traces. */
const REQUEST_ID_HEADERS = [
  /^(x-)?request-?id$/,
  /-request-?id$/,
  /^(x-)?correlation-id$/,
  /^(x-vercel-id|x-azure-ref|x-amz-cf-id|cf-ray)$/,
  /^(traceresponse|x-trace-id|x-b3-traceid|x-amzn-trace-id|x-cloud-trace-context)$/,
];

/** Most characters of an id. */
const MAX_LENGTH = 200;

/**
 * Returns the id, not yet sanitized: that of a header, or the `instance` of problem details (RFC 9457, section 3.1.5).
 * `path` is that of the request, which some services give as the instance.
 */
export function requestIdOf({ headers, body }: ReceivedResponse, path?: string): string | undefined {
  const present = Object.entries(headers).filter(([, value]) => value.trim() !== '');
  const found = REQUEST_ID_HEADERS.map((names) => present.find(([name]) => names.test(name))).find(Boolean);
  const id = found?.[1].trim() ?? instanceOf(headers['content-type'], body, path);
  return id?.slice(0, MAX_LENGTH).toWellFormed();
}

function instanceOf(contentType = '', body: Buffer, path: string | undefined) {
  if (!/\bproblem\+json\b/i.test(contentType)) return undefined;
  const { instance } = asObject(parseJson(body));
  return typeof instance === 'string' && instance !== '' && instance !== path ? instance : undefined;
}
