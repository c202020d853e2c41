/** Sits between a socket and undici: keeps the start of a response as received, and fixes heads that undici rejects. */
import type { Socket } from 'node:net';
import type { ReceivedResponse } from '../errors.js';

/** Most bytes that are kept of a response, and the longest head that is fixed. */
const MAX_KEPT = 64 * 1024;

/**
 * Keeps the start of what a socket receives, and rewrites the first head for undici: repeated Content-Length headers of
 * one value become one (RFC 9110, section 8.6), and an unrequested 100 is dropped (section 15.2).
 */
export class RawResponse {
  #kept: Buffer[] = [];
  #size = 0;
  /** The part of the head that has arrived; undefined once the head was passed on. */
  #head: Buffer | undefined = Buffer.alloc(0);

  constructor(socket: Socket) {
    const push = socket.push.bind(socket);
    socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk !== null) this.#keep(chunk);
      if (this.#head === undefined) return push(chunk, encoding);
      const passed = chunk === null ? this.#head : this.#takeHead(Buffer.concat([this.#head, chunk]));
      if (chunk !== null && passed === undefined) return true;
      this.#head = undefined;
      const wantsMore = passed === undefined || passed.length === 0 || push(passed);
      return chunk === null ? push(null) : wantsMore;
    };
  }

  /** Parses what has arrived; undefined without a status line. Of repeated headers, the first is used. */
  parse(): ReceivedResponse | undefined {
    let rest = Buffer.concat(this.#kept).toString('latin1');
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      const [statusLine = '', ...lines] = (end < 0 ? rest : rest.slice(0, end)).split('\r\n');
      const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(statusLine)?.[1] ?? 0);
      if (status === 0) return undefined;
      if (end >= 0 && status < 200) {
        rest = rest.slice(end + 4);
        continue;
      }
      // The last line of a truncated head may be truncated, too.
      const headers = (end < 0 ? lines.slice(0, -1) : lines).flatMap((line) => {
        const colon = line.indexOf(':');
        return colon <= 0 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]];
      });
      const body = end < 0 ? Buffer.alloc(0) : Buffer.from(rest.slice(end + 4), 'latin1');
      return { status, headers: Object.fromEntries(headers.reverse()), body };
    }
  }

  #keep(chunk: Buffer): void {
    if (this.#size >= MAX_KEPT) return;
    this.#kept.push(chunk.subarray(0, MAX_KEPT - this.#size));
    this.#size += chunk.length;
  }

  /** Returns the bytes to pass on, with the head fixed; undefined until the head is complete. */
  #takeHead(bytes: Buffer): Buffer | undefined {
    const start = bytes.subarray(0, 5).toString('latin1');
    const end = bytes.indexOf('\r\n\r\n');
    if (!'HTTP/'.startsWith(start) || (end < 0 && bytes.length > MAX_KEPT)) return bytes;
    if (end < 0) {
      this.#head = bytes;
      return undefined;
    }
    const head = bytes.subarray(0, end).toString('latin1');
    const rest = bytes.subarray(end);
    if (!/^HTTP\/1\.\d 100\b/.test(head))
      return Buffer.concat([Buffer.from(mergeContentLengths(head), 'latin1'), rest]);
    this.#head = Buffer.alloc(0);
    return this.#takeHead(rest.subarray(4));
  }
}

/** Merges Content-Length headers if all values are equal; the connection is then closed after the response. */
function mergeContentLengths(head: string): string {
  const lines = head.split('\r\n');
  const isLength = (line: string) => /^content-length:/i.test(line);
  const values = lines.filter(isLength).flatMap((line) => line.slice(line.indexOf(':') + 1).split(','));
  const [first = '', ...others] = values.map((value) => value.trim());
  if (others.length === 0 || others.some((other) => other !== first)) return head;
  // The head of the next response on this connection would not be fixed.
  const kept = lines.filter((line) => !isLength(line) && !/^connection:/i.test(line));
  return [...kept, `Content-Length: ${first}`, 'Connection: close'].join('\r\n');
}
