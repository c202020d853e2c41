/** Turns SIGINT, SIGTERM and SIGHUP into abort signals, which also end the waiting for a slow reader of stdout. */
import { setMaxListeners } from 'node:events';
import { InterruptedError } from '../errors.js';
import type { SignalName } from '../exit-code.js';
import type { Context } from './context.js';
import { createQueue, untilAborted } from './until-aborted.js';

/**
 * After a second signal, how long files are waited for, and then how long the command has for its messages (ms): on a file
 * system that hangs it would never end.
 */
const MAX_DISK_WAIT = 500;
const MAX_ENDING = 500;

export type Interruption = ReturnType<typeof listenForSignals>;

/** Listens to signals until `release` is called. */
export function listenForSignals({ onSignal, clock }: Pick<Context, 'onSignal' | 'clock'>) {
  const first = new AbortController();
  const second = new AbortController();
  const impatient = new AbortController();
  const overdue = new AbortController();
  let stopTimer = () => {};
  // Every watched run adds listeners.
  setMaxListeners(0, first.signal, second.signal, impatient.signal);

  const stopListening = onSignal((name) => {
    const { aborted, reason } = first.signal;
    if (!aborted) return first.abort(new InterruptedError(name));
    if (!second.signal.aborted)
      stopTimer = clock.after(MAX_DISK_WAIT, () => {
        impatient.abort(reason);
        stopTimer = clock.after(MAX_ENDING, () => overdue.abort(reason));
      });
    second.abort(reason);
  });

  /**
   * Settles like the promise, or rejects with the InterruptedError of the first signal; after Ctrl-C, with that of the second one:
   * only then may a slow reader of stdout delay the exit.
   */
  const raceWithSignal = <T>(promise: Promise<T>): Promise<T> =>
    untilAborted(promise, first.signal.reason?.signal === 'SIGINT' ? second.signal : first.signal);

  return {
    /** Aborts with an InterruptedError on the first signal. */
    signal: first.signal,
    /** Aborts with the InterruptedError of the first signal when a second one arrives. */
    second: second.signal,
    /** Aborts half a second after the second signal, when files must not delay the exit any longer. */
    impatient: impatient.signal,
    /** The first signal; undefined if none has arrived. */
    get received(): SignalName | undefined {
      return first.signal.reason?.signal;
    },
    raceWithSignal,
    /** Like raceWithSignal; what is opened after the signal is closed again. */
    async raceToOpen<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
      try {
        return await raceWithSignal(opening);
      } catch (error) {
        void opening.then((opened) => opened.close()).catch(() => {});
        throw error;
      }
    },
    /** Settles like the promise, or rejects with the first InterruptedError a second after the second signal. */
    raceToEnd: <T>(promise: Promise<T>): Promise<T> => untilAborted(promise, overdue.signal),
    release() {
      stopTimer();
      stopListening();
    },
  };
}

/** Opens a queue for the outputs of runs that end at the same time, to a reader that may be slow. */
export function openStdoutQueue(
  { stdout, secrets }: Pick<Context, 'stdout' | 'secrets'>,
  interruption: Interruption,
) {
  const inTurn = createQueue();
  /** Writes all chunks before those of any later call. Throws OutputError or InterruptedError. */
  const write = (chunks: Iterable<string | Uint8Array>) =>
    inTurn(async () => {
      for (const chunk of chunks) await interruption.raceWithSignal(stdout.write(chunk));
    });
  /** Writes text for people, without secrets; data is written as the service sent it. */
  const writeSummary = (text: string) => write([secrets.mask(text)]);
  return { write, writeSummary };
}
