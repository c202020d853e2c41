/** A row of a table, and the file that it is read from: what the readers of CSV and of JSON Lines share. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { RowInputs } from '../inputs/resolve.js';

/** A row as it stands in the table. */
export interface Row {
  /** From 1, over the whole table. */
  number: number;
  /** Where it is, for people: `rows.csv:12`. */
  label: string;
  /** 16 hexadecimal digits that tell whether the row is what it was. */
  digest: string;
  /** What it gives, or what is wrong with it. */
  inputs: RowInputs | { problem: string };
}

/** A file with rows: what the user calls it, and the folder that its paths are relative to. */
export interface TableFile {
  name: string;
  base: string;
  /** Its bytes from the start, up to `end` where that is given; as often as it is asked. */
  open(end?: number): Readable;
}

/** The digest of a row: of what is the same for all rows, and of its own text. */
export function digestOf(...texts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex').slice(0, 16);
}
