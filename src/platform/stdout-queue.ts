/** Writes the outputs of several runs to stdout one after the other, until a signal ends the waiting for its reader. */

import type { Context } from './context.js';
import type { Interruption } from './signals.js';

export interface StdoutQueue {
  /** Writes all chunks before those of any later call. Throws OutputError or InterruptedError. */
  write(chunks: Iterable<string | Uint8Array>): Promise<void>;
  /** Writes text for people, without secrets; data is written as the service sent it. */
  writeSummary(text: string): Promise<void>;
}

/** Opens a queue for the outputs of runs that end at the same time, to a reader that may be slow. */
export function openStdoutQueue(
  { stdout, secrets }: Pick<Context, 'stdout' | 'secrets'>,
  interruption: Interruption,
): StdoutQueue {
  let last: Promise<void> = Promise.resolve();
  const writeAll = async (chunks: Iterable<string | Uint8Array>) => {
    for (const chunk of chunks) await interruption.raceWithSignal(stdout.write(chunk));
  };
  const write: StdoutQueue['write'] = (chunks) => {
    const written = last.then(() => writeAll(chunks));
    last = written.catch(() => {});
    return written;
  };
  return { write, writeSummary: (text) => write([secrets.mask(text)]) };
}
