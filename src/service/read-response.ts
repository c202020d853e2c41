/** Reads one response as undici parses it: all of a 2xx, and the start of any other. */
import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import type { Clock, Limits } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import { onAbort } from '../platform/until-aborted.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { NetworkError, type NetworkFault } from './errors.js';
import type { ReceivedResponse } from './response-facts.js';
import type { ResponsePlace } from './response-memory.js';
import type { Deadline } from './time-limits.js';

/** Longest body of a 2xx, in bytes: 512 MiB. */
const MAX_RESPONSE = 512 * 1024 * 1024;
/** Most bytes that are read of any other body, and that are searched of a 2xx that has not ended. */
const MAX_PART = 64 * 1024;
/** Bytes per millisecond of the slowest response to a trigger. */
const MIN_RATE = 64;

export type HttpResponse = Awaited<ReturnType<ResponseReader['response']>>;

/** Reads one response, and is what undici calls with the parts of it. It is never paused: what arrives is kept. */
export type ResponseReader = ReturnType<typeof readResponse>;

export interface ReadOptions {
  clock: Clock;
  limits: Limits;
  deadline: Deadline;
  /** Where a 2xx waits to be printed; undefined for one that need not wait. */
  place?: ResponsePlace | undefined;
  /** Returns when it must have ended (ms of the clock), beyond the time that its bytes need at 64 kB/s. */
  endBy?: () => number;
  /** Called when a part of the body has arrived. */
  onReceived?: () => void;
}

interface Controller {
  abort(reason: Error): void;
}

/** Returns what undici calls with the parts of one response, and what has been read of it. */
export function readResponse({ clock, limits, deadline, place, endBy, onReceived }: ReadOptions) {
  const started = clock.monotonic();
  const bytes = createBytes();
  let end = (_isWhole: boolean) => {};
  let fail = (_error: unknown) => {};
  const ended = new Promise<boolean>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  let controller: Controller | undefined;
  let status = 0;
  const headers: Record<string, string> = {};

  const isAccepted = () => status >= 200 && status <= 299;

  const error = (fault: NetworkFault, code?: string) =>
    new NetworkError(fault, { host: deadline.host, code });

  /** Ends the request if its time is over. undici calls `onRequestStart` only once it is connected. */
  const abort = () => {
    const { aborted, reason } = deadline.signal;
    if (!aborted) return;
    if (!controller) fail(reason);
    else controller.abort(reason);
  };
  onAbort(deadline.signal, abort);

  /** Restarts the time limit of a 2xx. */
  const restartLimit = () => {
    const { silence, response } = limits;
    const left = (endBy?.() ?? Number.POSITIVE_INFINITY) + bytes.size / MIN_RATE - clock.monotonic();
    if (left <= silence) deadline.restart(left, 'unfinished', response);
    else deadline.restart(silence, 'no-response');
  };

  /** Throws for the size of a 2xx that is too large, now or ever. */
  const assertSize = (size: number) => {
    const { 'content-length': length } = headers;
    if (size > MAX_RESPONSE) throw error('too-large', length && `${length} bytes`);
    place?.assertRoomFor(size);
  };

  /** Returns a 2xx without its coding. One that has a place is decoded again if it is large: only the first one may be. */
  const decodeAll = async (max = place?.maxSmall ?? MAX_RESPONSE): Promise<Buffer> => {
    try {
      return await decode(bytes.all(), headers['content-encoding'], max);
    } catch (reason) {
      if (errorCode(reason) !== 'ERR_BUFFER_TOO_LARGE') throw error('encoded', errorCode(reason));
      assertSize(max + 1);
      return decodeAll(MAX_RESPONSE);
    }
  };

  /** Returns the start of the body without its coding, as far as it can be decoded. */
  const decodeStart = async () => {
    const start = bytes.start();
    const decoded = await decode(start, headers['content-encoding'], MAX_RESPONSE).catch(() => start);
    return decoded.subarray(0, MAX_PART);
  };

  /** Replaces what is not UTF-8, as every JSON parser does, in pieces that fit on the heap. */
  const repair = (body: Buffer) => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const repaired = createBytes();
    for (let from = 0; from < body.length; from += MAX_PART) {
      const piece = body.subarray(from, from + MAX_PART);
      repaired.add(Buffer.from(decoder.decode(piece, { stream: from + MAX_PART < body.length })));
      // A replacement character is longer than the byte that it replaces.
      assertSize(repaired.size);
    }
    return repaired.all();
  };

  /** Returns what has arrived of a 2xx. */
  const received = (): ReceivedResponse | undefined =>
    isAccepted() ? { status, headers, body: bytes.start() } : undefined;

  return {
    received,
    /** Returns the same without its coding, as far as it can be decoded. */
    decodedReceived: async () => received() && { status, headers, body: await decodeStart() },
    /** Resolves with the response, decoded. Throws NetworkError, NO_ROOM, the signal's reason, or an error of undici. */
    async response() {
      const isWhole = await ended;
      const durationMs = clock.monotonic() - started;
      const body = isAccepted() ? stripByteOrderMark(await decodeAll()) : await decodeStart();
      const isRepaired = isAccepted() && !isUtf8(body);
      return {
        status,
        /** Names in lower case; of repeated headers, the first. */
        headers: headers as Readonly<Record<string, string>>,
        /** In UTF-8 for a 2xx. */
        body: isRepaired ? repair(body) : body,
        /** Whether the whole body was read, as always of a 2xx. */
        isWhole,
        /** Whether bytes of a 2xx that are not UTF-8 were replaced. */
        isRepaired,
        /** Milliseconds from the request to the end of the response. */
        durationMs,
      };
    },

    onRequestStart(started: Controller) {
      controller = started;
      abort();
    },
    onResponseStart(
      _controller: Controller,
      code: number,
      all: Record<string, string | string[] | undefined>,
    ) {
      if (code < 200) throw error('not-http');
      status = code;
      for (const [name, value] of Object.entries(all)) {
        const [first = ''] = [value].flat();
        headers[name] = first;
      }
      if (!isAccepted()) return deadline.restart(limits.errorBody, 'unfinished');
      restartLimit();
      const { 'content-length': length = 0, 'content-encoding': coding } = headers;
      if (isCoded(coding) === undefined) throw error('encoded', coding);
      assertSize(Number(length));
      bytes.expect(Number(length));
    },
    onResponseData(_controller: Controller, chunk: Buffer) {
      bytes.add(chunk);
      onReceived?.();
      if (isAccepted()) {
        assertSize(bytes.size);
        restartLimit();
      } else if (bytes.size > MAX_PART) throw new Error('enough has been read');
    },
    onResponseEnd: () => end(true),
    /** The status of an error response matters, its message is a bonus. */
    onResponseError(_controller: Controller, reason: Error) {
      if (status === 0 || isAccepted() || deadline.outer.aborted) fail(reason);
      else end(false);
    },
  };
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
  const [first] = body;
  // `{`: plain JSON in spite of the header. No coded body begins with this byte.
  if (!isCoded(header) || first === undefined || first === 0x7b) return body;
  // Loaded on demand, because no coding is requested.
  const { constants, inflateRaw, unzip } = await import('node:zlib');
  // Some servers omit the zlib wrapper of deflate (RFC 9110, section 8.4.1.2), whose first byte names method 8.
  const decoder = first === 0x1f || (first & 0x0f) === 8 ? unzip : inflateRaw;
  const options = { maxOutputLength, chunkSize: MAX_PART, finishFlush: constants.Z_SYNC_FLUSH };
  return promisify(decoder)(body, options);
}

/** Returns bytes in one buffer, which grows to twice its size, so that single bytes take little time. */
function createBytes() {
  let buffer = Buffer.alloc(0);
  let size = 0;
  const all = () => buffer.subarray(0, size);
  return {
    all,

    get size() {
      return size;
    },

    /** Allocates what will be added. */
    expect(expected: number): void {
      buffer = Buffer.allocUnsafeSlow(expected);
    },

    add(chunk: Uint8Array): void {
      const needed = size + chunk.length;
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(2 * needed);
        larger.set(all());
        buffer = larger;
      }
      buffer.set(chunk, size);
      size = needed;
    },

    /** Returns a copy of the first bytes, which does not keep all of them in memory. */
    start: () => Buffer.from(all().subarray(0, MAX_PART)),
  };
}
