/** Resolves the items and the inputs file of a command line, or a row of a table, into inputs that can be sent. */

import { dirname } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import type { NamedFile } from '../platform/same-file.js';
import type { Input, Part } from '../service/body.js';
import type { PathRules } from './boundary.js';
import { findFileLikeTexts } from './file-like-text.js';
import { FileError, readBytes } from './files.js';
import { assertNoDocuments, parseInputsFile } from './inputs-file.js';
import { type Item, ItemError, parseItem } from './item.js';
import { PartReader } from './parts.js';
import { decodeUtf8, TextError } from './text.js';

export interface InputArguments {
  items: readonly string[];
  /** The path of a JSON object of inputs; `-` is standard input. */
  inputsFile: string | undefined;
  /** Whether the inputs file may name documents. */
  hasDocuments?: boolean | undefined;
  /** The flag that reads standard input already, as the user wrote it. */
  otherStdin?: string | undefined;
}

export interface ResolvedInputs {
  inputs: Input[];
  warnings: string[];
  /** The files that the inputs are read from, now or while they are sent. */
  files: readonly NamedFile[];
  /** Closes the documents. */
  close(): Promise<void>;
}

/**
 * Parses every item, reads every text and opens every document; only the content of documents is read later. Items
 * override the keys of the inputs file. Throws UsageError with every error, or FileReadError.
 */
export async function resolveInputs(args: InputArguments, context: Context): Promise<ResolvedInputs> {
  return new Resolver(context, args.otherStdin).resolve(args);
}

/** The inputs of one row of a table: items or a JSON object, and the rules for their paths. */
export interface RowInputs {
  items: readonly Item[];
  json?: Buffer;
  paths: PathRules;
}

/** Resolves the inputs of a row, which override `defaults`. Throws UsageError with every error, named by the row's `label`. */
export async function resolveRow(
  row: RowInputs,
  label: string,
  defaults: readonly Item[],
  context: Context,
): Promise<ResolvedInputs> {
  return new Resolver(context, 'the table').resolveRow(row, label, defaults);
}

class Resolver {
  readonly #context: Context;
  readonly #problems: string[] = [];
  readonly #reader: PartReader;

  constructor(context: Context, otherStdin: string | undefined) {
    this.#context = context;
    this.#reader = new PartReader(context, otherStdin);
  }

  async resolve({ items, inputsFile, hasDocuments = true }: InputArguments): Promise<ResolvedInputs> {
    const parsed = this.#parseItems(items);
    const fileInputs = new Map<string, Input>();
    if (inputsFile !== undefined) {
      const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
      await this.#collect(label, () =>
        this.#readInputsFile(inputsFile, hasDocuments, fileInputs, new Set(parsed.keys())),
      );
    }
    const resolved = new Map(fileInputs);
    for (const item of parsed.values()) {
      await this.#collect(item.raw, async () => {
        resolved.set(item.name, {
          name: item.name,
          parts: await this.#reader.readItem(item, this.#ownPaths()),
        });
      });
    }
    this.#reader.warnings.push(...(await findFileLikeTexts([...parsed.values()], this.#context.cwd)));
    return this.#finish(resolved);
  }

  async resolveRow(row: RowInputs, label: string, defaults: readonly Item[]): Promise<ResolvedInputs> {
    const { json, paths } = row;
    const own = new Map<string, Input>();
    if (json !== undefined)
      await this.#collect(label, () => this.#readObject(json, paths, label, own, new Set()));
    for (const item of row.items) await this.#resolveItem(item, paths, `${label}: ${item.raw}`, own);
    const inputs = new Map<string, Input>();
    for (const item of defaults) {
      if (!own.has(item.name)) await this.#resolveItem(item, this.#ownPaths(), item.raw, inputs);
    }
    return this.#finish(new Map([...inputs, ...own]));
  }

  /** The rules for the paths of a command line, which are the user's own. */
  #ownPaths(): PathRules {
    return { base: this.#context.cwd, within: undefined };
  }

  async #resolveItem(item: Item, paths: PathRules, label: string, into: Map<string, Input>): Promise<void> {
    await this.#collect(label, async () => {
      if (into.has(item.name)) throw new TextError(`duplicate input "${item.name}"; remove one of the two`);
      into.set(item.name, { name: item.name, parts: await this.#reader.readItem(item, paths) });
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

  #parseItems(rawItems: readonly string[]): Map<string, Item> {
    const items = new Map<string, Item>();
    for (const raw of rawItems) {
      try {
        const item = parseItem(raw);
        const earlier = items.get(item.name);
        if (earlier === undefined) items.set(item.name, item);
        else this.#problems.push(`${raw}: duplicate input "${item.name}"; remove it or ${earlier.raw}`);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        this.#problems.push(error.message);
      }
    }
    return items;
  }

  /** Runs one step and collects its error behind `label`, which is what the user wrote. */
  async #collect(label: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof FileError || error instanceof TextError || error instanceof UsageError)) {
        await this.#reader.close();
        throw error;
      }
      this.#problems.push(
        error.message.startsWith(`${label}:`) ? error.message : `${label}: ${error.message}`,
      );
    }
  }

  async #readInputsFile(
    path: string,
    hasDocuments: boolean,
    into: Map<string, Input>,
    overridden: ReadonlySet<string>,
  ): Promise<void> {
    this.#reader.claimStdin(path, '--inputs-file -');
    const { cwd } = this.#context;
    const base = path === '-' ? cwd : dirname(resolvePath(path, cwd, this.#context));
    const bytes = await readBytes(path, cwd, this.#context);
    if (!hasDocuments) assertNoDocuments(bytes);
    await this.#readObject(bytes, { base, within: undefined }, path, into, overridden);
  }

  async #readObject(
    bytes: Buffer,
    paths: PathRules,
    label: string,
    into: Map<string, Input>,
    overridden: ReadonlySet<string>,
  ): Promise<void> {
    decodeUtf8(bytes);
    for (const { name, segments } of parseInputsFile(bytes)) {
      const parts: Part[] = [];
      into.set(name, { name, parts });
      // An item overrides this input, so its documents are not opened.
      if (overridden.has(name)) continue;
      await this.#collect(`${label}: ${name}`, async () => {
        for (const segment of segments) parts.push(...(await this.#reader.readSegment(segment, paths)));
      });
    }
  }
}
