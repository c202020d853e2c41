/** Resolves the items and the inputs file of a command line, or a row of a table, into inputs that can be sent. */
import { dirname } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { type NamedFile, resolvePath } from '../platform/files.js';
import type { Input, Part } from '../service/body.js';
import {
  type Columns,
  checkDeclared,
  columnInputs,
  type DeclaredWorkflow,
  type GivenInput,
} from './check-declared.js';
import type { DigestFile } from './file-digests.js';
import { FileError, type PathRules, readBytes } from './files.js';
import { decodeUtf8, findDocumentObjects, parseInputsFile, TextError } from './inputs-file.js';
import { findFileLikeTexts, findLooseWords, findName, type Item, ItemError, parseItem } from './item.js';
import { PartReader } from './parts.js';

export interface InputArguments {
  items: readonly string[];
  /** The path of a JSON object of inputs; `-` is standard input. */
  inputsFile: string | undefined;
  /** Whether the inputs file may name documents. */
  hasDocuments?: boolean | undefined;
  /** The inputs must match its parameters. */
  declared?: DeclaredWorkflow | undefined;
  /** The flag that reads standard input already, as the user wrote it. */
  otherStdin?: string | undefined;
}

export interface ResolvedInputs {
  inputs: Input[];
  warnings: string[];
  /** The files that the inputs are read from, now or while they are sent. */
  files: readonly NamedFile[];
  /** Returns the digests of these files, as they were read last. Throws FileChangedError. */
  digestFile: DigestFile;
  /** Closes the documents. */
  close(): Promise<void>;
}

/**
 * Parses every item, reads every text and opens every document; only the content of documents is read later. Items
 * override the keys of the inputs file. Throws UsageError with every error, or FileReadError.
 */
export function resolveInputs(args: InputArguments, context: Context): Promise<ResolvedInputs> {
  return new Resolver(context, args.declared, args.otherStdin).resolve(args);
}

/** What reads standard input, and may read a file of all rows again. */
const TABLE = 'the table';

/** The inputs of one row of a table: items or a JSON object, and the rules for their paths. */
export interface RowInputs {
  items: readonly Item[];
  json?: Buffer;
  paths: PathRules;
}

/** What the inputs of all rows have in common. */
export interface CommonInputs {
  /** Overridden by the inputs of a row. */
  defaults: readonly Item[];
  /** The inputs of each row must match its parameters. */
  declared: DeclaredWorkflow | undefined;
}

/**
 * Checks what all rows have in common against the declared parameters, before any row is read: the columns, if the table
 * has them, and the defaults. Throws UsageError with every error.
 */
export async function checkColumns(
  columns: Columns | undefined,
  { defaults, declared }: CommonInputs & { declared: DeclaredWorkflow },
  context: Context,
): Promise<void> {
  await (await new Resolver(context, declared, TABLE).resolveColumns(columns, declared, defaults)).close();
}

/**
 * Resolves the inputs of a row; with `digestKey`, its files are digested. Throws UsageError with every error, named by the
 * row's `label`.
 */
export async function resolveRow(
  { inputs, label }: { inputs: RowInputs | { problem: string }; label: string },
  { defaults, declared }: CommonInputs,
  context: Context,
  digestKey?: Uint8Array,
): Promise<ResolvedInputs> {
  if ('problem' in inputs) throw new UsageError([`${label}: ${inputs.problem}`]);
  return new Resolver(context, declared, TABLE, digestKey).resolveRow(inputs, label, defaults);
}

class Resolver {
  readonly #given = new Map<string, GivenInput>();
  readonly #problems: string[] = [];
  readonly #reader: PartReader;
  /** Whether the names of all inputs are known. */
  #isComplete = true;
  /** The rules for the paths of a command line, which are the user's own. */
  readonly #ownPaths: PathRules;

  constructor(
    private readonly context: Context,
    private readonly declared: DeclaredWorkflow | undefined,
    otherStdin: string | undefined,
    digestKey?: Uint8Array,
  ) {
    this.#ownPaths = { base: context.cwd };
    this.#reader = new PartReader(context, otherStdin, otherStdin === TABLE, digestKey);
  }

  async resolve({ items, inputsFile, hasDocuments = true }: InputArguments): Promise<ResolvedInputs> {
    const words = await findLooseWords(items, this.context.cwd);
    this.#problems.push(...words.problems);
    const { parsed, invalid } = this.#parseItems(words.items);
    if (inputsFile !== undefined) {
      const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
      const read = () => this.#readInputsFile(inputsFile, label, hasDocuments, parsed);
      if (!(await this.#collect(label, read))) this.#isComplete = false;
    }
    for (const given of invalid) this.#given.set(given.name, given);
    for (const [name, item] of parsed) await this.#read({ name, label: item.raw, item }, this.#ownPaths);
    this.#reader.warnings.push(...(await findFileLikeTexts([...parsed.values()], this.context.cwd)));
    return this.#finish('');
  }

  async resolveRow(row: RowInputs, label: string, defaults: readonly Item[]): Promise<ResolvedInputs> {
    const { json, paths } = row;
    if (json !== undefined)
      this.#isComplete = await this.#collect(label, () => this.#readObject(json, paths, label));
    for (const item of row.items)
      await this.#add({ name: item.name, label: `${label}: ${item.raw}`, item, isCell: true }, paths);
    await this.#addDefaults(defaults);
    return this.#finish(`${label}: `);
  }

  async resolveColumns(
    columns: Columns | undefined,
    declared: DeclaredWorkflow,
    defaults: readonly Item[],
  ): Promise<ResolvedInputs> {
    // Without columns, each row names its inputs.
    this.#isComplete = columns !== undefined;
    for (const column of columns === undefined ? [] : columnInputs(columns, declared))
      this.#given.set(column.name, column);
    await this.#addDefaults(defaults);
    return this.#finish(columns === undefined ? '' : `${columns.label}: `);
  }

  /** Adds those that nothing overrides. */
  async #addDefaults(defaults: readonly Item[]): Promise<void> {
    const own = new Set(this.#given.keys());
    for (const item of defaults) {
      const { name, raw } = item;
      if (!own.has(name)) await this.#add({ name, label: raw, item }, this.#ownPaths);
    }
  }

  async #add(given: GivenInput & { item: Item }, paths: PathRules): Promise<void> {
    const { name, label } = given;
    if (this.#given.has(name))
      this.#problems.push(`${label}: duplicate input "${name}"; remove one of the two`);
    else await this.#read(given, paths);
  }

  /** Adds an input, and reads its value. */
  async #read(given: GivenInput & { item: Item }, paths: PathRules): Promise<void> {
    const { name, label, item } = given;
    this.#given.set(name, given);
    await this.#collect(label, async () => {
      given.parts = await this.#reader.readItem(item, paths, this.declared?.parameters.get(name)?.type);
    });
  }

  /** `subject` begins a message about a missing input. */
  async #finish(subject: string): Promise<ResolvedInputs> {
    if (this.declared !== undefined) {
      const options = { subject, isComplete: this.#isComplete };
      this.#problems.push(...checkDeclared(this.declared, this.#given, options));
    }
    if (this.#problems.length > 0) {
      await this.#reader.close();
      throw new UsageError(this.#problems);
    }
    return {
      inputs: [...this.#given.values()].map(({ name, parts = [] }): Input => ({ name, parts })),
      warnings: this.#reader.warnings,
      files: this.#reader.files,
      digestFile: async (path, { base }, kind) =>
        (await this.#reader.digests?.digestOf(resolvePath(path, base, this.context), kind)) ?? '',
      close: () => this.#reader.close(),
    };
  }

  /** Returns the items by name, and those that are not valid but have one. */
  #parseItems(rawItems: readonly string[]): { parsed: Map<string, Item>; invalid: GivenInput[] } {
    const parsed = new Map<string, Item>();
    const invalid: GivenInput[] = [];
    for (const raw of rawItems) {
      try {
        const item = parseItem(raw);
        const earlier = parsed.get(item.name);
        if (earlier === undefined) parsed.set(item.name, item);
        else this.#problems.push(`${raw}: duplicate input "${item.name}"; remove it or ${earlier.raw}`);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        this.#problems.push(error.message);
        const name = findName(raw);
        if (name) invalid.push({ name, label: raw });
      }
    }
    return { parsed, invalid };
  }

  /**
   * Runs one step and collects its error behind `label`, which is what the user wrote. Resolves with whether there was
   * none.
   */
  async #collect(label: string, step: () => Promise<void>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      if (!(error instanceof FileError || error instanceof TextError || error instanceof UsageError)) {
        await this.#reader.close();
        throw error;
      }
      // What the user wrote may end with the path that the message begins with.
      const [subject = ''] = error.message.split(': ', 1);
      const isNamed = label === subject || /[@=]$/.test(label.slice(0, -subject.length));
      const rest =
        isNamed && label.endsWith(subject) ? error.message.slice(subject.length) : `: ${error.message}`;
      this.#problems.push(label + rest);
      return false;
    }
  }

  async #readInputsFile(
    path: string,
    label: string,
    hasDocuments: boolean,
    overridden: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    this.#reader.claimStdin(path, '--inputs-file -');
    const { cwd } = this.context;
    const base = path === '-' ? cwd : dirname(resolvePath(path, cwd, this.context));
    const bytes = await readBytes(path, { base: cwd }, this.context);
    const forbidden = hasDocuments ? [] : findDocumentObjects(bytes);
    this.#problems.push(...forbidden.map((problem) => `${label}: ${problem}`));
    // The files of documents that are not allowed are not opened, so that the inputs stay unknown.
    if (forbidden.length > 0) this.#isComplete = false;
    else await this.#readObject(bytes, { base }, label, overridden);
  }

  async #readObject(
    bytes: Buffer,
    paths: PathRules,
    label: string,
    overridden: ReadonlyMap<string, unknown> = new Map(),
  ): Promise<void> {
    decodeUtf8(bytes);
    const { inputs, problems } = parseInputsFile(bytes);
    this.#problems.push(...problems.map((problem) => `${label}: ${problem}`));
    for (const { name, segments, isValid } of inputs) {
      const given: GivenInput = { name, label: `${label}: ${name}` };
      this.#given.set(name, given);
      // An item overrides this input, so its documents are not opened.
      if (overridden.has(name)) continue;
      const parts: Part[] = [];
      let isRead = isValid;
      for (const segment of segments) {
        const read = async () => {
          parts.push(...(await this.#reader.readSegment(segment, paths)));
        };
        isRead = (await this.#collect(given.label, read)) && isRead;
      }
      if (isRead) given.parts = parts;
    }
  }
}
