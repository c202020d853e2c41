/** Decides how long createRun waits for a response after a signal. */
import type { Interruption } from '../platform/signals.js';
import type { TriggerBody } from './body.js';
import type { Service } from './service.js';

/**
 * Aborts a request when a signal comes, unless its body is complete. Then a run may exist, so wfr waits a grace period for
 * its id; a second signal ends the wait.
 */
export class SignalGrace {
  readonly #controller = new AbortController();
  readonly #interruption: Interruption;
  readonly #onSignal: () => void;
  readonly #abort: () => void;
  #cancel = () => {};

  constructor(body: TriggerBody, { clock, limits, events }: Service, interruption: Interruption) {
    const { signal, second } = interruption;
    this.#interruption = interruption;
    this.#abort = () => this.#controller.abort(signal.reason);
    this.#onSignal = () => {
      const { received } = interruption;
      if (body.sendState !== 'complete' || received === undefined || second.aborted) return this.#abort();
      const ms = received === 'SIGINT' ? limits.interruptGrace : limits.terminationGrace;
      events.awaitingId(ms, received);
      this.#cancel = clock.after(ms, this.#abort);
    };
    signal.addEventListener('abort', this.#onSignal, { once: true });
    second.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#onSignal();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#cancel();
    this.#interruption.signal.removeEventListener('abort', this.#onSignal);
    this.#interruption.second.removeEventListener('abort', this.#abort);
  }
}
