/** Sits between a socket and undici: takes out 1xx responses, and fixes heads that undici rejects. */
import type { Socket } from 'node:net';
import type { ReceivedResponse } from './response-facts.js';

/** The longest head of a response, in bytes. */
export const MAX_HEAD = 128 * 1024;
/** Most 1xx responses before the final one. */
const MAX_INTERIM = 100;
/** Some servers end lines with a line feed alone. */
const HEAD_END = /\r?\n\r?\n/;

/** The head of the response that a socket receives. */
export type ResponseHead = ReturnType<typeof interceptHead>;

/**
 * Passes what a socket receives on to undici without unrequested 1xx responses (RFC 9110, section 15.2), and with a head
 * that its parser accepts. Calls `onReceived` when a part of the head has arrived.
 */
export function interceptHead(socket: Socket, onReceived = () => {}) {
  let interim = 0;
  /** What has arrived of it and was not passed on. */
  let bytes = Buffer.alloc(0);
  let isPassed = false;

  /** Returns the bytes to pass on, with the head fixed; undefined until the head is complete. */
  const take = () => {
    for (;;) {
      const isHttp = 'HTTP/'.startsWith(bytes.toString('latin1', 0, 5));
      const end = HEAD_END.exec(bytes.toString('latin1', 0, MAX_HEAD));
      if (!isHttp || (end === null && bytes.length > MAX_HEAD)) return bytes;
      if (end === null) return undefined;
      const head = bytes.toString('latin1', 0, end.index);
      const rest = bytes.subarray(end.index + end[0].length);
      if (!isInterim(head)) return Buffer.concat([Buffer.from(fixHead(head), 'latin1'), rest]);
      if (++interim > MAX_INTERIM) return Buffer.from('too many 1xx responses');
      bytes = rest;
    }
  };

  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (isPassed) return push(chunk, encoding);
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk]);
    onReceived();
    const passed = chunk === null ? bytes : take();
    isPassed = Boolean(passed);
    const wantsMore = !passed || passed.length === 0 || push(passed);
    return chunk === null ? push(null) : wantsMore;
  };

  return {
    /** Begins the next response on a kept connection. */
    expectNext() {
      interim = 0;
      bytes = Buffer.alloc(0);
      isPassed = false;
    },
    /**
     * Returns what has arrived of a 2xx until its head was passed on, whose last line may be incomplete. Of repeated
     * headers, the first is used.
     */
    received(): ReceivedResponse | undefined {
      const text = bytes.toString('latin1');
      const end = HEAD_END.exec(text);
      const [statusLine = '', ...lines] = text.slice(0, end?.index).split(/\r?\n/);
      if (end === null) lines.pop();
      const [, status] = /^HTTP\/1\.\d (2\d\d)\b/.exec(statusLine) ?? [];
      if (status === undefined) return undefined;
      const pairs = lines.map((line) => {
        const [name = '', ...value] = line.split(':');
        return [name.toLowerCase(), value.join(':').trim()];
      });
      const body = bytes.subarray(end ? end.index + end[0].length : bytes.length);
      return { status: Number(status), headers: Object.fromEntries(pairs.reverse()), body };
    },
  };
}

/** Returns whether another response follows: one of 101 that switches protocols is the last. */
function isInterim(head: string): boolean {
  const [, status] = /^HTTP\/1\.\d (1\d\d)\b/.exec(head) ?? [];
  return status !== undefined && (status !== '101' || !/^upgrade:/im.test(head));
}

/**
 * Returns the head with its empty line. One that undici rejects is fixed, and the connection closed after the response:
 * what is no header is dropped, Content-Length gives way to chunks (RFC 9112, section 6.3), and the largest counts.
 */
function fixHead(head: string): string {
  const [statusLine = '', ...lines] = head.split(/\r?\n/).map(
    // Control characters other than a tab are invalid, and so is white space before the colon.
    (line) => line.replace(/[^\t -~\x80-\xff]/g, ' ').replace(/^([\w-]+)[ \t]+:/, '$1:'),
  );
  const fields = lines.filter((line) => /^[!#$%&'*+.^_`|~\w-]+:/.test(line));
  const isLength = (field: string) => /^content-length:/i.test(field);
  const isChunked = fields.some((field) => /^transfer-encoding:.*\bchunked\b/i.test(field));
  const lengths = fields.filter(isLength).flatMap((field) => field.match(/(?<![-\d])\d+/g) ?? []);
  const length =
    isChunked || lengths.length === 0 ? [] : [`Content-Length: ${Math.max(...lengths.map(Number))}`];
  const isValid =
    lengths.length + Number(isChunked) <= 1 &&
    fields.filter(isLength).every((field) => /:\s*\d+\s*$/.test(field));
  const fixed = isValid ? fields : [...fields.filter((field) => !isLength(field)), ...length];
  if ([statusLine, ...fixed].join('\r\n') === head) return `${head}\r\n\r\n`;
  const others = fixed.filter((field) => !/^connection:/i.test(field));
  return [statusLine, ...others, 'Connection: close', '', ''].join('\r\n');
}
