/** Yields the rows for which a list has something, in order: it may have millions, or only the one with the largest number. */
export function* rowNumbers(list: readonly unknown[]): Generator<number, void, void> {
  for (const row in list) yield Number(row);
}
