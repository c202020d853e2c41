/** Reads and parses the request headers that a user adds with --header and --header-file. */
import { throwProblems } from '../errors.js';
import type { Context } from '../platform/context.js';
import { readSettingFile, type ServiceSources } from './resolve-setting.js';

/** Set by wfr itself, or reserved for the connection (RFC 9110, section 7.6.1). */
const OWN_HEADER =
  /^(accept(-encoding)?|(proxy-)?authorization|connection|content-(length|type)|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/;

type Headers = Readonly<Record<string, string>>;

/**
 * Returns the headers of --header-file or the profile's headerFile, and those of --header, which override them, by
 * lower-case name; Authorization is allowed only with --no-token. All values are masked from now on. Throws UsageError,
 * which never shows a value: it may be a secret.
 */
export async function readHeaders(sources: ServiceSources): Promise<Record<string, string>> {
  const { flags, context } = sources;
  // Before a problem with the file can be shown.
  const ofFlags = (flags.header ?? []).map((text) => parseLine(text, '--header', context));
  const file = await readSettingFile('headerFile', sources);
  // Without a byte order mark.
  const lines = file ? new TextDecoder().decode(file.bytes).split(/\r?\n/) : [];
  // Messages name a line such as `keys.txt:3`.
  const ofFile = lines.flatMap((text, index) =>
    /^\s*(#|$)/.test(text) ? [] : parseLine(text, `${file?.path}:${index + 1}`, context),
  );
  const headers: [name: string, value: string][] = [];
  const problems: string[] = [];
  for (const { name, value, source } of [...ofFile, ...ofFlags]) {
    const key = name.toLowerCase();
    const header = `${source} ${name}`;
    const isOwn = OWN_HEADER.test(key) && !(flags.token === false && key === 'authorization');
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      problems.push(`${source}: expected "name: value" (the value is not shown: it may be a secret)`);
    } else if (isOwn) {
      problems.push(`${header}: wfr sets this header itself`);
    } else if (!/^[\t\x20-\x7e]*$/.test(value)) {
      problems.push(`${header}: the value contains a line break or a non-ASCII character`);
    } else {
      headers.push([key, value.trim()]);
    }
  }
  throwProblems(problems);
  return Object.fromEntries(headers);
}

/** Headers whose values are secrets whatever they look like. */
const SECRET_HEADERS = /^((proxy-)?authorization|cookie)$/i;

/**
 * Parses a header; one without a colon has no name. Masks its value, unless that is ordinary text, and what follows a scheme
 * in it, such as `Basic`.
 */
function parseLine(text: string, source: string, { secrets }: Context) {
  const [, start = '', value = ''] = /^(?:([^:]*):)?(.*)$/s.exec(text) ?? [];
  const name = start.trim();
  const shown = value.trim();
  for (const part of [shown, /^[A-Za-z]+ +(\S+)$/.exec(shown)?.[1]])
    if (SECRET_HEADERS.test(name)) secrets.add(part, '(hidden)');
    else secrets.addPossible(part);
  return { name, value, source };
}

const IDS = '(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}';
/** Only later versions than 00 may have further fields (section 3.2.2). */
const PARENT = new RegExp(`^(00-${IDS}|(?!00|ff)[0-9a-f]{2}-${IDS}(-[\\x21-\\x7e]*)?)$`);
const STATE_MEMBER = /^ *[a-z0-9][_0-9a-z*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]+$/;

/**
 * Returns the headers of TRACEPARENT and TRACESTATE, none with WFR_TRACE=0, or where `headers` has a traceparent; and why a
 * value of the environment is not sent, for --verbose.
 */
export function traceContext(
  { TRACEPARENT: traceparent, TRACESTATE: tracestate, WFR_TRACE }: Context['env'],
  headers: Headers,
) {
  const send = (sent: Headers, ...notes: string[]) => ({ headers: sent, notes });
  if (!traceparent || WFR_TRACE === '0' || 'traceparent' in headers) return send({});
  if (!PARENT.test(traceparent)) return send({}, 'TRACEPARENT is invalid and not sent');
  if (!tracestate || 'tracestate' in headers) return send({ traceparent });
  if (isState(tracestate)) return send({ traceparent, tracestate });
  return send({ traceparent }, 'TRACESTATE is invalid or too long, and not sent');
}

/** Returns whether a text is a tracestate that every service passes on (section 3.3.1). */
function isState(text: string): boolean {
  const members = text.split(',');
  return text.length <= 512 && members.length <= 32 && members.every((member) => STATE_MEMBER.test(member));
}
