/** From the items and the inputs file of one command line to inputs that can be sent, or to every complaint at once. */

import { dirname } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import type { NamedFile } from '../platform/same-file.js';
import type { Input, Part } from '../service/body.js';
import { FileError, readBytes } from './files.js';
import { parseInputsFile } from './inputs-file.js';
import { type Item, ItemError, parseItem } from './item.js';
import { PartReader } from './parts.js';
import { decodeUtf8, TextError } from './text.js';

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
  /** The files that they were read from, or will be. */
  files: readonly NamedFile[];
  /** Lets go of what the inputs hold open. */
  close(): Promise<void>;
}

/**
 * Parses every item, reads every text and opens every document: after this, only the documents' bytes are still to be
 * read. Items override the keys of the inputs file. Throws UsageError with all complaints, or FileReadError.
 */
export async function resolveInputs(args: InputArguments, context: Context): Promise<ResolvedInputs> {
  return new Resolver(context, args.otherStdin).resolve(args);
}

/** The inputs of one row of a table: items, or a JSON object; paths in it are relative to `base`. */
export interface RowInputs {
  items: readonly Item[];
  json?: Buffer;
  base: string;
}

/** The same for a row, which overrides `defaults`; complaints name its `place`. Throws UsageError with all of them. */
export async function resolveRow(
  row: RowInputs,
  place: string,
  defaults: readonly Item[],
  context: Context,
): Promise<ResolvedInputs> {
  return new Resolver(context, 'the table').resolveRow(row, place, defaults);
}

class Resolver {
  readonly #context: Context;
  readonly #problems: string[] = [];
  readonly #reader: PartReader;

  constructor(context: Context, otherStdin: string | undefined) {
    this.#context = context;
    this.#reader = new PartReader(context, otherStdin);
  }

  async resolve({ items, inputsFile }: InputArguments): Promise<ResolvedInputs> {
    const parsed = this.#parseItems(items);
    const fileInputs = new Map<string, Input>();
    if (inputsFile !== undefined) {
      const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
      await this.#collect(label, () => this.#readInputsFile(inputsFile, fileInputs, new Set(parsed.keys())));
    }
    const resolved = new Map(fileInputs);
    const { cwd } = this.#context;
    for (const item of parsed.values()) {
      await this.#collect(item.raw, async () => {
        resolved.set(item.name, { name: item.name, parts: await this.#reader.readItem(item, cwd) });
      });
    }
    return this.#finish(resolved);
  }

  async resolveRow(row: RowInputs, place: string, defaults: readonly Item[]): Promise<ResolvedInputs> {
    const { json, base } = row;
    const own = new Map<string, Input>();
    if (json !== undefined)
      await this.#collect(place, () => this.#readObject(json, base, place, own, new Set()));
    for (const item of row.items) await this.#resolveItem(item, base, `${place}: ${item.raw}`, own);
    const inputs = new Map<string, Input>();
    for (const item of defaults) {
      if (!own.has(item.name)) await this.#resolveItem(item, this.#context.cwd, item.raw, inputs);
    }
    return this.#finish(new Map([...inputs, ...own]));
  }

  async #resolveItem(item: Item, base: string, what: string, into: Map<string, Input>): Promise<void> {
    await this.#collect(what, async () => {
      if (into.has(item.name)) throw new TextError(`gives "${item.name}" a second time`);
      into.set(item.name, { name: item.name, parts: await this.#reader.readItem(item, base) });
    });
  }

  async #finish(inputs: ReadonlyMap<string, Input>): Promise<ResolvedInputs> {
    if (this.#problems.length > 0) {
      await this.#reader.close();
      throw new UsageError(this.#problems);
    }
    return {
      inputs: [...inputs.values()],
      warnings: this.#reader.warnings,
      files: this.#reader.files,
      close: () => this.#reader.close(),
    };
  }

  #parseItems(texts: readonly string[]): Map<string, Item> {
    const items = new Map<string, Item>();
    for (const text of texts) {
      try {
        const item = parseItem(text);
        const earlier = items.get(item.name);
        if (earlier === undefined) items.set(item.name, item);
        else this.#problems.push(`${text}: gives "${item.name}" a second time, after ${earlier.raw}`);
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
      if (!(error instanceof FileError || error instanceof TextError || error instanceof UsageError)) {
        await this.#reader.close();
        throw error;
      }
      this.#problems.push(error.message.startsWith(`${what}:`) ? error.message : `${what}: ${error.message}`);
    }
  }

  async #readInputsFile(
    path: string,
    into: Map<string, Input>,
    overridden: ReadonlySet<string>,
  ): Promise<void> {
    this.#reader.claimStdin(path, '--inputs-file -');
    const { cwd } = this.#context;
    const base = path === '-' ? cwd : dirname(resolvePath(path, cwd, this.#context));
    await this.#readObject(await readBytes(path, cwd, this.#context), base, path, into, overridden);
  }

  async #readObject(
    bytes: Buffer,
    base: string,
    label: string,
    into: Map<string, Input>,
    overridden: ReadonlySet<string>,
  ): Promise<void> {
    decodeUtf8(bytes);
    for (const { name, segments } of parseInputsFile(bytes)) {
      const parts: Part[] = [];
      into.set(name, { name, parts });
      // What an item will put in this place is not opened here.
      if (overridden.has(name)) continue;
      await this.#collect(`${label}: ${name}`, async () => {
        for (const segment of segments) parts.push(...(await this.#reader.readSegment(segment, base)));
      });
    }
  }
}
