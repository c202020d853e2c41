/** Turns SIGINT, SIGTERM and SIGHUP into abort signals, which also end the waiting for a slow reader of stdout. */
import { setMaxListeners } from 'node:events';
import { InterruptedError } from '../errors.js';
import type { SignalName } from '../exit-code.js';
import type { Context } from './context.js';
import { untilAborted } from './until-aborted.js';

/**
 * After a second signal, how long files are waited for, and then how long the command has for its messages (ms): on a file
 * system that hangs it would never end.
 */
const MAX_DISK_WAIT = 500;
const MAX_ENDING = 500;

export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  /** Aborts with an InterruptedError when stdout must not delay the exit any longer: SIGTERM, SIGHUP, a second signal. */
  readonly #final = new AbortController();
  readonly #impatient = new AbortController();
  readonly #overdue = new AbortController();
  #stopTimer = () => {};
  readonly #release: () => void;
  /** Aborts with an InterruptedError on the first signal. */
  readonly signal = this.#first.signal;
  /** Aborts with the InterruptedError of the first signal when a second one arrives. */
  readonly second = this.#second.signal;
  /** Aborts half a second after the second signal, when files must not delay the exit any longer. */
  readonly impatient = this.#impatient.signal;

  constructor(private readonly context: Pick<Context, 'onSignal' | 'clock'>) {
    // Every watched run adds listeners.
    setMaxListeners(0, this.signal, this.second, this.#final.signal, this.impatient);
    this.#release = context.onSignal((signal) => this.#receive(signal));
  }

  /** The first signal; undefined if none has arrived. */
  get received(): SignalName | undefined {
    return this.signal.aborted ? (this.signal.reason as InterruptedError).signal : undefined;
  }

  /** Settles like the promise, or rejects with the InterruptedError of the next signal: the first one, then the final one. */
  raceWithSignal<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.signal.aborted ? this.#final.signal : this.signal);
  }

  /** Like raceWithSignal; what is opened after the signal is closed again. */
  async raceToOpen<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
    try {
      return await this.raceWithSignal(opening);
    } catch (error) {
      void opening.then((opened) => opened.close()).catch(() => {});
      throw error;
    }
  }

  /** Settles like the promise, or rejects with the first InterruptedError a second after the second signal. */
  raceToEnd<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.#overdue.signal);
  }

  /** Stops listening to signals. */
  release(): void {
    this.#stopTimer();
    this.#release();
  }

  #receive(signal: SignalName): void {
    const isSecond = this.signal.aborted;
    const error = isSecond ? this.signal.reason : new InterruptedError(signal);
    if (isSecond && !this.second.aborted) this.#startTimer(error);
    // Listeners of the first signal also check `final`, so it aborts first.
    if (isSecond || signal !== 'SIGINT') this.#final.abort(error);
    if (isSecond) this.#second.abort(error);
    this.#first.abort(error);
  }

  #startTimer(error: InterruptedError): void {
    const { clock } = this.context;
    this.#stopTimer = clock.after(MAX_DISK_WAIT, () => {
      this.#impatient.abort(error);
      this.#stopTimer = clock.after(MAX_ENDING, () => this.#overdue.abort(error));
    });
  }
}

export type StdoutQueue = ReturnType<typeof openStdoutQueue>;

/** Opens a queue for the outputs of runs that end at the same time, to a reader that may be slow. */
export function openStdoutQueue(
  { stdout, secrets }: Pick<Context, 'stdout' | 'secrets'>,
  interruption: Interruption,
) {
  let last: Promise<void> = Promise.resolve();
  const writeAll = async (chunks: Iterable<string | Uint8Array>) => {
    for (const chunk of chunks) await interruption.raceWithSignal(stdout.write(chunk));
  };
  /** Writes all chunks before those of any later call. Throws OutputError or InterruptedError. */
  const write = (chunks: Iterable<string | Uint8Array>): Promise<void> => {
    const written = last.then(() => writeAll(chunks));
    last = written.catch(() => {});
    return written;
  };
  /** Writes text for people, without secrets; data is written as the service sent it. */
  const writeSummary = (text: string) => write([secrets.mask(text)]);
  return { write, writeSummary };
}
