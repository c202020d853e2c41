/** What the chaotic service does to one request, drawn from a seed in advance. */
import type { Random } from './random.js';

/** How a connection ends: with a reset, with a FIN, or not at all. */
export type End = 'reset' | 'close' | 'silence';
const ENDS: readonly End[] = ['reset', 'close', 'silence'];

export type TriggerPlan =
  | { kind: 'accept' }
  | { kind: 'accept-ended' }
  | { kind: 'broken-at-accept'; end: End }
  | { kind: 'broken-in-headers'; end: End }
  | { kind: 'broken-in-body'; at: number; end: End }
  | { kind: 'refused'; at: number; status: number }
  | { kind: 'not-now'; at: number; status: number; retryAfter: string; creates: boolean }
  | { kind: 'broken-before-answer'; creates: boolean; end: End }
  | { kind: 'broken-in-answer'; at: number; end: End }
  | { kind: 'server-error'; at: number; status: number; creates: boolean }
  | { kind: 'nonsense'; creates: boolean; text: string };

/** Responses without information. */
const NONSENSE = [
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>',
  'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"id":""}',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 303 See Other\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n',
  'hello\r\n\r\n',
];

/** `at` is a share of the body, 0 to 1. `creates` applies only if the whole body has arrived. */
export function drawTrigger(random: Random): TriggerPlan {
  const end = random.pick(ENDS);
  const at = random.pick([0, 0, 1, 1, random.next()]);
  const creates = random.chance(0.5);
  switch (random.below(14)) {
    case 0:
      return { kind: 'broken-at-accept', end };
    case 1:
      return { kind: 'broken-in-headers', end };
    case 2:
      return { kind: 'broken-in-body', at: random.next(), end };
    case 3:
      return {
        kind: 'refused',
        at,
        status: random.pick([400, 401, 403, 404, 409, 413, 422, 307]),
      };
    case 4:
      return {
        kind: 'not-now',
        at,
        status: random.pick([408, 429, 503, 503]),
        retryAfter: random.pick(['0', '2', '900']),
        creates,
      };
    case 5:
      return { kind: 'broken-before-answer', creates, end };
    case 6:
      return { kind: 'broken-in-answer', at: random.next(), end };
    case 7:
      return { kind: 'server-error', at, status: random.pick([500, 502, 503, 504]), creates };
    case 8:
      return { kind: 'nonsense', creates, text: random.pick(NONSENSE) };
    case 9:
      return { kind: 'accept-ended' };
    default:
      return { kind: 'accept' };
  }
}

export type PollPlan =
  | { kind: 'show' }
  | { kind: 'advance' }
  | { kind: 'broken'; end: End }
  | { kind: 'broken-in-answer'; at: number; end: End }
  | { kind: 'status'; status: number }
  | { kind: 'other-run' }
  | { kind: 'nonsense' };

export function drawPoll(random: Random): PollPlan {
  switch (random.below(12)) {
    case 0:
      return { kind: 'broken', end: random.pick(ENDS) };
    case 1:
      return { kind: 'broken-in-answer', at: random.next(), end: random.pick(ENDS) };
    case 2:
      return {
        kind: 'status',
        status: random.pick([404, 408, 425, 429, 500, 502, 503, 504, 500, 502, 401, 403, 400]),
      };
    case 3:
      return { kind: 'other-run' };
    case 4:
      return { kind: 'nonsense' };
    case 5:
    case 6:
      return { kind: 'show' };
    default:
      return { kind: 'advance' };
  }
}
