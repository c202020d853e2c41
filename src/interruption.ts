/** The signals that came while a command runs, as something that work can be tied to. */
import type { Context } from './context.js';
import { InterruptedError, type SignalName } from './errors.js';

export class Interruption {
  readonly #first = new AbortController();
  readonly #final = new AbortController();
  readonly #release: () => void;

  constructor(context: Pick<Context, 'onSignal'>) {
    this.#release = context.onSignal((signal) => this.#receive(signal));
  }

  /** Aborts, with an InterruptedError, when the first signal comes. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborts, with an InterruptedError, when nothing may be waited for any longer: SIGTERM, SIGHUP, a second signal. */
  get final(): AbortSignal {
    return this.#final.signal;
  }

  /** The first signal, if one has come. */
  get received(): SignalName | undefined {
    return this.#first.signal.aborted ? (this.#first.signal.reason as InterruptedError).signal : undefined;
  }

  /** Leaves later signals to whoever listened before. */
  release(): void {
    this.#release();
  }

  #receive(signal: SignalName): void {
    const again = this.#first.signal.aborted;
    this.#first.abort(new InterruptedError(signal));
    if (again || signal !== 'SIGINT') this.#final.abort(new InterruptedError(this.received ?? signal));
  }
}
