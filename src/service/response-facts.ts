/** What is said of a request in a response: the message of an error, and the id by which an operator finds the request. */

/** Most characters that are shown of a body that was not read to its end, so that the rest cannot be counted. */
const MAX_TRUNCATED = 1_500;

/**
 * Returns the message; undefined if the body has none. Reads JSON, problem details (RFC 9457), text and HTML. The message
 * of a body that is not whole ends with a note that there is more.
 */
export function errorMessage(body: Uint8Array, isWhole: boolean): string | undefined {
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (/^[[{]\s*[\]}]$/.test(text)) return undefined;
    // JSON of an unknown shape is shown unchanged, because it may contain the reason.
    return extractMessage(value) ?? text;
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

/** Members that contain a message, and members that contain a list of errors. */
const MESSAGE_KEYS = [
  'message',
  'error',
  'title',
  'detail',
  'error_description',
  'description',
  'msg',
  'reason',
];
const LIST_KEYS = ['errors', 'validation', 'details', 'issues', 'violations', 'invalid-params'];
/** Members of a list entry that name the input or field it is about. */
const SUBJECT_KEYS = ['field', 'path', 'pointer', 'param', 'parameter', 'loc', 'property', 'source', 'name'];

function extractMessage(value: unknown): string | undefined {
  if (!isRecord(value)) return collectTexts(value).join('; ') || undefined;
  // Excludes values such as "error": true, or a numeric status.
  const keys = MESSAGE_KEYS.filter((key) => typeof value[key] === 'string' || typeof value[key] === 'object');
  const parts = [
    ...keys.map((key) =>
      (isRecord(value[key]) ? formatEntry(value[key]) : collectTexts(value[key])).join('; '),
    ),
    LIST_KEYS.flatMap((key) => collectTexts(value[key])).join('; '),
  ];
  return parts.filter(isNew).join(': ') || undefined;
}

/** Returns whether no other part contains this one. */
function isNew(part: string, index: number, parts: readonly string[]): boolean {
  return !parts.some((other, i) => i !== index && other.includes(part) && (other !== part || i < index));
}

/** Returns the texts of a list, or of an object whose keys are fields. */
function collectTexts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(formatEntry);
  if (!isRecord(value)) return value === null || value === undefined || value === '' ? [] : [String(value)];
  return Object.entries(value).flatMap(([field, entry]) => {
    const texts = isRecord(entry) ? formatEntry(entry) : collectTexts(entry);
    return texts.map((text) => `${field}: ${text}`);
  });
}

/** Formats an entry as `subject: message`; one of an unknown shape is shown as JSON. */
function formatEntry(entry: unknown): string[] {
  if (!isRecord(entry)) return collectTexts(entry);
  const message = extractMessage(entry) ?? collectTexts(entry.code)[0];
  if (message === undefined) return Object.keys(entry).length === 0 ? [] : [JSON.stringify(entry)];
  const subject = findSubject(entry);
  return [subject === undefined || subject === message ? message : `${subject}: ${message}`];
}

function findSubject(entry: Record<string, unknown>): string | undefined {
  for (const key of SUBJECT_KEYS) {
    const subject = entry[key];
    if (typeof subject === 'string' && subject !== '') return subject;
    if (Array.isArray(subject) && subject.length > 0) return subject.join('.');
    if (isRecord(subject)) return findSubject(subject);
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Headers that carry one: those of services first, then of clouds and gateways, then of traces. */
const HEADERS = [
  'x-request-id',
  'request-id',
  'x-requestid',
  'x-amzn-requestid',
  'x-amz-request-id',
  'apigw-requestid',
  'x-ms-request-id',
  'x-goog-request-id',
  'x-github-request-id',
  'x-correlation-id',
  'correlation-id',
  'x-ms-correlation-request-id',
  'x-kong-request-id',
  'fly-request-id',
  'x-nf-request-id',
  'x-vercel-id',
  'x-azure-ref',
  'x-amz-cf-id',
  'cf-ray',
  'traceresponse',
  'x-trace-id',
  'x-b3-traceid',
  'x-amzn-trace-id',
  'x-cloud-trace-context',
];

/** Most characters of an id. */
const MAX_LENGTH = 200;

interface Response {
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/**
 * Returns the id, not yet sanitized: that of a header, or the `instance` of problem details (RFC 9457, section 3.1.5).
 * `path` is that of the request, which some services give as the instance.
 */
export function requestIdOf({ headers, body }: Response, path?: string): string | undefined {
  const values = HEADERS.map((name) => headers[name]?.trim());
  const id = values.find(Boolean) ?? instanceOf(headers['content-type'], body, path);
  return id?.slice(0, MAX_LENGTH).toWellFormed();
}

function instanceOf(contentType: string | undefined, body: Uint8Array, path: string | undefined) {
  if (!/\bproblem\+json\b/i.test(contentType ?? '')) return undefined;
  try {
    const { instance } = JSON.parse(Buffer.from(body).toString('utf8'));
    return typeof instance === 'string' && instance !== '' && instance !== path ? instance : undefined;
  } catch {
    return undefined;
  }
}
