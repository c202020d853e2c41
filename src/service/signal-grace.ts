/** How long a request that is under way is waited for once a signal has come. */
import type { Interruption } from '../platform/signals.js';
import type { TriggerBody } from './body.js';
import type { Service } from './service.js';

/**
 * What a signal does to a request under way: it ends it, unless the complete body has left. Then a run may exist, and its
 * id is worth a little waiting; a second signal ends that.
 */
export class SignalGrace {
  readonly #stop = new AbortController();
  readonly #interruption: Interruption;
  readonly #onSignal: () => void;
  readonly #onEnd: () => void;
  #cancel = () => {};

  constructor(body: TriggerBody, { clock, limits, events }: Service, interruption: Interruption) {
    const { signal, second } = interruption;
    this.#interruption = interruption;
    this.#onEnd = () => this.#stop.abort(signal.reason);
    this.#onSignal = () => {
      const { received } = interruption;
      if (body.sendState !== 'complete' || received === undefined || second.aborted) return this.#onEnd();
      const ms = received === 'SIGINT' ? limits.interruptGrace : limits.terminationGrace;
      events.awaitingId(ms, received);
      this.#cancel = clock.after(ms, this.#onEnd);
    };
    signal.addEventListener('abort', this.#onSignal, { once: true });
    second.addEventListener('abort', this.#onEnd, { once: true });
    if (signal.aborted) this.#onSignal();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  end(): void {
    this.#cancel();
    this.#interruption.signal.removeEventListener('abort', this.#onSignal);
    this.#interruption.second.removeEventListener('abort', this.#onEnd);
  }
}
