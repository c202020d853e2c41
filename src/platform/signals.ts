/** Turns SIGINT, SIGTERM and SIGHUP into abort signals that the work of a command can listen to. */
import { setMaxListeners } from 'node:events';
import { InterruptedError } from '../errors.js';
import type { SignalName } from '../exit-code.js';
import type { Context } from './context.js';

export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #final = new AbortController();
  readonly #release: () => void;

  constructor(context: Pick<Context, 'onSignal'>) {
    // Every watched run adds listeners.
    setMaxListeners(0, this.#first.signal, this.#second.signal, this.#final.signal);
    this.#release = context.onSignal((signal) => this.#receive(signal));
  }

  /** Aborts with an InterruptedError on the first signal. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborts with the InterruptedError of the first signal when a second one arrives. */
  get second(): AbortSignal {
    return this.#second.signal;
  }

  /** Aborts with an InterruptedError when stdout must not delay the exit any longer: SIGTERM, SIGHUP, a second signal. */
  get final(): AbortSignal {
    return this.#final.signal;
  }

  /** The first signal; undefined if none has arrived. */
  get received(): SignalName | undefined {
    return this.#first.signal.aborted ? (this.#first.signal.reason as InterruptedError).signal : undefined;
  }

  /** Settles like the promise, or rejects with the InterruptedError of the next signal: the first one, then the final one. */
  async raceWithSignal<T>(promise: Promise<T>): Promise<T> {
    const next = this.#first.signal.aborted ? this.#final.signal : this.#first.signal;
    promise.catch(() => {});
    let abort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => reject(next.reason);
      next.addEventListener('abort', abort, { once: true });
      if (next.aborted) abort();
    });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      next.removeEventListener('abort', abort);
    }
  }

  /** Stops listening to signals. */
  release(): void {
    this.#release();
  }

  #receive(signal: SignalName): void {
    const isSecond = this.#first.signal.aborted;
    const error = isSecond ? this.#first.signal.reason : new InterruptedError(signal);
    // Listeners of the first signal also check `final`, so it aborts first.
    if (isSecond || signal !== 'SIGINT') this.#final.abort(error);
    if (isSecond) this.#second.abort(error);
    this.#first.abort(error);
  }
}
