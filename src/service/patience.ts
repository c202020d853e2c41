/** How long a request that is under way is waited for once a signal has come. */
import type { Interruption } from '../interruption.js';
import type { TriggerBody } from './body.js';
import type { Service } from './service.js';

/**
 * What a signal does to a request under way: it ends it, but for a Ctrl-C after the complete body has left. Then a run
 * may exist, and its id is worth a little waiting.
 */
export class Patience {
  readonly #stop = new AbortController();
  readonly #interruption: Interruption;
  readonly #onSignal: () => void;
  readonly #onFinal: () => void;
  #cancel = () => {};

  constructor(body: TriggerBody, { clock, limits, events }: Service, interruption: Interruption) {
    this.#interruption = interruption;
    this.#onFinal = () =>
      this.#stop.abort((interruption.final.aborted ? interruption.final : interruption.signal).reason);
    this.#onSignal = () => {
      if (body.phase < 2 || interruption.final.aborted) return this.#onFinal();
      events.lingering(limits.farewell);
      this.#cancel = clock.after(limits.farewell, this.#onFinal);
    };
    interruption.signal.addEventListener('abort', this.#onSignal, { once: true });
    interruption.final.addEventListener('abort', this.#onFinal, { once: true });
    if (interruption.signal.aborted) this.#onSignal();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  end(): void {
    this.#cancel();
    this.#interruption.signal.removeEventListener('abort', this.#onSignal);
    this.#interruption.final.removeEventListener('abort', this.#onFinal);
  }
}
