/** Digests of inputs, and of the files that rows name, which are compared with those of earlier commands. */

import { createHmac } from 'node:crypto';
import type { Context } from '../platform/context.js';
import { digestSource, type Input } from '../service/body.js';
import { BACKSLASH, isSpace, QUOTE } from '../text/json/scanner.js';
import { stateOf } from './file-source.js';
import { assertReadable, openDocument, type PathRules, readBytes } from './files.js';

/** What a file is read as; of JSON, white space counts for nothing. */
export type FileKind = 'document' | 'text' | 'json';

/** Returns the digest of a file, 32 hexadecimal digits. */
export type DigestFile = (path: string, rules: PathRules, kind: FileKind) => Promise<string>;

/** Hexadecimal digits of a digest: 128 bits. */
const LENGTH = 32;

/**
 * Returns a function that digests files, once unless they change. It throws InputError, FileChangedError, FileReadError, and
 * the reason of the signal.
 */
export function fileDigester(key: Uint8Array, context: Context, signal: AbortSignal): DigestFile {
  const read: DigestFile = async (path, rules, kind) => {
    const hmac = createHmac('sha256', key);
    if (kind === 'document') {
      const source = await openDocument(path, rules, context);
      return digestSource(source, hmac, signal).finally(() => source.close());
    }
    const bytes = await readBytes(path, rules, context);
    return hmac.update(kind === 'json' ? openCompactor()(bytes) : bytes).digest('hex');
  };
  /** By kind, path and state. */
  const known = new Map<string, string>();
  return async (path, rules, kind) => {
    signal.throwIfAborted();
    const { absolute, stats } = await assertReadable(path, rules, true, context);
    const version = stats ? `${kind} ${absolute} ${stateOf(stats)}` : '';
    const digest = known.get(version) ?? (await read(path, rules, kind)).slice(0, LENGTH);
    if (stats) known.set(version, digest);
    return digest;
  };
}

/** 64 hexadecimal digits for each input, by name. */
export type InputDigests = Readonly<Record<string, string>>;

/**
 * Returns the digest of each input: of its JSON without insignificant white space, and of the bytes and the media type of
 * documents, which are read. `salt` is hexadecimal: the key of the HMAC-SHA-256 (RFC 2104). Throws FileChangedError,
 * FileReadError, and the reason of the signal.
 */
export async function digestInputs(
  inputs: readonly Input[],
  salt: string,
  signal: AbortSignal,
): Promise<InputDigests> {
  const key = Buffer.from(salt, 'hex');
  const digests: [string, string][] = [];
  for (const { name, parts } of inputs) {
    const hmac = createHmac('sha256', key);
    const compact = openCompactor();
    for (const part of parts) {
      if (part instanceof Uint8Array) hmac.update(compact(part));
      // JSON text has no NUL, so that no string has the digest of a document.
      else hmac.update(`\0${await digestSource(part, createHmac('sha256', key), signal)}\0`);
    }
    digests.push([name, hmac.digest('hex')]);
  }
  return Object.fromEntries(digests);
}

/** Returns a function that removes white space outside of strings from valid JSON, which may come in several parts. */
export function openCompactor(): (bytes: Uint8Array) => Uint8Array {
  let isInString = false;
  let isEscaped = false;
  return (bytes) =>
    bytes.filter((byte) => {
      if (!isInString) {
        isInString = byte === QUOTE;
        return !isSpace(byte);
      }
      if (byte === QUOTE && !isEscaped) isInString = false;
      isEscaped = byte === BACKSLASH && !isEscaped;
      return true;
    });
}
