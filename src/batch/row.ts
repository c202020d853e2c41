/** A row of a table, and the file that it is read from: what the readers of CSV and of JSON Lines share. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { PathRules } from '../inputs/boundary.js';
import type { RowInputs } from '../inputs/resolve.js';

/** A row of the table. */
export interface Row {
  /** The line of the table on which it begins; of files, their position. From 1, across all shards. */
  number: number;
  /** Identifies the row in messages: `rows.csv:12`, or the path of its file. */
  label: string;
  /** 16 hexadecimal digits; they change when the row changes. */
  digest: string;
  /** Unresolved inputs, or why the row is invalid. */
  inputs: RowInputs | { problem: string };
}

/** A file with rows. */
export interface TableFile {
  /** As the user wrote it, for messages. */
  name: string;
  /** The rules for the paths in its rows. */
  paths: PathRules;
  /** Reads the file from its start, up to and including offset `end` if given; can be called repeatedly. */
  open(end?: number): Readable;
}

/** Returns the digest of texts, as 16 hexadecimal digits. */
export function digestOf(...texts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex').slice(0, 16);
}
