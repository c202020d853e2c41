/** Bounded concurrency over an asynchronous sequence. */

/**
 * Calls `work` for each item, at most `limit` at a time, reading the next item only when a slot is free; reads no more
 * once `isStopped`. Resolves when all started work is done, then throws what `items` threw. `work` must not throw.
 */
export async function forEachConcurrent<T>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  let running = 0;
  let wake = () => {};
  const done = () => {
    running--;
    wake();
  };
  try {
    for await (const item of items) {
      if (isStopped()) break;
      running++;
      void work(item).finally(done);
      if (running >= limit) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    while (running > 0) await new Promise<void>((resolve) => (wake = resolve));
  }
}
