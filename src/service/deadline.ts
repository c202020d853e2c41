/** The limits of time of one request. */

import type { NetworkError } from '../errors.js';
import type { Clock } from '../platform/context.js';

/** Ends what it guards when its signal does, or when the time it was allowed has passed. */
export class Deadline {
  readonly #outer: AbortSignal;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #forward = () => this.#controller.abort(this.#outer.reason);
  #cancel = () => {};

  constructor(outer: AbortSignal, clock: Clock) {
    this.#outer = outer;
    this.#clock = clock;
    // AbortSignal.any would keep a link to a long-lived signal for every request of a long wait.
    outer.addEventListener('abort', this.#forward, { once: true });
    if (outer.aborted) this.#forward();
  }

  /** Aborts with the outer signal, or when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, `ms` may pass; `otherwise` makes the error, whose stack is not free, only where it is needed. */
  allow(ms: number, otherwise: () => NetworkError): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.expire(otherwise()));
  }

  expire(reason: NetworkError): void {
    this.#controller.abort(reason);
  }

  /** The promise's outcome, or the signal's reason as soon as there is one, even where undici does not listen. */
  async guard<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {});
    let abort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', abort, { once: true });
      if (this.signal.aborted) abort();
    });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      this.signal.removeEventListener('abort', abort);
    }
  }

  throwIfInterrupted(): void {
    this.#outer.throwIfAborted();
  }

  end(): void {
    this.#cancel();
    this.#outer.removeEventListener('abort', this.#forward);
  }
}
