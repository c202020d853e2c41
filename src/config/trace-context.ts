/** W3C Trace Context: the trace that the command is a part of, from the environment to the service. */
import type { Context } from '../platform/context.js';

export interface TraceContext {
  headers: Readonly<Record<string, string>>;
  /** Why a value of the environment is not sent, for --verbose. */
  notes: readonly string[];
}

/** Every service must pass on so many characters of a tracestate (section 3.3.1.5); of longer ones, some reject all. */
const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;

const PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;
const STATE_KEY = /^([a-z][_0-9a-z*/-]{0,255}|[a-z0-9][_0-9a-z*/-]{0,240}@[a-z][_0-9a-z*/-]{0,13})$/;
const STATE_VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Returns the headers of TRACEPARENT and TRACESTATE; none with WFR_TRACE=0, or where `headers` has a traceparent. */
export function traceContext(
  { TRACEPARENT: parent, TRACESTATE: state, WFR_TRACE }: Context['env'],
  headers: Readonly<Record<string, string>>,
): TraceContext {
  if (!parent || WFR_TRACE === '0' || 'traceparent' in headers) return { headers: {}, notes: [] };
  if (!isParent(parent)) return { headers: {}, notes: ['TRACEPARENT is invalid and not sent'] };
  if (!state || 'tracestate' in headers) return { headers: { traceparent: parent }, notes: [] };
  return isState(state)
    ? { headers: { traceparent: parent, tracestate: state }, notes: [] }
    : { headers: { traceparent: parent }, notes: ['TRACESTATE is invalid or too long, and not sent'] };
}

/** Returns whether a text is a traceparent (section 3.2.2): only later versions than 00 may have further fields. */
function isParent(text: string): boolean {
  const [, further] = PARENT.exec(text) ?? [];
  return (
    PARENT.test(text) && (further === undefined || (!text.startsWith('00') && /^[\x21-\x7e]*$/.test(further)))
  );
}

/** Returns whether a text is a tracestate (section 3.3.1). */
function isState(text: string): boolean {
  if (text.length > MAX_STATE_LENGTH) return false;
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  const present = members.filter((member) => member !== '');
  const keys = present.map((member) => member.split('=', 1)[0]);
  return (
    present.length > 0 &&
    present.length <= MAX_STATE_MEMBERS &&
    new Set(keys).size === keys.length &&
    present.every(isStateMember)
  );
}

function isStateMember(member: string): boolean {
  const separator = member.indexOf('=');
  return (
    separator > 0 &&
    STATE_KEY.test(member.slice(0, separator)) &&
    STATE_VALUE.test(member.slice(separator + 1))
  );
}
