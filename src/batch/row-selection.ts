/** Row numbers as the value of a flag, such as `3,7-9`. */

/** All rows, or ranges of row numbers, both ends included; an empty list selects none. */
export type RowSelection = 'all' | readonly (readonly [first: number, last: number])[];

/** Parses row numbers and ranges, from 1 and separated by commas; returns undefined for anything else. */
export function parseRowSelection(text: string): RowSelection | undefined {
  const ranges = text.split(',').map((part) => {
    const [, first = '', last = first] = /^\s*(\d{1,15})(?:-(\d{1,15}))?\s*$/.exec(part) ?? [];
    return [Number(first), Number(last)] as const;
  });
  return ranges.every(([first, last]) => first >= 1 && first <= last) ? ranges : undefined;
}

/** Returns whether a row is selected. */
export function isSelected(row: number, selection: RowSelection): boolean {
  return selection === 'all' || selection.some(([first, last]) => row >= first && row <= last);
}
