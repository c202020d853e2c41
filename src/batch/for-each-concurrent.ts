/** Work on many things, some of them at once. */

/**
 * Does `work` on each item, `count` of them at once, taking the next one only when there is room; stops taking once
 * `isStopped`. Resolves when all that was begun is done. `work` must not throw; throws what `items` throws, after that.
 */
export async function forEachConcurrent<T>(
  items: AsyncIterable<T>,
  count: number,
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
      if (running >= count) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    while (running > 0) await new Promise<void>((resolve) => (wake = resolve));
  }
}
