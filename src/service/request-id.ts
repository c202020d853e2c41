/** The id that the service or a gateway gave a request, by which its operator finds it in logs and traces. */

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

function instanceOf(
  contentType: string | undefined,
  body: Uint8Array,
  path: string | undefined,
): string | undefined {
  if (!/\bproblem\+json\b/i.test(contentType ?? '')) return undefined;
  try {
    const { instance } = JSON.parse(Buffer.from(body).toString('utf8'));
    return typeof instance === 'string' && instance !== '' && instance !== path ? instance : undefined;
  } catch {
    return undefined;
  }
}
