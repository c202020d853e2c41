/** What stands for one input: text, files and documents as parts that can be sent. */

import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import type { NamedFile } from '../platform/same-file.js';
import type { Part, Source } from '../service/body.js';
import { shellCommand } from '../text/shell-quote.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { openDocument, readBytes } from './files.js';
import type { Segment } from './inputs-file.js';
import type { Item } from './item.js';
import { checkJson, decodeUtf8, TextError } from './text.js';

/** Reads texts and opens documents; `stdinUser` is what else reads standard input. */
export class PartReader {
  readonly warnings: string[] = [];
  /** The files that were read. */
  readonly files: NamedFile[] = [];
  readonly #opened: Source[] = [];
  readonly #context: Context;
  #stdinUser: string | undefined;

  constructor(context: Context, stdinUser: string | undefined) {
    this.#context = context;
    this.#stdinUser = stdinUser;
  }

  /** Lets go of the documents that are open. */
  async close(): Promise<void> {
    for (const source of this.#opened) await source.close();
  }

  /** The parts of a piece of an inputs file, whose paths are relative to `base`. Throws TextError or FileError. */
  async readSegment(segment: Segment, base: string): Promise<readonly Part[]> {
    if (segment instanceof Uint8Array) return [segment];
    const fix = `add "type": "type/subtype" beside "$document"`;
    return this.#documentParts(segment.path, segment.mediaType, base, segment.path, fix);
  }

  /** The parts of an item, whose path is relative to `base`. Throws TextError or FileError. */
  async readItem(item: Item, base: string): Promise<readonly Part[]> {
    switch (item.type) {
      case 'string':
        return [Buffer.from(JSON.stringify(item.text))];
      case 'json':
        return [validateJson(Buffer.from(item.text), `; for a string write ${item.name}=${item.text}`)];
      case 'string-file':
        this.#claim(item.path, base, item.raw);
        return [Buffer.from(JSON.stringify(decodeUtf8(await readBytes(item.path, base, this.#context))))];
      case 'json-file': {
        this.#claim(item.path, base, item.raw);
        const bytes = await readBytes(item.path, base, this.#context);
        decodeUtf8(bytes);
        return [validateJson(stripByteOrderMark(bytes))];
      }
      case 'document': {
        // Quoted: a shell takes the semicolon for itself.
        const fix = `add ;type=type/subtype, such as ${shellCommand([`${item.raw};type=application/pdf`])}`;
        return this.#documentParts(item.path, item.mediaType, base, item.raw, fix);
      }
    }
  }

  async #documentParts(path: string, given: string | undefined, base: string, written: string, fix: string) {
    this.#claim(path, base, written);
    const mediaType = given ?? (path === '-' ? undefined : await guessMediaType(path));
    if (path === '-' && mediaType === undefined) {
      throw new TextError(`standard input has no name that tells the media type; ${fix}`);
    }
    // A file that cannot be read is the first thing to say of it.
    const source = await openDocument(path, base, this.#context);
    this.#opened.push(source);
    if (mediaType === undefined)
      throw new TextError(`the name of the file does not tell the media type; ${fix}`);
    if (source.size === 0) this.warnings.push(`${written}: the document is empty (0 bytes)`);
    return [Buffer.from(`"data:${mediaType};base64,`), source, Buffer.from('"')];
  }

  #claim(path: string, base: string, written: string): void {
    this.claimStdin(path, written);
    if (path === '-') return;
    this.files.push({ name: written, path: resolvePath(path, base, this.#context), isWritten: false });
  }

  /** Throws TextError where standard input is read by something else already. */
  claimStdin(path: string, user: string): void {
    if (path !== '-') return;
    if (this.#stdinUser !== undefined) {
      throw new TextError(`standard input is read by ${this.#stdinUser} already, and can be read only once`);
    }
    this.#stdinUser = user;
  }
}

/** The table of media types is loaded only where a document needs it. */
async function guessMediaType(path: string): Promise<string | undefined> {
  const { mediaTypeOf } = await import('./media-type.js');
  return mediaTypeOf(path);
}

function validateJson(bytes: Buffer, hint = ''): Buffer {
  try {
    checkJson(bytes);
  } catch (error) {
    throw error instanceof TextError ? new TextError(error.message + hint) : error;
  }
  return bytes;
}
