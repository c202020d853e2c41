/** Calls `action` when a signal aborts, or at once if it has, unless the returned function is called first. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  signal.addEventListener('abort', action, { once: true });
  if (signal.aborted) action();
  return () => signal.removeEventListener('abort', action);
}

/** Returns a function that does one work after the other, and settles like each; one that fails does not keep others back. */
export function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

/** Settles like the promise, or rejects with the signal's reason as soon as it aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    promise.then(resolve, reject).finally(() => cancel());
    // A promise that has settled already counts, also if the signal has aborted.
    const cancel = onAbort(signal, () => queueMicrotask(() => reject(signal.reason)));
  });
}
