/** The signals that came while a command runs, as something that work can be tied to. */
import { setMaxListeners } from 'node:events';
import { InterruptedError, type SignalName } from '../errors.js';
import type { Context } from './context.js';

export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #final = new AbortController();
  readonly #release: () => void;

  constructor(context: Pick<Context, 'onSignal'>) {
    // Each run that is watched listens.
    setMaxListeners(0, this.#first.signal, this.#second.signal, this.#final.signal);
    this.#release = context.onSignal((signal) => this.#receive(signal));
  }

  /** Aborts, with an InterruptedError, when the first signal comes. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborts, with the InterruptedError of the first signal, when a second one comes. */
  get second(): AbortSignal {
    return this.#second.signal;
  }

  /** Aborts, with an InterruptedError, when stdout may not be waited for any longer: SIGTERM, SIGHUP, a second signal. */
  get final(): AbortSignal {
    return this.#final.signal;
  }

  /** The first signal, if one has come. */
  get received(): SignalName | undefined {
    return this.#first.signal.aborted ? (this.#first.signal.reason as InterruptedError).signal : undefined;
  }

  /** The promise's outcome, or the InterruptedError of the next signal: the first one, or the final one after that. */
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

  /** Leaves later signals to whoever listened before. */
  release(): void {
    this.#release();
  }

  #receive(signal: SignalName): void {
    const isSecond = this.#first.signal.aborted;
    const error = isSecond ? this.#first.signal.reason : new InterruptedError(signal);
    // What listens for the first signal asks whether it is the last one, too.
    if (isSecond || signal !== 'SIGINT') this.#final.abort(error);
    if (isSecond) this.#second.abort(error);
    this.#first.abort(error);
  }
}
