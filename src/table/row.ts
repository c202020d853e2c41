/** A row of a table, and the file that it is read from: what the readers of tables share, and what tells rows apart. */

import { createHash, hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { InputError, throwUnless } from '../errors.js';
import { type DigestFile, openCompactor } from '../inputs/file-digests.js';
import { FileChangedError, FileReadError } from '../inputs/file-source.js';
import type { PathRules } from '../inputs/files.js';
import { parseInputsFile, segmentOf } from '../inputs/inputs-file.js';
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
  place?: string | undefined;
  /** Those of CSV, as they are written. */
  cells?: readonly string[];
  /** Unresolved inputs, or why the row is invalid. */
  inputs: RowInputs | { problem: string };
}

/** A file with rows. */
export interface TableFile {
  /** As the user wrote it, for messages. */
  name: string;
  /** The rules for the paths in its rows. */
  paths: PathRules;
  /** What separates the cells of CSV, if it does; else a usual delimiter is found. */
  delimiter?: string | undefined;
  /** Whether a header without that is an error. */
  mustHaveDelimiter?: boolean;
  /** The input that people know rows by. */
  labelColumn?: string | undefined;
  /** Reads the file from its start; can be called repeatedly. */
  open(): Readable;
}

/** Hexadecimal digits of a digest. */
const LENGTH = 32;

/** Returns the digest of texts. */
export function digestOf(texts: readonly string[]): string {
  return hash('sha256', texts.join('\0'), 'hex').slice(0, LENGTH);
}

/** Tells rows apart; digests have 32 hexadecimal digits. */
export interface RowIdentity {
  /** Of its content; of a row whose content cannot be read, of what is written in the table. */
  key: string;
  /** Of what is written in the table, if that names files; not of one that is there and cannot be read. */
  written?: string | undefined;
  /** Whether its content cannot be read. */
  isUnreadable?: boolean;
}

/** Returns the salted digest of texts. */
export function saltedDigest(salt: string | Uint8Array, ...texts: readonly (string | Uint8Array)[]): string {
  const digest = createHash('sha256').update(salt);
  for (const text of texts) digest.update(text);
  return digest.digest('hex').slice(0, LENGTH);
}

/** Returns what a row is. Throws what `digestFile` throws, unless it is an InputError. */
export async function identifyRow(
  { inputs, digest }: Pick<Row, 'inputs' | 'digest'>,
  salt: Uint8Array,
  digestFile: DigestFile,
): Promise<RowIdentity> {
  const written = () => saltedDigest(salt, `written ${digest()}`);
  if ('problem' in inputs) return { key: written(), isUnreadable: true };
  let hasFiles = false;
  try {
    const members = [
      ...inputs.items.map((item) => ({ name: item.name, segments: [segmentOf(item)] })),
      ...(inputs.json ? parseInputsFile(inputs.json) : []),
    ].sort((one, other) => (one.name < other.name ? -1 : 1));
    const texts: (string | Uint8Array)[] = [];
    for (const { name, segments } of members) {
      texts.push(`\0${JSON.stringify(name)}`);
      const compact = openCompactor();
      // JSON text has no NUL, so that no value has the digest of another type.
      for (const segment of segments) {
        if (segment instanceof Uint8Array) texts.push(compact(segment));
        else {
          const { kind, path, mediaType = '' } = segment;
          hasFiles = true;
          texts.push(`\0${kind} ${await digestFile(path, inputs.paths, kind)} ${mediaType}\0`);
        }
      }
    }
    const key = saltedDigest(salt, ...texts);
    return { key, written: hasFiles ? written() : undefined };
  } catch (error) {
    // Not even whether it is the file of an earlier command is known.
    const isLost = error instanceof FileReadError && !error.facts.isTemporary;
    if (error instanceof FileChangedError || isLost)
      return { key: saltedDigest(salt, `changing ${digest()}`), isUnreadable: true };
    throwUnless(error, InputError);
    const key = written();
    return { key, written: error.isMissing ? key : undefined, isUnreadable: true };
  }
}
