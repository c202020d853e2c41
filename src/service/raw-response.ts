/** Sits between a socket and undici: keeps the start of a response as received, and fixes heads that undici rejects. */

import type { Socket } from 'node:net';
import type { ReceivedResponse } from './errors.js';

/** The longest head of a response, in bytes. */
export const MAX_HEAD = 64 * 1024;
/** Most bytes that are kept of a response: some of the body, too, where its head is too long. */
const MAX_KEPT = 2 * MAX_HEAD;
/** Most 1xx responses before the final one. */
const MAX_INTERIM = 100;
/** Some servers end lines with a line feed alone. */
const HEAD_END = /\r?\n\r?\n/;

/**
 * Keeps the start of what a socket receives, and passes it on to undici without unrequested 1xx responses (RFC 9110,
 * section 15.2), and with a head that its parser accepts.
 */
export class RawResponse {
  #kept: Buffer[] = [];
  #size = 0;
  #interim = 0;
  /** The part of the head that has arrived; undefined once the head was passed on. */
  #head: Buffer | undefined = Buffer.alloc(0);

  /** Calls `onReceived` whenever more has arrived. */
  constructor(socket: Socket, onReceived = () => {}) {
    const push = delayEnd(socket);
    socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (this.#head === undefined) {
        if (chunk !== null) this.#keep(chunk);
        onReceived();
        return push(chunk, encoding);
      }
      const passed = chunk === null ? this.#head : this.#takeHead(Buffer.concat([this.#head, chunk]));
      if (passed !== undefined) {
        this.#head = undefined;
        this.#keep(passed);
      }
      onReceived();
      if (passed === undefined) return true;
      const wantsMore = passed.length === 0 || push(passed);
      return chunk === null ? push(null) : wantsMore;
    };
  }

  /** Begins the next response on a kept connection. */
  expectNext(): void {
    this.#kept = [];
    this.#size = 0;
    this.#interim = 0;
    this.#head = Buffer.alloc(0);
  }

  /** Parses what has arrived of a 2xx; undefined without one. Of repeated headers, the first is used. */
  parseAccepted(): ReceivedResponse | undefined {
    const kept = this.#head === undefined ? this.#kept : [...this.#kept, this.#head];
    const response = parseResponse(Buffer.concat(kept).toString('latin1'));
    return response && response.status >= 200 && response.status <= 299 ? response : undefined;
  }

  #keep(chunk: Buffer): void {
    if (this.#size >= MAX_KEPT) return;
    this.#kept.push(chunk.subarray(0, MAX_KEPT - this.#size));
    this.#size += chunk.length;
  }

  /** Returns the bytes to pass on, with the head fixed; undefined until the head is complete. */
  #takeHead(received: Buffer): Buffer | undefined {
    for (let bytes = received; ; ) {
      const isHttp = 'HTTP/'.startsWith(bytes.subarray(0, 5).toString('latin1'));
      const end = HEAD_END.exec(bytes.subarray(0, MAX_KEPT).toString('latin1'));
      if (!isHttp || (end === null && bytes.length > MAX_HEAD)) return bytes;
      if (end === null) {
        this.#head = bytes;
        return undefined;
      }
      const head = bytes.subarray(0, end.index).toString('latin1');
      const rest = bytes.subarray(end.index + end[0].length);
      if (!isInterim(head)) return Buffer.concat([Buffer.from(fixHead(head), 'latin1'), rest]);
      if (++this.#interim > MAX_INTERIM) return Buffer.from('too many 1xx responses');
      bytes = rest;
    }
  }
}

/**
 * Returns the socket's `push`, by which the end of the connection waits until undici has read what came before: while a
 * response that nobody reads is paused, version 7 treats the end as a lost connection, or fails an assertion that ends the
 * process (nodejs/undici#5360).
 */
function delayEnd(socket: Socket): Socket['push'] {
  const push = socket.push.bind(socket);
  const read = socket.read.bind(socket);
  let isRead = true;
  let isEnding = false;
  const end = () => {
    const wantsMore = push(null);
    // The end of a socket is only emitted when it is read, which Node.js has done before.
    read(0);
    return wantsMore;
  };
  socket.read = (size?: number) => {
    const chunk = read(size);
    // undici reads without a size, until there is nothing, unless it is paused.
    if (size === undefined) {
      isRead = chunk === null;
      if (isRead && isEnding) {
        isEnding = false;
        queueMicrotask(end);
      }
    }
    return chunk;
  };
  return (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) {
      isRead = false;
      return push(chunk, encoding);
    }
    isEnding = !isRead;
    return isRead && end();
  };
}

/** Returns whether another response follows: one of 101 that switches protocols is the last. */
function isInterim(head: string): boolean {
  const [, status] = /^HTTP\/1\.\d (1\d\d)\b/.exec(head) ?? [];
  return status !== undefined && (status !== '101' || !/^upgrade:/im.test(head));
}

/**
 * Returns the head with its empty line. One that undici rejects is fixed, and the connection closed after the response:
 * what is no header is dropped, Content-Length gives way to chunks (RFC 9112, section 6.3) and is merged where it is
 * repeated with one value (RFC 9110, section 8.6).
 */
function fixHead(head: string): string {
  const [statusLine = '', ...lines] = head.split(/\r?\n/);
  const fields = lines.flatMap((line) => {
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+)[ \t]*:(.*)$/s.exec(line) ?? [];
    return name === undefined ? [] : [`${name}:${value}`];
  });
  const isNamed = (name: string) => (field: string) => field.toLowerCase().startsWith(`${name}:`);
  const isLength = isNamed('content-length');
  const lengths = fields
    .filter(isLength)
    .flatMap((field) => field.slice('content-length:'.length).split(','));
  const [first = '', ...others] = lengths.map((value) => value.trim());
  const isMerged = others.length > 0 && others.every((other) => other === first);
  const isReplaced = fields.some((field) => /^transfer-encoding:.*\bchunked\b/i.test(field));
  const kept = fields.filter((field) => !isLength(field) || !(isMerged || isReplaced));
  const fixed = [statusLine, ...kept, ...(isMerged && !isReplaced ? [`Content-Length: ${first}`] : [])].map(
    // Control characters other than a tab are invalid.
    (line) => line.replace(/[^\t -~\x80-\xff]/g, ' '),
  );
  const isChanged = fixed.join('\r\n') !== head;
  const all = isChanged
    ? [...fixed.filter((line) => !isNamed('connection')(line)), 'Connection: close']
    : fixed;
  return `${all.join('\r\n')}\r\n\r\n`;
}

function parseResponse(text: string): ReceivedResponse | undefined {
  const end = HEAD_END.exec(text);
  const [statusLine = '', ...lines] = text.slice(0, end?.index).split(/\r?\n/);
  const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(statusLine)?.[1] ?? 0);
  if (status === 0) return undefined;
  const rest = end === null ? '' : text.slice(end.index + end[0].length);
  if (end !== null && status < 200) return parseResponse(rest);
  // The last line of a truncated head may be truncated, too.
  const pairs = (end === null ? lines.slice(0, -1) : lines).flatMap((line) => {
    const colon = line.indexOf(':');
    return colon <= 0 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]];
  });
  const headers = Object.fromEntries(pairs.reverse());
  const isChunked = /\bchunked\b/i.test(headers['transfer-encoding'] ?? '');
  return { status, headers, body: Buffer.from(isChunked ? joinChunks(rest) : rest, 'latin1') };
}

/** Returns the content of chunks (RFC 9112, section 7.1), up to the first that is invalid or incomplete. */
function joinChunks(text: string): string {
  const parts: string[] = [];
  for (let rest = text; ; ) {
    const [line = '', size = '0'] = /^([\da-f]{1,8})[^\n]*\n/i.exec(rest) ?? [];
    const length = Number.parseInt(size, 16);
    parts.push(rest.slice(line.length, line.length + length));
    rest = rest.slice(line.length + length).replace(/^\r?\n/, '');
    if (length === 0 || rest === '') return parts.join('');
  }
}
