/** The limit of time for a request of which nothing moves. */
import type { Socket } from 'node:net';

/** Milliseconds for what a process that was stopped beyond the limit could not see move. */
const SECOND_LOOK = 1_000;

/** Ends a request when no byte has moved on its socket for a time. */
export class StallTimer {
  readonly #socket: Socket;
  readonly #limit: number;
  #isSecondLook = false;

  /** Calls `expire` once nothing has moved for `limit` ms, and then for a moment more. */
  constructor(socket: Socket, limit: number, expire: () => void) {
    this.#socket = socket;
    this.#limit = limit;
    socket.on('timeout', () => {
      if (this.#isSecondLook) return expire();
      this.#isSecondLook = true;
      socket.setTimeout(Math.min(limit, SECOND_LOOK));
    });
    socket.setTimeout(limit);
  }

  /** Tells that something has moved. */
  moved(): void {
    if (!this.#isSecondLook) return;
    this.#isSecondLook = false;
    this.#socket.setTimeout(this.#limit);
  }

  end(): void {
    this.#socket.setTimeout(0);
  }
}
