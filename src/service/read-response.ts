/** Reads one response as undici parses it: all of a 2xx, and the start of any other. */
import { isUtf8 } from 'node:buffer';
import type { Clock, Limits } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { NetworkError, type NetworkFault, type ReceivedResponse } from './errors.js';
import { MAX_SMALL, type ResponsePlace } from './response-memory.js';
import type { Deadline } from './time-limits.js';

/** Longest body of a 2xx, in bytes: 512 MiB. */
const MAX_RESPONSE = 512 * 1024 * 1024;
/** Most bytes that are read of any other body, and that are searched of a 2xx that has not ended. */
const MAX_PART = 64 * 1024;
/** Bytes per millisecond of the slowest response to a trigger. */
const MIN_RATE = 64;

export type HttpResponse = Awaited<ReturnType<ResponseReader['response']>>;

export interface ReadOptions {
  clock: Clock;
  limits: Limits;
  /** Where a 2xx waits to be printed; undefined for one that need not wait. */
  place?: ResponsePlace | undefined;
  /** Called when a part of the body has arrived. */
  onReceived?: () => void;
}

interface Controller {
  abort(reason: Error): void;
}

/** What undici calls with the parts of one response. It is never paused: what arrives is kept. */
export class ResponseReader {
  /** When the response must have ended (ms of the clock), beyond the time that its bytes need at 64 kB/s. */
  endBy = Number.POSITIVE_INFINITY;
  readonly #started: number;
  readonly #bytes = new ReceivedBytes();
  readonly #ended: Promise<boolean>;
  #end = (_isWhole: boolean) => {};
  #fail = (_error: unknown) => {};
  #controller: Controller | undefined;
  #status = 0;
  #headers: Record<string, string> = {};

  constructor(
    private readonly options: ReadOptions,
    private readonly deadline: Deadline,
  ) {
    this.#started = options.clock.monotonic();
    this.#ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    deadline.signal.addEventListener('abort', () => this.#abort());
    this.#abort();
  }

  /** What has arrived of a 2xx. */
  get received(): ReceivedResponse | undefined {
    if (!this.#isAccepted) return undefined;
    return { status: this.#status, headers: this.#headers, body: this.#bytes.start(MAX_PART) };
  }

  /** The same without its coding, as far as it can be decoded. */
  async decodedReceived(): Promise<ReceivedResponse | undefined> {
    return this.received && { ...this.received, body: await this.#decodeStart() };
  }

  /**
   * Resolves with the response, decoded. Throws NetworkError, NoRoomError, the signal's reason, or an error of undici.
   */
  async response() {
    const isWhole = await this.#ended;
    const durationMs = this.options.clock.monotonic() - this.#started;
    const body = this.#isAccepted ? stripByteOrderMark(await this.#decode()) : await this.#decodeStart();
    const isRepaired = this.#isAccepted && !isUtf8(body);
    return {
      status: this.#status,
      /** Names in lower case; of repeated headers, the first. */
      headers: this.#headers as Readonly<Record<string, string>>,
      /** In UTF-8 for a 2xx. */
      body: isRepaired ? this.#repair(body) : body,
      /** Whether the whole body was read, as always of a 2xx. */
      isWhole,
      /** Whether bytes of a 2xx that are not UTF-8 were replaced. */
      isRepaired,
      /** Milliseconds from the request to the end of the response. */
      durationMs,
    };
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    this.#abort();
  }

  onResponseStart(
    _controller: Controller,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) throw this.#error('not-http');
    this.#status = status;
    for (const [name, value] of Object.entries(headers)) {
      const first = Array.isArray(value) ? value[0] : value;
      if (first !== undefined) this.#headers[name] = first;
    }
    this.#restartLimit();
    if (!this.#isAccepted) return;
    const { 'content-length': length, 'content-encoding': coding } = this.#headers;
    if (isCoded(coding) === undefined) throw this.#error('encoded', coding);
    this.#assertSize(Number(length ?? 0));
    this.#bytes.expect(Number(length ?? 0));
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.#bytes.add(chunk);
    this.options.onReceived?.();
    if (this.#isAccepted) this.#assertSize(this.#bytes.size);
    else if (this.#bytes.size > MAX_PART) throw new Error('enough has been read');
    this.#restartLimit();
  }

  onResponseEnd(): void {
    this.#end(true);
  }

  /** The status of an error response matters, its message is a bonus. */
  onResponseError(_controller: Controller, error: Error): void {
    if (this.#status === 0 || this.#isAccepted || this.deadline.isInterrupted) this.#fail(error);
    else this.#end(false);
  }

  get #isAccepted(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  /** Ends the request if its time is over. undici calls `onRequestStart` only once it is connected. */
  #abort(): void {
    const { aborted, reason } = this.deadline.signal;
    if (!aborted) return;
    if (this.#controller === undefined) this.#fail(reason);
    else this.#controller.abort(reason);
  }

  #restartLimit(): void {
    const { limits, clock } = this.options;
    const { silence, errorBody, response } = limits;
    const left = this.endBy + this.#bytes.size / MIN_RATE - clock.monotonic();
    if (!this.#isAccepted && this.#bytes.size === 0) this.deadline.allow(errorBody, 'unfinished');
    else if (this.#isAccepted && left <= silence) this.deadline.allow(left, 'unfinished', response);
    else if (this.#isAccepted) this.deadline.allow(silence, 'no-response');
  }

  /** Throws for the size of a 2xx that is too large, now or ever. */
  #assertSize(size: number): void {
    const { 'content-length': length } = this.#headers;
    if (size > MAX_RESPONSE) throw this.#error('too-large', length && `${length} bytes`);
    this.options.place?.assertRoomFor(size);
  }

  /** Returns a 2xx without its coding. One that has a place is decoded again if it is large: only the first one may be. */
  async #decode(max = this.options.place ? MAX_SMALL : MAX_RESPONSE): Promise<Buffer> {
    try {
      return await decode(this.#bytes.all(), this.#headers['content-encoding'], max);
    } catch (error) {
      if (errorCode(error) !== 'ERR_BUFFER_TOO_LARGE') throw this.#error('encoded', errorCode(error));
      this.#assertSize(max + 1);
      return this.#decode(MAX_RESPONSE);
    }
  }

  /** Returns the start of the body without its coding, as far as it can be decoded. */
  async #decodeStart(): Promise<Buffer> {
    const start = this.#bytes.start(MAX_PART);
    const decoded = await decode(start, this.#headers['content-encoding'], MAX_RESPONSE).catch(() => start);
    return decoded.subarray(0, MAX_PART);
  }

  /** Replaces what is not UTF-8, as every JSON parser does, in pieces that fit on the heap. */
  #repair(bytes: Buffer): Buffer {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const repaired = new ReceivedBytes();
    for (let from = 0; from < bytes.length; from += MAX_PART) {
      const piece = bytes.subarray(from, from + MAX_PART);
      repaired.add(Buffer.from(decoder.decode(piece, { stream: from + MAX_PART < bytes.length })));
      // A replacement character is longer than the byte that it replaces.
      this.#assertSize(repaired.size);
    }
    return repaired.all();
  }

  #error(fault: NetworkFault, code?: string): NetworkError {
    return new NetworkError(fault, { host: this.deadline.host, code });
  }
}

/** Values that some servers send for a body without a coding. */
const NO_CODING = ['', 'identity', 'none', 'binary', 'utf-8', 'utf8'];

/** Returns whether a Content-Encoding header names a coding; undefined if wfr cannot decode it. */
function isCoded(header = ''): boolean | undefined {
  const labels = header.split(',').map((label) => label.trim().toLowerCase());
  const codings = labels.filter((label) => !NO_CODING.includes(label));
  if (codings.length === 0) return false;
  return /^((x-)?gzip|deflate)$/.test(codings.join()) || undefined;
}

/** Returns the body without its coding, or as much of it as has arrived. Throws the error of node:zlib. */
async function decode(body: Buffer, header: string | undefined, maxOutputLength: number): Promise<Buffer> {
  const [first = 0] = body;
  // `{`: plain JSON in spite of the header. No coded body begins with this byte.
  if (!isCoded(header) || body.length === 0 || first === 0x7b) return body;
  // Loaded on demand, because no coding is requested.
  const { constants, inflateRaw, unzip } = await import('node:zlib');
  // Some servers omit the zlib wrapper of deflate (RFC 9110, section 8.4.1.2), whose first byte names method 8.
  const decoder = first === 0x1f || (first & 0x0f) === 8 ? unzip : inflateRaw;
  const options = { maxOutputLength, chunkSize: MAX_PART, finishFlush: constants.Z_SYNC_FLUSH };
  return new Promise((resolve, reject) => {
    decoder(body, options, (error, decoded) => (error === null ? resolve(decoded) : reject(error)));
  });
}

/** Bytes in one buffer, which grows to twice its size, so that single bytes take little time. */
class ReceivedBytes {
  #buffer = Buffer.alloc(0);
  size = 0;

  /** Allocates what will be added. */
  expect(size: number): void {
    this.#buffer = Buffer.allocUnsafeSlow(size);
  }

  add(chunk: Uint8Array): void {
    const size = this.size + chunk.length;
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * size);
      larger.set(this.all());
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.size);
    this.size = size;
  }

  /** Returns a copy of the first bytes, which does not keep all of them in memory. */
  start(length: number): Buffer {
    return Buffer.from(this.all().subarray(0, length));
  }

  all(): Buffer {
    return this.#buffer.subarray(0, this.size);
  }
}
