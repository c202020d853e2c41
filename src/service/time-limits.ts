/** The time limits of one request. */
import type { Socket } from 'node:net';
import type { Clock } from '../platform/context.js';
import { onAbort } from '../platform/until-aborted.js';
import { NetworkError, type NetworkFault } from './errors.js';

/** Aborts its signal when an outer signal aborts, or when the time that was allowed has passed. */
export type Deadline = ReturnType<typeof startDeadline>;

/** `host`, as `name:port`, is the one that errors name. */
export function startDeadline(host: string, outer: AbortSignal, clock: Clock) {
  const controller = new AbortController();
  // AbortSignal.any would leave a reference on the long-lived outer signal after every request.
  const stopForwarding = onAbort(outer, () => controller.abort(outer.reason));
  let cancel = () => {};
  /** Aborts now. */
  const expire = (fault: NetworkFault, after: number) =>
    controller.abort(new NetworkError(fault, { host, after }));
  return {
    host,
    /** The outer signal, and the one that also aborts after the limit. */
    outer,
    signal: controller.signal,
    expire,
    /** Restarts the limit: aborts after `ms` with this fault, whose limit is `after`. */
    restart(ms: number, fault: NetworkFault, after = ms) {
      cancel();
      cancel = clock.after(ms, () => expire(fault, after));
    },
    end() {
      cancel();
      stopForwarding();
    },
  };
}

/** Milliseconds for a process that was stopped past the limit to notice bytes that moved meanwhile. */
const STALL_GRACE = 1_000;

/** Expires the deadline when no byte has moved on a socket for `limit` ms and a grace period. */
export function watchStall(socket: Socket, limit: number, deadline: Deadline) {
  let isInGrace = false;
  socket.on('timeout', () => {
    if (isInGrace) return deadline.expire('stalled', limit);
    isInGrace = true;
    socket.setTimeout(Math.min(limit, STALL_GRACE));
  });
  socket.setTimeout(limit);
  return {
    /** Reports that bytes have moved. */
    onProgress() {
      if (isInGrace) socket.setTimeout(limit);
      isInGrace = false;
    },
    end: () => void socket.setTimeout(0),
  };
}
