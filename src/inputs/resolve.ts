/** From the items and the inputs file of one command line to inputs that can be sent, or to every complaint at once. */

import { dirname } from 'node:path';
import { withoutByteOrderMark } from '../byte-order-mark.js';
import type { Context } from '../context.js';
import { UsageError } from '../errors.js';
import { resolvePath } from '../path.js';
import type { Input, Part, Source } from '../service/body.js';
import { shellCommand } from '../shell-quote.js';
import { FileError, openDocument, readBytes } from './files.js';
import { parseInputsFile, type Segment } from './inputs-file.js';
import { type Item, ItemError, parseItem } from './item.js';
import { checkJson, decodeUtf8, TextError } from './text.js';

export interface InputArguments {
  items: readonly string[];
  /** Path of a JSON object of inputs, `-` for standard input. */
  inputsFile: string | undefined;
  /** What else reads standard input, as the user wrote it. */
  otherStdin?: string | undefined;
}

export interface ResolvedInputs {
  inputs: Input[];
  /** What the user should know but need not mend. */
  warnings: string[];
  /** Lets go of what the inputs hold open. */
  close(): Promise<void>;
}

/**
 * Parses every item, reads every text and opens every document: after this, only the documents' bytes are still to be
 * read. Items override the keys of the inputs file. Throws UsageError with all complaints.
 */
export async function resolveInputs(args: InputArguments, context: Context): Promise<ResolvedInputs> {
  return new Resolver(context).resolve(args);
}

class Resolver {
  readonly #context: Context;
  readonly #problems: string[] = [];
  readonly #warnings: string[] = [];
  readonly #opened: Source[] = [];
  #stdinUser: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  async resolve({ items, inputsFile, otherStdin }: InputArguments): Promise<ResolvedInputs> {
    this.#stdinUser = otherStdin;
    const parsed = this.#parseItems(items);
    const fileInputs = new Map<string, Input>();
    if (inputsFile !== undefined) {
      const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
      await this.#collect(label, () => this.#readInputsFile(inputsFile, fileInputs, new Set(parsed.keys())));
    }
    const resolved = new Map(fileInputs);
    for (const item of parsed.values()) {
      await this.#collect(item.item, async () => {
        resolved.set(item.name, { name: item.name, parts: await this.#partsOf(item) });
      });
    }
    if (this.#problems.length > 0) {
      await this.#close();
      throw new UsageError(this.#problems);
    }
    return { inputs: [...resolved.values()], warnings: this.#warnings, close: () => this.#close() };
  }

  async #close(): Promise<void> {
    for (const source of this.#opened) await source.close();
  }

  #parseItems(texts: readonly string[]): Map<string, Item> {
    const items = new Map<string, Item>();
    for (const text of texts) {
      try {
        const item = parseItem(text);
        const earlier = items.get(item.name);
        if (earlier === undefined) items.set(item.name, item);
        else this.#problems.push(`${text}: gives "${item.name}" a second time, after ${earlier.item}`);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        this.#problems.push(error.message);
      }
    }
    return items;
  }

  /** Runs one step and keeps its complaint, naming `what` the user wrote. */
  async #collect(what: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof FileError || error instanceof TextError)) throw error;
      this.#problems.push(error.message.startsWith(`${what}:`) ? error.message : `${what}: ${error.message}`);
    }
  }

  async #readInputsFile(
    path: string,
    into: Map<string, Input>,
    overridden: ReadonlySet<string>,
  ): Promise<void> {
    this.#claimStdin(path, '--inputs-file -');
    const { cwd } = this.#context;
    const base = path === '-' ? cwd : dirname(resolvePath(path, cwd, this.#context));
    const bytes = await readBytes(path, cwd, this.#context);
    decodeUtf8(bytes);
    for (const { name, segments } of parseInputsFile(bytes)) {
      const parts: Part[] = [];
      into.set(name, { name, parts });
      // What an item will put in this place is not opened here.
      if (overridden.has(name)) continue;
      await this.#collect(`${path}: ${name}`, async () => {
        for (const segment of segments) parts.push(...(await this.#segmentParts(segment, base)));
      });
    }
  }

  async #segmentParts(segment: Segment, base: string): Promise<readonly Part[]> {
    if (segment instanceof Uint8Array) return [segment];
    const fix = `add "type": "type/subtype" beside "$document"`;
    return this.#documentParts(segment.path, segment.mediaType, base, segment.path, fix);
  }

  async #partsOf(item: Item): Promise<readonly Part[]> {
    const { cwd } = this.#context;
    switch (item.type) {
      case 'string':
        return [Buffer.from(JSON.stringify(item.text))];
      case 'json':
        return [checkedJson(Buffer.from(item.text), `; for a string write ${item.name}=${item.text}`)];
      case 'string-file':
        this.#claimStdin(item.path, item.item);
        return [Buffer.from(JSON.stringify(decodeUtf8(await readBytes(item.path, cwd, this.#context))))];
      case 'json-file': {
        this.#claimStdin(item.path, item.item);
        const bytes = await readBytes(item.path, cwd, this.#context);
        decodeUtf8(bytes);
        return [checkedJson(withoutByteOrderMark(bytes))];
      }
      case 'document': {
        // Quoted: a shell takes the semicolon for itself.
        const fix = `add ;type=type/subtype, such as ${shellCommand([`${item.item};type=application/pdf`])}`;
        return this.#documentParts(item.path, item.mediaType, cwd, item.item, fix);
      }
    }
  }

  async #documentParts(path: string, given: string | undefined, base: string, written: string, fix: string) {
    this.#claimStdin(path, written);
    const mediaType = given ?? (path === '-' ? undefined : await guessMediaType(path));
    if (path === '-' && mediaType === undefined) {
      throw new TextError(`standard input has no name that tells the media type; ${fix}`);
    }
    // A file that cannot be read is the first thing to say of it.
    const source = await openDocument(path, base, this.#context);
    this.#opened.push(source);
    if (mediaType === undefined)
      throw new TextError(`the name of the file does not tell the media type; ${fix}`);
    if (source.size === 0) this.#warnings.push(`${written}: the document is empty (0 bytes)`);
    return [Buffer.from(`"data:${mediaType};base64,`), source, Buffer.from('"')];
  }

  #claimStdin(path: string, user: string): void {
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

function checkedJson(bytes: Buffer, hint = ''): Buffer {
  try {
    checkJson(bytes);
  } catch (error) {
    throw error instanceof TextError ? new TextError(error.message + hint) : error;
  }
  return bytes;
}
