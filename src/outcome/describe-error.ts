/**
 * What wfr tells people about an error: what happened, the service's own message, and how to fix it. Every error text is
 * here, except those of UsageError, whose problems are written where they are found.
 */
import {
  type FieldNames,
  FileChangedError,
  FileReadError,
  type FoundValue,
  HttpError,
  type HttpErrorInfo,
  InterruptedError,
  LostRunError,
  MissingTokenError,
  NetworkError,
  type NetworkFault,
  NoSuchRunError,
  NoSuchValueError,
  NotTriggeredError,
  OtherCommandError,
  OutputError,
  type RunEvidence,
  UnknownOutcomeError,
  UnknownStatusError,
  UnreachableRunError,
  UnreadableResponseError,
  UnsavedDocumentError,
  UnsettledRunError,
  UsageError,
  WfrError,
} from '../errors.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import { findNearest } from '../text/nearest.js';
import { formatBytes, formatDuration } from '../text/quantity.js';
import { quoteLines, sanitizeLine, truncate } from '../text/sanitize.js';
import { shellCommand } from '../text/shell-quote.js';
import { isUuid, isUuidPrefix } from '../text/url.js';
import { type Facts, stateOfCode } from './outcome.js';

/** What happened, the service's own message, and how to fix it. */
type Description = Pick<Facts, 'summary' | 'serverMessage' | 'hints'>;

const NOTHING_CREATED = 'no run was created';

/** The label of an error on the screen, which the view colors. */
export const ERROR_LABEL = 'error:';

/**
 * Formats an error as lines: `wfr: error: ` before the first, `| ` before the service's message, two spaces before others.
 * What the user asked for is not called an error.
 */
export function formatError(facts: Facts): string[] {
  const { code, runMayExist, summary, serverMessage, response, hints, stack } = facts;
  if (stack !== undefined)
    return [
      'wfr: internal error; please report it with this (remove any secrets first):',
      ...stack.map(sanitizeLine),
    ];
  const start = code === 'interrupted' && !runMayExist ? 'wfr: ' : `wfr: ${ERROR_LABEL} `;
  // It belongs to what happened, unlike the lines of advice.
  const lines = summary.join('\n').replace(`\n${NOTHING_CREATED}`, `; ${NOTHING_CREATED}`).split('\n');
  return [
    ...lines.map((line, index) => (index === 0 ? start : '  ') + sanitizeLine(line)),
    ...(serverMessage ? quoteLines(serverMessage).split('\n') : []),
    ...(response?.requestId === undefined
      ? []
      : [`  Request id: ${sanitizeLine(truncate(response.requestId))}`]),
    ...hints.map((line) => `  ${sanitizeLine(line)}`),
  ];
}

/** Returns what is known of an error, without its secrets; what wfr does not expect is an internal error. */
export function factsOf(error: unknown): Facts {
  const description = describeError(error);
  if (!(error instanceof WfrError) || description === undefined) return internalError(error);
  const { code, runMayExist, createdNothing, isTemporary, response, attempts, candidateId } = error;
  const { summary } =
    error instanceof UnreachableRunError ? describeUnreachableRun(error, 'the run') : description;
  const { serverMessage } = description;
  return {
    ...description,
    code,
    state: error instanceof LostRunError ? 'lost' : stateOfCode(code),
    text: [...summary, ...(serverMessage ? [serverMessage] : [])].join('\n'),
    ...(response && { response }),
    ...(attempts !== undefined && { attempts }),
    ...(candidateId !== undefined && { candidateId }),
    ...(error instanceof OtherCommandError && { recorded: error }),
    runMayExist,
    createdNothing,
    isTemporary,
    ...(error instanceof InterruptedError && { signal: error.signal }),
    ...(error instanceof UnsavedDocumentError && { isDocumentUnsaved: true }),
  };
}

/** Most lines of a stack that are shown: its message may contain text from outside. */
const MAX_STACK_LINES = 100;

function internalError(error: unknown): Facts {
  const message = error instanceof Error ? error.message : String(error);
  const stack = ((error instanceof Error && error.stack) || String(error)).split('\n');
  return {
    code: 'internal',
    state: 'internal',
    summary: [`internal error: ${truncate(message)}`],
    text: `internal error: ${message}`,
    hints: ['Report it with the details (remove any secrets first).'],
    stack: stack.slice(0, MAX_STACK_LINES).map(truncate),
    runMayExist: false,
    createdNothing: false,
    isTemporary: false,
  };
}

/** Describes an error without its secrets. Returns undefined for an internal error. */
function describeError(error: unknown): Description | undefined {
  return describeLocalError(error) ?? describeTriggerError(error) ?? describeWatchError(error);
}

/** What a row's state says already, so that its reason need not. */
const REDUNDANT_LINES: readonly string[] = [
  'the outcome is unknown: a run may have been created',
  NOTHING_CREATED,
];

/** Returns why a row was not triggered, beside the word for its state: one or more lines, not sanitized. */
export function rowReason({ code, response, text }: Facts): string {
  const { status, message } = response ?? {};
  const isOfService = code === 'rejected' || code === 'unauthorized' || code === 'forbidden';
  if (isOfService && message) return `${status}: ${message}`;
  return text
    .split('\n')
    .filter((line) => !REDUNDANT_LINES.includes(line))
    .join('\n');
}

// Command line, configuration, files

function describeLocalError(error: unknown): Description | undefined {
  if (error instanceof UsageError) {
    return {
      summary: error.problems.map((problem) => truncate(problem)),
      serverMessage: error.quoted,
      hints: error.hint === undefined ? [] : [`See: ${error.hint}`],
    };
  }
  if (error instanceof MissingTokenError) {
    const lookedFor = `no access token: looked for ${truncate(error.lookedFor.join(', '))}`;
    return {
      summary: [lookedFor, ...(error.withheld === undefined ? [] : [truncate(error.withheld)])],
      hints: ['Set WFR_TOKEN or --token-file; to send no token, use --no-token.'],
    };
  }
  if (error instanceof FileChangedError) {
    return {
      summary: [`${truncate(error.path)} changed while being read; no run was created`],
      hints: ['Run the same command again once the file is complete.'],
    };
  }
  if (error instanceof FileReadError) return describeFileReadError(error);
  if (error instanceof UnsavedDocumentError) return describeUnsavedDocument(error);
  if (error instanceof OutputError) {
    return {
      summary: [`cannot write ${truncate(error.what)}: ${describeSystemError(error.cause)}`],
      hints: [],
    };
  }
  return undefined;
}

function describeFileReadError({ path, cause, isTemporary }: FileReadError): Description {
  return {
    summary: [`${truncate(path)} cannot be read: ${describeSystemError(cause)}; no run was created`],
    hints: [
      isTemporary
        ? 'Run the same command again, with more open files (ulimit -n) or a smaller --concurrency.'
        : 'Run the same command again once it can be read.',
    ],
  };
}

function describeUnsavedDocument({ what, cause }: UnsavedDocumentError): Description {
  const [reason, fix] =
    errorCode(cause) === 'EEXIST'
      ? ['it exists already', 'overwrite it with --force']
      : [describeSystemError(cause), 'watch the run again once this is fixed'];
  return {
    summary: [`cannot save ${truncate(what)}: ${reason}`],
    hints: [`Choose another folder, or ${fix}.`],
  };
}

// Triggering

const CHECK_FIRST =
  'Check the service before you run the command again: a second run may cost a second time.';

function describeTriggerError(error: unknown): Description | undefined {
  if (error instanceof NotTriggeredError) return describeNotTriggered(error);
  if (error instanceof UnknownOutcomeError) return describeUnknownOutcome(error);
  if (error instanceof UnsettledRunError) return describeUnsettled(error);
  if (error instanceof LostRunError) {
    return {
      summary: [
        `the service no longer knows run ${truncate(error.id)} (404), recorded in ${truncate(error.file)}`,
      ],
      hints: [
        'Check the base URL and the service. The same command with --retry-failed triggers another run.',
      ],
    };
  }
  if (error instanceof InterruptedError) return describeInterruption(error);
  return undefined;
}

function describeNotTriggered(error: NotTriggeredError): Description {
  const { cause, sendState, attempts, progress, retryAfter } = error;
  const { summary, serverMessage, hints } = describeCause(cause);
  const tries = attempts > 1 ? ` (${attempts} tries)` : '';
  const position =
    sendState === 'partial' && cause instanceof NetworkError
      ? ` at ${Math.floor(progress * 100)} % of the body`
      : '';
  const wait =
    retryAfter === undefined
      ? []
      : [`The service asks to wait ${formatDuration(retryAfter)}; wfr waits 5m at most.`];
  return {
    summary: [...summary.map((line) => `${line}${position}${tries}`), NOTHING_CREATED],
    serverMessage,
    hints: [...wait, ...(hints.length > 0 ? hints : ['It is safe to run the same command again later.'])],
  };
}

function describeUnknownOutcome(error: UnknownOutcomeError): Description {
  const { cause, evidence } = error;
  const { summary, serverMessage, hints } = describeCause(cause);
  return {
    summary: ['the outcome is unknown: a run may have been created', ...summary, ...evidenceLines(evidence)],
    serverMessage: serverMessage ?? evidence?.excerpt,
    hints: [...statusHint(evidence), settleHint(error), ...hints, ...resendHint(error)],
  };
}

/** The way out where a service answers 503 with Retry-After before it has created a run. */
export const RESEND_503_HINT =
  '--resend-503 sends such a request again: use it only if the operator of the service guarantees that a 503 with Retry-After created nothing.';

function resendHint({ cause }: UnknownOutcomeError): string[] {
  if (!(cause instanceof HttpError)) return [];
  const { status, retryAfter } = cause.info;
  if (status !== 503 || retryAfter === undefined) return [];
  return [RESEND_503_HINT];
}

function describeUnsettled({ file, sentAt, reason }: UnsettledRunError): Description {
  const when = sentAt === undefined ? '' : ` at ${new Date(sentAt).toISOString()}`;
  return {
    summary: [
      'the outcome is unknown: a run may have been created',
      `an earlier command sent the request${when} and recorded no answer in ${truncate(file)}`,
      ...truncate(reason ?? '').split('\n'),
    ].filter((line) => line !== ''),
    hints: [SETTLE_ONCE],
  };
}

/** How to settle the unknown outcome of `run --once`. */
const SETTLE_ONCE =
  'Check the service, then run the same command with --adopt <id> if the run exists, or with --resend-unknown if it does not.';

function settleHint({ onceFile }: { onceFile?: string | undefined }): string {
  if (onceFile === undefined) return CHECK_FIRST;
  return `The next command with --once ${truncate(onceFile)} sends nothing. ${SETTLE_ONCE}`;
}

function describeInterruption({ sendState, evidence, onceFile }: InterruptedError): Description {
  if (sendState === undefined) return { summary: ['interrupted'], hints: [] };
  if (sendState !== 'complete') return { summary: ['cancelled; no run was created'], hints: [] };
  const summary = 'interrupted after the request had been sent: a run may have been created';
  return {
    summary: [summary, ...evidenceLines(evidence)],
    serverMessage: evidence?.excerpt,
    hints: [...statusHint(evidence), settleHint({ onceFile })],
  };
}

function evidenceLines(evidence: RunEvidence | undefined): string[] {
  const { ids = [], location } = evidence ?? {};
  return [
    ...ids.map((id) => `the response names the id ${truncate(id)}, which the service did not confirm`),
    ...(location === undefined ? [] : [`the response points to ${truncate(location)}`]),
  ];
}

function statusHint(evidence: RunEvidence | undefined): string[] {
  const [id] = evidence?.ids ?? [];
  if (id === undefined) return [];
  const command = ['wfr', 'status', ...(id.startsWith('-') ? ['--'] : []), id];
  return [`To look for the run: ${shellCommand(command)}`];
}

// Watching

/** The fewest characters that wfr takes for the beginning of an id. */
const MIN_SHORT_ID = 4;

function describeWatchError(error: unknown): Description | undefined {
  if (error instanceof NoSuchRunError) {
    return {
      summary: [`the service has no run ${truncate(error.id)} (404)`],
      serverMessage: error.info.message,
      hints: [
        ...(error.id.length < MIN_SHORT_ID && isUuidPrefix(error.id)
          ? [`The beginning of an id stands for a run in the history from ${MIN_SHORT_ID} characters on.`]
          : []),
        error.otherBaseUrl === undefined
          ? `Check the id, and the base URL: ${baseOf(error.info)}`
          : `It is a run of another service: ${shellCommand(['wfr', 'status', '--base-url', error.otherBaseUrl, error.id])}`,
      ],
    };
  }
  if (error instanceof UnreachableRunError) return describeUnreachableRun(error, `run ${truncate(error.id)}`);
  if (error instanceof NoSuchValueError) return describeNoSuchValue(error);
  if (error instanceof UnknownStatusError) {
    const duration = formatDuration(error.forMs);
    return {
      summary: [`the status ${truncate(error.status)} is unknown to wfr and has not changed for ${duration}`],
      hints: ["Check the service's documentation; a newer wfr may know this status."],
    };
  }
  return isCause(error) ? describeCause(error) : undefined;
}

function describeUnreachableRun(error: UnreachableRunError, subject: string): Description {
  const { cause, seen, unreachableMs } = error;
  const duration = seen && unreachableMs >= 1_000 ? ` for ${formatDuration(unreachableMs)}` : '';
  const description = describeCause(cause);
  return { ...description, summary: [`${subject} could not be read${duration}`, ...description.summary] };
}

function describeNoSuchValue({ pointer, subject, prefix, found }: NoSuchValueError): Description {
  const parent = prefix === '' ? `the ${subject}` : truncate(prefix);
  return {
    summary: [`the ${subject} has no value at ${truncate(pointer)}`, `${parent} ${describeFound(found)}`],
    hints: [],
  };
}

function describeFound(found: FoundValue): string {
  if (found.type === 'object') return `has the keys ${formatFields(found.keys)}`;
  if (found.type === 'array')
    return `is an array of ${found.length} ${found.length === 1 ? 'value' : 'values'}`;
  return found.type === 'null' ? 'is null' : `is a ${found.type}`;
}

// Causes: HTTP, responses that cannot be read, the network

type Cause = NetworkError | HttpError | UnreadableResponseError;

function isCause(error: unknown): error is Cause {
  return (
    error instanceof NetworkError || error instanceof HttpError || error instanceof UnreadableResponseError
  );
}

function describeCause(cause: Cause): Description {
  if (cause instanceof NetworkError) return describeNetworkError(cause);
  if (cause instanceof HttpError) return describeHttpError(cause);
  return describeUnreadableResponse(cause);
}

function describeHttpError({ info, variantHint }: HttpError): Description {
  const [summary, ...hints] = httpErrorTexts(info, variantHint);
  return { summary: [summary], serverMessage: info.message, hints };
}

/** Returns the summary, then the hints. */
function httpErrorTexts(
  info: HttpErrorInfo,
  variantHint: HttpError['variantHint'],
): [summary: string, ...hints: string[]] {
  const { status, url, bodyBytes } = info;
  const request = info.method === 'POST' ? 'the trigger' : 'the request';
  if (status >= 300 && status <= 399) return redirectTexts(info, request);
  if (status === 401 || status === 403) return tokenErrorTexts(info);
  if (status === 404) {
    // Then the message itself says that the workflow is unknown.
    const isSaid = info.method === 'POST' && speaksOfWorkflow(info);
    const problem = isSaid
      ? 'the service rejected the trigger'
      : `the service has nothing at ${truncate(url)}`;
    return [`${problem} (404)`, workflowHint(info)];
  }
  if (status === 413) {
    return [
      `the service rejected a body of ${formatBytes(bodyBytes ?? 0)} as too large (413)`,
      'Send smaller documents, or ask the operator of the service to raise the limit.',
    ];
  }
  if (status >= 500 || status === 408) return [`the service answered ${request} with an error (${status})`];
  return [`the service rejected ${request} (${status})`, ...rejectionHints(info, variantHint)];
}

function redirectTexts(
  { location, status, isRunLocation }: HttpErrorInfo,
  request: string,
): [string, string] {
  return [
    `the service redirects ${request} to ${truncate(location ?? 'nowhere')} (${status}); wfr does not follow redirects`,
    isRunLocation === true
      ? 'The target may be the run that was created.'
      : "Set the base URL to the service's own address.",
  ];
}

function tokenErrorTexts({ status, tokenSource, tokenFix }: HttpErrorInfo): [string, string] {
  return [
    tokenSource === undefined
      ? `the service requires an access token (${status}), and none was sent`
      : `the service rejected the access token (${status}); it came from ${truncate(tokenSource)}`,
    truncate(tokenFix ?? 'Set WFR_TOKEN or --token-file to a token with permission for this.'),
  ];
}

/** Returns whether the message is about the workflow, and not about an address that may have this word in it. */
function speaksOfWorkflow({ message = '', workflowId = '' }: HttpErrorInfo): boolean {
  return (
    /(?<![/\w.-])workflow(?![/\w.-]*\/)\b/i.test(message) ||
    (isUuid(workflowId) && message.includes(workflowId))
  );
}

/** A name that a profile would resolve is sent as it is where there is none. */
function workflowHint(info: HttpErrorInfo): string {
  const { workflowId = '' } = info;
  if (workflowId === '' || isUuid(workflowId)) return `Check the workflow, and the base URL: ${baseOf(info)}`;
  return `"${truncate(workflowId)}" is no UUID; names of workflows come from a profile of the config file: see wfr help config`;
}

/** Returns the base URL of a request. */
function baseOf({ url }: HttpErrorInfo): string {
  return truncate(url.replace(/\/runs(\/[^/]*)?$/, ''));
}

/** A 400 may come from a server that is not the service; a 422 has understood the request. */
const INPUT_HINTS = {
  400: 'Check the base URL, the workflow and the inputs; wfr run --dry-run shows what would be sent.',
  422: 'wfr run --dry-run shows what would be sent; to have inputs checked first, declare them: wfr help config',
};

/** What may be the name of a file. */
const FILE_NAME = /^[^\r\n]{0,200}[^\s/\\]\.\w{1,5}$/;

/** Says what may be wrong with the inputs; nothing where the message is not about them. */
function inputHints({ message = '', inputs = [] }: HttpErrorInfo): string[] {
  const names = inputs.map(({ name }) => name);
  const words: readonly string[] = message.match(/[\p{L}\p{N}_-]+/gu) ?? [];
  if (![...names, 'input', 'inputs'].some((name) => words.includes(name))) return [];
  if (inputs.length === 0) return ['No input was sent; see wfr help inputs.'];
  const others = words.filter((word) => !names.includes(word));
  const fixes = inputs.flatMap(({ name, text = '' }) => {
    if (!words.includes(name)) return [];
    const nearest = findNearest(name, others);
    if (nearest !== undefined) return [`Did you mean ${nearest} instead of ${name}?`];
    if (!FILE_NAME.test(text)) return [];
    return [`${name} was sent as text; to send the file, write ${shellCommand([`${name}@${text}`])}`];
  });
  return [...fixes, `Inputs that were sent: ${names.join(', ')}.`].map(truncate);
}

function rejectionHints(info: HttpErrorInfo, variantHint: HttpError['variantHint']): string[] {
  const { method, status, message = '' } = info;
  // nginx answers 400 where others end the handshake.
  if (status === 400 && /\bSSL certificate\b/i.test(message)) return [CLIENT_CERTIFICATE_HINT];
  if (variantHint === 'rejected')
    return ['No spelling of the workflow field was accepted; --workflow-id-field pins one.'];
  const isAboutInputs = method === 'POST' && (status === 400 || status === 422);
  return [
    ...(isAboutInputs ? [...inputHints(info), INPUT_HINTS[status]] : []),
    ...(variantHint === 'possible'
      ? [
          'If the service accepts only one spelling of the workflow field, choose it with --workflow-id-field.',
        ]
      : []),
  ];
}

function describeUnreadableResponse({ reason, facts }: UnreadableResponseError): Description {
  const { status, contentType, excerpt, fields } = facts;
  const found = fields === undefined ? '' : `; its fields are ${formatFields(fields)}`;
  const type = contentType === undefined ? '' : `, content type ${truncate(contentType)}`;
  return {
    summary: [`the response (${status ?? 'no status'}${type}) is not a run: ${truncate(reason)}${found}`],
    serverMessage: fields === undefined ? excerpt : undefined,
    hints: /html/i.test(contentType ?? '')
      ? ['The response is a web page: check the base URL, and the network for a sign-in page.']
      : [],
  };
}

function formatFields({ names, omitted }: FieldNames): string {
  const more = omitted > 0 ? [`… (${omitted} more)`] : [];
  return [...names.map(truncate), ...more].join(', ') || '(none)';
}

type FaultText = (error: NetworkError) => string;

const duration = ({ facts }: NetworkError) => formatDuration(facts.after ?? 0);

const FAULT_TEXTS: Readonly<Record<NetworkFault, FaultText>> = {
  'dns-not-found': ({ facts }) => `host not found: ${facts.host}`,
  'dns-unavailable': ({ facts }) => `the DNS server does not respond for ${facts.host}`,
  refused: ({ facts }) => `nothing listens at ${facts.host}`,
  unreachable: ({ facts }) => `${facts.host} cannot be reached from here`,
  'connect-timeout': (error) => `no connection to ${error.facts.host} within ${duration(error)}`,
  'connect-reset': ({ facts }) => `${facts.host} closed the connection at once`,
  certificate: ({ facts }) => `the certificate of ${facts.host} is not trusted`,
  'client-certificate': ({ facts }) =>
    /ALERT_CERTIFICATE_REQUIRED/.test(facts.code ?? '')
      ? `${facts.host} requires a client certificate`
      : `${facts.host} rejected the client certificate, or requires one`,
  'tls-rejected': ({ facts }) =>
    `${facts.host} rejected the TLS handshake${/HANDSHAKE_FAILURE/.test(facts.code ?? '') ? ': it may require a client certificate' : ''}`,
  'not-tls': ({ facts }) => `${facts.host} does not speak TLS`,
  'expects-tls': ({ facts }) => `${facts.host} expects TLS: use https`,
  'not-permitted': ({ facts }) => `Node.js was not permitted to connect to ${facts.host}`,
  'not-loopback': ({ facts }) => `the name ${facts.host} leads to another machine`,
  'proxy-refused': ({ facts }) => `the proxy ${facts.host} rejected the tunnel with ${facts.status}`,
  'proxy-closed': ({ facts }) => `the proxy ${facts.host} closed the tunnel`,
  local: ({ facts }) => `no connection to ${facts.host}`,
  reset: ({ facts }) => `the connection to ${facts.host} was lost`,
  stalled: (error) => `no data could be sent to ${error.facts.host} for ${duration(error)}`,
  unfinished: (error) => `the response from ${error.facts.host} did not end within ${duration(error)}`,
  'no-response': (error) => `no response from ${error.facts.host} for ${duration(error)}`,
  'not-http': ({ facts }) => `${facts.host} sent something that is not an HTTP response`,
  truncated: ({ facts }) => `the connection to ${facts.host} was lost in the middle of its response`,
  'too-large': ({ facts }) =>
    `the response of ${facts.host} is larger than 512 MiB${facts.code ? ` (${facts.code} bytes)` : ''}`,
  encoded: ({ facts }) => `${facts.host} sent its response in a content encoding that wfr cannot read`,
};

const CLIENT_CERTIFICATE_HINT = 'Set certFile and keyFile in a profile; see wfr help config.';

const FAULT_HINTS: Partial<Record<NetworkFault, string>> = {
  'dns-not-found': 'Check the base URL.',
  refused: 'Check the base URL; to try wfr without a service: wfr sandbox',
  certificate:
    'If you trust its issuer, pass the certificate of the issuer with --cacert, or set caFile in a profile; otherwise do not send anything to this host.',
  'client-certificate': CLIENT_CERTIFICATE_HINT,
  'tls-rejected': CLIENT_CERTIFICATE_HINT,
  'not-permitted': 'Node.js runs with --permission: add --allow-net, or leave out --permission.',
  'not-loopback': 'Use http://127.0.0.1, or give localhost that address in the hosts file.',
  'not-tls': 'Check whether the base URL should begin with http://.',
};

const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends in a self-signed certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another name',
  UNABLE_TO_GET_ISSUER_CERT: 'its issuer is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is unknown',
};

/** What helps where another issuer would not. */
const CERTIFICATE_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The operator of this host must renew it, unless the clock of this machine is wrong.',
  CERT_NOT_YET_VALID: 'Check the clock of this machine.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Check the name in the base URL.',
};

function describeNetworkError(error: NetworkError): Description {
  const { fault, facts } = error;
  const { code, status, proxy = false } = facts;
  const subject = proxy && !fault.startsWith('proxy-') ? ' (the proxy)' : '';
  const problem = fault === 'certificate' ? CERTIFICATE_PROBLEMS[code ?? ''] : undefined;
  const reason = problem === undefined ? '' : `: ${problem}`;
  const shownCode = code === undefined || fault === 'too-large' ? '' : ` (${truncate(code)})`;
  const received = status === undefined || proxy ? '' : `, after the status ${status}`;
  const isProxyMistake = proxy && (fault !== 'certificate' || code === 'ERR_TLS_CERT_ALTNAME_INVALID');
  const hint = isProxyMistake
    ? 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.'
    : (CERTIFICATE_HINTS[code ?? ''] ?? FAULT_HINTS[fault]);
  return {
    summary: [`${FAULT_TEXTS[fault](error)}${subject}${reason}${shownCode}${received}`],
    hints: hint === undefined ? [] : [hint],
  };
}
