/** The errors of requests: what each means for the run, and what it tells people to do. */
import {
  type FurtherFacts,
  InterruptedError,
  NOTHING_CREATED,
  OUTCOME_UNKNOWN,
  WfrError,
} from '../errors.js';
import type { SignalName } from '../exit-code.js';
import { formatDuration } from '../text/quantity.js';
import { commandOfRuns } from '../text/shell-quote.js';
import type { HttpError } from './http-error.js';
import { excerptOf, type ReceivedResponse, requestIdOf } from './response-facts.js';

/** How much of a trigger's body was handed to the socket. Only after a complete one can the service have started a run. */
export type SendState = 'unsent' | 'partial' | 'complete';

// No response

/** In texts, `HOST` and `TIME` stand for the host and the time limit. */
interface Fault {
  text: string;
  hint?: string;
  /** The error codes of the system, of Node and of TLS alerts (RFC 8446, section 6.2) of a connection that cannot be opened. */
  codes?: RegExp;
}

const CLIENT_CERTIFICATE_HINT = 'Set certFile and keyFile in a profile; see wfr help config.';

/** Faults that a retry does not fix. Of those with codes, the first one that matches counts. */
const PERMANENT_FAULTS = {
  'not-loopback': {
    text: 'the name HOST leads to another machine',
    hint: 'Use http://127.0.0.1.',
    codes: /^ERR_NOT_LOOPBACK$/,
  },
  // In TLS 1.3, this alert comes after the client's first request, which the server has not read.
  'client-certificate': {
    text: 'HOST requires a client certificate, or rejected it',
    hint: CLIENT_CERTIFICATE_HINT,
    codes: /^ERR_SSL_.*_ALERT_.*(CERTIFICATE|UNKNOWN_CA)/,
  },
  'tls-rejected': {
    text: 'HOST rejected the TLS handshake: it may require a client certificate',
    hint: CLIENT_CERTIFICATE_HINT,
    codes: /^ERR_SSL_.*_ALERT_/,
  },
  certificate: {
    text: 'the certificate of HOST is not trusted',
    hint: 'To trust its issuer, pass the certificate of the issuer with --cacert, or set caFile in a profile.',
    codes: /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|CRL|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH/,
  },
  'not-tls': {
    text: 'HOST does not speak TLS',
    hint: 'Check whether the base URL should begin with http://.',
    codes: /^(EPROTO$|ERR_SSL_|ERR_TLS_)/,
  },
  'expects-tls': { text: 'HOST expects TLS: use https' },
  'proxy-refused': { text: 'HOST rejected the tunnel' },
  'too-large': { text: 'the response of HOST is larger than 512 MiB' },
} as const;

const FAULTS = {
  ...PERMANENT_FAULTS,
  'dns-not-found': {
    text: 'host not found: HOST',
    hint: 'Check the base URL.',
    codes: /^(ENOTFOUND|EAI_NONAME|EAI_NODATA)$/,
  },
  'dns-unavailable': { text: 'the DNS server does not respond for HOST', codes: /^(EAI_AGAIN|EAI_FAIL)$/ },
  refused: {
    text: 'nothing listens at HOST',
    hint: 'Check the base URL; to try wfr without it: wfr sandbox -- bash',
    codes: /^ECONNREFUSED$/,
  },
  unreachable: {
    text: 'HOST cannot be reached from here',
    codes: /^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)$/,
  },
  'connect-timeout': { text: 'no connection to HOST within TIME', codes: /^ETIMEDOUT$/ },
  // The second code is that of Windows.
  'connect-reset': { text: 'HOST closed the connection at once', codes: /^(ECONNRESET|ECONNABORTED|EPIPE)$/ },
  'proxy-closed': { text: 'HOST closed the tunnel' },
  local: { text: 'no connection to HOST' },
  reset: { text: 'the connection to HOST was lost' },
  stalled: { text: 'no data could be sent to HOST for TIME' },
  'no-response': { text: 'no response from HOST for TIME' },
  unfinished: { text: 'the response from HOST did not end within TIME' },
  'not-http': { text: 'HOST sent something that is not an HTTP response' },
  truncated: { text: 'the connection to HOST was lost during its response' },
  encoded: { text: 'HOST sent a content encoding that wfr cannot read' },
} as const satisfies Record<string, Fault>;

export type NetworkFault = keyof typeof FAULTS;

/** Returns the fault of a connection that could not be opened. */
export function faultOf(code = ''): NetworkFault {
  const faults = Object.entries(FAULTS) as [NetworkFault, Fault][];
  return faults.find(([, { codes }]) => codes?.test(code))?.[0] ?? 'local';
}

/** What helps with a certificate where another issuer would not. */
const CERTIFICATE_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'It has expired, unless the clock of this machine is wrong.',
  CERT_NOT_YET_VALID: 'Check the clock of this machine.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'It is for another name: check the address.',
};

interface NetworkDetails {
  /** `name:port`. */
  host: string;
  /** The error code of the system or of TLS, or another detail to be shown. */
  code?: string | undefined;
  /** Whether the host is a proxy. */
  proxy?: boolean | undefined;
  /** The limit in milliseconds, for timeouts. */
  after?: number | undefined;
  /** Set for an unusable 2xx. */
  received?: ReceivedResponse | undefined;
}

/** A request that got no usable response. */
export class NetworkError extends WfrError {
  constructor(
    readonly fault: NetworkFault,
    readonly details: NetworkDetails,
    options?: ErrorOptions,
  ) {
    const { host, code, proxy, after = 0, received } = details;
    const { text, hint }: Fault = FAULTS[fault];
    const what = text.replace('HOST', () => (proxy ? `the proxy ${host}` : host));
    const why = code === undefined ? '' : ` (${code})`;
    const status = received ? `, after the status ${received.status}` : '';
    const proxyHint = proxy ? 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.' : hint;
    // The code of another fault may be text of the service, such as a content encoding.
    const fix = fault === 'certificate' ? (CERTIFICATE_HINTS[code ?? ''] ?? hint) : proxyHint;
    const further: FurtherFacts = {
      hints: fix === undefined ? [] : [fix],
      isTemporary: !(fault in PERMANENT_FAULTS),
      response: received && { status: received.status, requestId: requestIdOf(received) },
    };
    const summary = [what.replace('TIME', formatDuration(after)) + why + status];
    super(fault === 'too-large' ? 'output-not-written' : 'unreachable', summary, further, options);
  }

  get received(): ReceivedResponse | undefined {
    return this.details.received;
  }
}

/** A 2xx whose body is not a valid Run. */
export class UnreadableResponseError extends WfrError {
  constructor(
    reason: string,
    readonly received: ReceivedResponse,
  ) {
    const { status, headers, body } = received;
    const { 'content-type': type = 'none' } = headers;
    const message = excerptOf(body);
    super('unreachable', [`the response (${status}, content type ${type}) is not a run: ${reason}`], {
      serverMessage: message,
      hints: /html/i.test(type)
        ? ['The response is a web page: check the base URL, and the network for a sign-in page.']
        : [],
      isTemporary: true,
      response: { status, requestId: requestIdOf(received), message },
    });
  }
}

// Triggering

/** A trigger that certainly created no run. */
export class NotTriggeredError extends WfrError {
  declare readonly cause: NetworkError | HttpError;

  constructor(
    cause: NetworkError | HttpError,
    readonly sendState: SendState,
    attempts: number,
    /** Share of the body that was handed to the socket, 0 to 1. */
    progress: number,
    /** Retry-After in milliseconds, if it was too long to wait. */
    readonly retryAfter?: number | undefined,
  ) {
    const { summary, hints } = cause.facts;
    const isCut = sendState === 'partial' && cause instanceof NetworkError;
    const position = isCut ? ` at ${Math.floor(progress * 100)} % of the body` : '';
    const tries = attempts > 1 ? `, ${attempts} tries` : '';
    const wait =
      retryAfter === undefined
        ? []
        : [`The service asks to wait ${formatDuration(retryAfter)}; wfr waits 5m at most.`];
    const lines = [...summary.map((line) => line + position + tries), NOTHING_CREATED];
    const further: FurtherFacts = {
      ...cause.facts,
      shared: lines,
      hints: [...wait, ...(hints.length > 0 ? hints : ['It is safe to run the same command again later.'])],
      attempts,
      createdNothing: true,
    };
    super('not-triggered', lines, further, { cause });
  }
}

/** What an unusable response to a trigger says about the run that may have been created. */
export interface RunEvidence {
  /** Unconfirmed ids that the run may have, the likeliest first. */
  ids: readonly string[];
  /** The response's Location, without what may be secret. */
  location: string | undefined;
  /** The start of the response's body. */
  excerpt: string | undefined;
}

/** What to do about an unknown outcome, unless a file records it. */
export const UNRECORDED_HINTS = [
  'Check the service before you run the command again: a second run may cost a second time.',
  'Next time, add --once <file>: --adopt <id> can then settle this.',
];

/** The way out where a service answers 503 with Retry-After before it has created a run. */
export const RESEND_503_HINT =
  '--resend-503 sends it again: only if the operator of the service guarantees that such a 503 created nothing.';

/** Returns the error of a trigger that may have created a run. */
export function unknownOutcome(
  cause: NetworkError | HttpError | UnreadableResponseError,
  evidence?: RunEvidence,
): WfrError {
  const { summary, serverMessage, hints, response } = cause.facts;
  const mayResend = response?.status === 503 && response.retryAfter !== undefined;
  const { lines, facts } = factsOfEvidence(evidence);
  return new WfrError('unknown-outcome', [OUTCOME_UNKNOWN, ...summary, ...lines], {
    ...facts,
    serverMessage: serverMessage ?? facts.serverMessage,
    hints: [...facts.hints, ...hints, ...(mayResend ? [RESEND_503_HINT] : [])],
    response,
  });
}

/** Returns the error of a signal that came after a trigger had been sent. */
export function interruptedTrigger(signal: SignalName, evidence?: RunEvidence) {
  const { lines, facts } = factsOfEvidence(evidence);
  const summary = 'interrupted after the request had been sent: a run may have been created';
  return new InterruptedError(signal, [summary, ...lines], facts);
}

/** Returns the command that shows a run. */
export function statusCommand(id: string): string {
  return commandOfRuns('status', [], [id]);
}

/** Returns what is said of an id that a response to a trigger names. */
export function unconfirmedId(id: string): string {
  return `the response names the id ${id}, which the service did not confirm`;
}

/** Returns what is known of a run that may exist. */
function factsOfEvidence({ ids = [], location, excerpt: serverMessage }: Partial<RunEvidence> = {}) {
  const [id] = ids;
  const look = id === undefined ? [] : [`To look for the run: ${statusCommand(id)}`];
  const lines = [
    ...ids.map(unconfirmedId),
    ...(location === undefined ? [] : [`the response points to ${location}`]),
  ];
  return {
    lines,
    facts: { hints: [...look, ...UNRECORDED_HINTS], runMayExist: true, candidateId: id, serverMessage },
  };
}

// Watching

export type PollFailure = NetworkError | HttpError | UnreadableResponseError;

/** A run that can no longer be read: for `unreachableMs`, 0 if it never was. */
export function unreachableRun(id: string, cause: PollFailure, unreachableMs: number): WfrError {
  const { code, summary } = cause.facts;
  const duration = unreachableMs >= 1_000 ? ` for ${formatDuration(unreachableMs)}` : '';
  const describe = (subject: string) => [`${subject} could not be read${duration}`, ...summary];
  const ending = code === 'output-not-written' ? code : 'unreachable';
  return new WfrError(ending, describe(`run ${id}`), { ...cause.facts, shared: describe('the run') });
}
