/** stdout while a command runs: one answer at a time, and never longer than a signal allows. */

import type { Output } from './output.js';
import type { Interruption } from './signals.js';

export interface StdoutQueue {
  /** Writes all chunks before those of any later call. Throws OutputError or InterruptedError. */
  write(chunks: Iterable<string | Uint8Array>): Promise<void>;
}

/** A sink for answers that come from several runs at once, to a reader that may not be reading. */
export function openStdoutQueue(output: Output, interruption: Interruption): StdoutQueue {
  let turn: Promise<void> = Promise.resolve();
  const writeAll = async (chunks: Iterable<string | Uint8Array>) => {
    for (const chunk of chunks) await interruption.raceWithSignal(output.write(chunk));
  };
  return {
    write(chunks) {
      const mine = turn.then(() => writeAll(chunks));
      turn = mine.catch(() => {});
      return mine;
    },
  };
}
