/** A row of a table, and the file that it is read from: what the readers of CSV and of JSON Lines share. */
import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { PathRules } from '../inputs/boundary.js';
import type { RowInputs } from '../inputs/resolve.js';

/** A row of the table. */
export interface Row {
  /** The line of the table on which it begins; of files, their position. From 1, across all shards. */
  number: number;
  /** Identifies the row in messages: `rows.csv:12`, `rows.csv:12 (ACME)`, or the path of its file. */
  label: string;
  /** Returns the digest of what is written in the table, 32 hexadecimal digits. */
  digest(): string;
  /** What tells where the row is, if its table has that: its path, or the text of its label. */
  place?: string;
  /** Unresolved inputs, or why the row is invalid. */
  inputs: RowInputs | { problem: string };
}

/** A cell as the file has it: a text, or a JSON value (UTF-8); undefined if the row has none. */
export type WrittenCell = string | Uint8Array | undefined;

/** A table as people wrote it. */
export interface WrittenTable {
  /** As its file names them. */
  columns: readonly string[];
  /** Reads the rows, with a cell for each column. */
  rows(): AsyncGenerator<Pick<Row, 'number' | 'label'> & { cells: readonly WrittenCell[] }, void, void>;
}

/** A file with rows. */
export interface TableFile {
  /** As the user wrote it, for messages. */
  name: string;
  /** The rules for the paths in its rows. */
  paths: PathRules;
  /** What separates the cells of CSV; by default a comma, or a tab in a file named .tsv. */
  delimiter?: string | undefined;
  /** The input that people know rows by. */
  labelColumn?: string | undefined;
  /** Reads the file from its start, at least up to `end` if given; can be called repeatedly. */
  open(end?: number): Readable;
}

/** Characters of the text in a label. */
const MAX_LABEL_TEXT = 60;

/** Returns the label of a row of a table, with the text that people know it by, if there is one. */
export function rowLabel(name: string, line: number, text = ''): string {
  const shown = text.trim().replace(/\s+/g, ' ');
  if (shown === '') return `${name}:${line}`;
  return `${name}:${line} (${shown.length > MAX_LABEL_TEXT ? `${shown.slice(0, MAX_LABEL_TEXT)}…` : shown})`;
}

/** Returns the digest of texts, as 32 hexadecimal digits. */
export function digestOf(texts: readonly string[]): string {
  return hash('sha256', texts.join('\0'), 'hex').slice(0, 32);
}
