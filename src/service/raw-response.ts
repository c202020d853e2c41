/** The bytes of an answer as they come out of a socket, before undici reads them. */
import type { Socket } from 'node:net';
import type { ReceivedResponse } from '../errors.js';

/** The most of an answer that is kept, and the longest head that is looked at. */
const MAX_KEPT = 64 * 1024;

/**
 * Keeps the start of what a socket receives, and makes the first head on it one that undici accepts: Content-Length
 * several times with the same value counts once (RFC 9110, section 8.6), and a 100 that nobody asked for is passed over
 * (section 15.2).
 */
export class RawResponse {
  #kept: Buffer[] = [];
  #size = 0;
  /** The head as far as it has come; undefined once it has been passed on. */
  #head: Buffer | undefined = Buffer.alloc(0);

  constructor(socket: Socket) {
    const push = socket.push.bind(socket);
    socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk !== null) this.#keep(chunk);
      if (this.#head === undefined) return push(chunk, encoding);
      const ready = chunk === null ? this.#head : this.#takeHead(Buffer.concat([this.#head, chunk]));
      if (chunk !== null && ready === undefined) return true;
      this.#head = undefined;
      const more = ready === undefined || ready.length === 0 || push(ready);
      return chunk === null ? push(null) : more;
    };
  }

  /** What has been received of an answer; undefined where that has no status line. Repeated headers: the first counts. */
  received(): ReceivedResponse | undefined {
    let rest = Buffer.concat(this.#kept).toString('latin1');
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      const [line = '', ...lines] = (end < 0 ? rest : rest.slice(0, end)).split('\r\n');
      const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(line)?.[1] ?? 0);
      if (status === 0) return undefined;
      if (end >= 0 && status < 200) {
        rest = rest.slice(end + 4);
        continue;
      }
      // Of a head that broke off, the last line may have done so, too.
      const pairs = (end < 0 ? lines.slice(0, -1) : lines).map((text) => /^([^:]+):\s*(.*?)\s*$/.exec(text));
      const headers = pairs.flatMap((pair) =>
        pair === null ? [] : [[String(pair[1]).toLowerCase(), String(pair[2])]],
      );
      const body = end < 0 ? Buffer.alloc(0) : Buffer.from(rest.slice(end + 4), 'latin1');
      return { status, headers: Object.fromEntries(headers.reverse()), body };
    }
  }

  #keep(chunk: Buffer): void {
    if (this.#size >= MAX_KEPT) return;
    this.#kept.push(chunk.subarray(0, MAX_KEPT - this.#size));
    this.#size += chunk.length;
  }

  /** What may be passed on of bytes that begin with a head; undefined while more of it has to come. */
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
      return Buffer.concat([Buffer.from(withOneLength(head), 'latin1'), rest]);
    this.#head = Buffer.alloc(0);
    return this.#takeHead(rest.subarray(4));
  }
}

/** A head in which Content-Length stands once, if all of its values are alike; the connection then ends with the answer. */
function withOneLength(head: string): string {
  const lines = head.split('\r\n');
  const isLength = (line: string) => /^content-length:/i.test(line);
  const values = lines.filter(isLength).flatMap((line) => line.slice(line.indexOf(':') + 1).split(','));
  const [first = '', ...others] = values.map((value) => value.trim());
  if (others.length === 0 || others.some((other) => other !== first)) return head;
  // The next answer on this connection would not be looked at.
  const kept = lines.filter((line) => !isLength(line) && !/^connection:/i.test(line));
  return [...kept, `Content-Length: ${first}`, 'Connection: close'].join('\r\n');
}
