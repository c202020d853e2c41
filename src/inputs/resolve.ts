/** Resolves the items and the inputs file of a command line, or a row of a table, into inputs that can be sent. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { type NamedFile, resolvePath } from '../platform/files.js';
import type { Input, Part, Source } from '../service/body.js';
import { stripByteOrderMark } from '../text/utf8.js';
import {
  type Columns,
  checkDeclared,
  columnInputs,
  type DeclaredWorkflow,
  type GivenInput,
} from './check-declared.js';
import { createFileSource } from './file-source.js';
import { assertReadable, openDocument, type PathRules, readBytes } from './files.js';
import {
  checkJson,
  decodeUtf8,
  type FileSegment,
  parseInputsFile,
  type Segment,
  segmentOf,
} from './inputs-file.js';
import { findFileLikeTexts, type Item, parseItems } from './item.js';

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
  /** Throws FileChangedError if one of them has changed since it was opened. */
  verify(): Promise<void>;
  /** Closes the documents. */
  close(): Promise<void>;
}

/**
 * Parses every item, reads every text and opens every document; only the content of documents is read later. Items
 * override the keys of the inputs file. Throws UsageError with every error, or FileReadError.
 */
export function resolveInputs(
  { items, inputsFile, hasDocuments, declared, otherStdin }: InputArguments,
  context: Context,
): Promise<ResolvedInputs> {
  return new Resolver(context, declared, otherStdin).resolve(items, inputsFile, hasDocuments);
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

/** Resolves the inputs of a row. Throws UsageError with every error, named by the row's `label`. */
export async function resolveRow(
  { inputs, label }: { inputs: RowInputs | { problem: string }; label: string },
  { defaults, declared }: CommonInputs,
  context: Context,
): Promise<ResolvedInputs> {
  if ('problem' in inputs) throw new UsageError([`${label}: ${inputs.problem}`]);
  return new Resolver(context, declared, TABLE).resolveRow(inputs, label, defaults);
}

const TYPE_FIX = `add ;type=type/subtype, in a table to the column's name, in JSON as "type"`;

/** Collects inputs, reads their texts, and opens their documents; only one of them can read standard input. */
class Resolver {
  readonly #given = new Map<string, GivenInput>();
  readonly #problems: string[] = [];
  readonly #warnings: string[] = [];
  readonly #files: NamedFile[] = [];
  readonly #opened: Source[] = [];
  /** Whether the names of all inputs are known. */
  #isComplete = true;
  /** The rules for the paths of a command line, which are the user's own. */
  readonly #ownPaths: PathRules;
  /** Whether files that can be read only once are rejected. */
  readonly #mustReread: boolean;

  /** `stdinUser` is what reads standard input already, as the user wrote it. */
  constructor(
    private readonly context: Context,
    private readonly declared: DeclaredWorkflow | undefined,
    private stdinUser: string | undefined,
  ) {
    this.#ownPaths = { base: context.cwd };
    this.#mustReread = stdinUser === TABLE;
  }

  async resolve(raws: readonly string[], inputsFile: string | undefined, hasDocuments?: boolean) {
    const { items, problems, invalidNames } = parseItems(raws);
    this.#problems.push(...problems);
    const overridden = new Set(items.map(({ name }) => name));
    if (inputsFile !== undefined) {
      const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
      const { cwd } = this.context;
      this.#isComplete = await this.#collect(label, async () => {
        this.#claimStdin(inputsFile, label);
        const json = await readBytes(inputsFile, this.#ownPaths, this.context);
        const base = inputsFile === '-' ? cwd : dirname(resolvePath(inputsFile, cwd, this.context));
        await this.#addObject(json, { base }, label, overridden, hasDocuments);
      });
    }
    for (const name of invalidNames) this.#given.set(name, { name, label: name });
    for (const item of items) await this.#addItem(item, this.#ownPaths, { label: item.raw });
    this.#warnings.push(...(await findFileLikeTexts(items, this.context.cwd)));
    return this.#finish('');
  }

  async resolveRow({ items, json, paths }: RowInputs, label: string, defaults: readonly Item[]) {
    if (json !== undefined)
      this.#isComplete = await this.#collect(label, () => this.#addObject(json, paths, label));
    for (const item of items)
      await this.#addItem(item, paths, { label: `${label}: ${item.raw}`, isCell: true });
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
    for (const item of defaults)
      if (!this.#given.has(item.name)) await this.#addItem(item, this.#ownPaths, { label: item.raw });
  }

  async #addItem(item: Item, paths: PathRules, labelled: Pick<GivenInput, 'label' | 'isCell'>) {
    const given: GivenInput = { ...labelled, name: item.name, item };
    this.#given.set(item.name, given);
    await this.#collect(given.label, async () => {
      given.parts = await this.#read(segmentOf(item), paths, item.raw);
    });
  }

  /** Adds the members of a JSON object, but reads none that is overridden. Throws InputError. */
  async #addObject(
    json: Buffer,
    paths: PathRules,
    label: string,
    overridden: ReadonlySet<string> = new Set(),
    hasDocuments?: boolean,
  ): Promise<void> {
    for (const { name, segments } of parseInputsFile(json, hasDocuments)) {
      const given: GivenInput = { name, label: `${label}: ${name}` };
      this.#given.set(name, given);
      if (overridden.has(name)) continue;
      const parts: Part[] = [];
      let isRead = true;
      for (const segment of segments) {
        const raw = segment instanceof Uint8Array ? '' : segment.path;
        const read = async () => {
          parts.push(...(await this.#read(segment, paths, raw)));
        };
        isRead = (await this.#collect(given.label, read)) && isRead;
      }
      if (isRead) given.parts = parts;
    }
  }

  /** `raw` is what the user wrote. Throws InputError. */
  async #read(segment: Segment, paths: PathRules, raw: string): Promise<readonly Part[]> {
    if (segment instanceof Uint8Array) return [segment];
    const { kind, path } = segment;
    this.#claimStdin(path, raw);
    const absolute = path === '-' ? path : await assertReadable(path, paths, this.#mustReread, this.context);
    if (path !== '-') this.#files.push({ name: raw, path: absolute, isWritten: false });
    if (kind === 'document') return this.#openDocument(segment, paths, raw);
    const identity = await stat(absolute, { bigint: true }).catch(() => undefined);
    const bytes = await readBytes(path, paths, this.context);
    if (path !== '-' && identity !== undefined) this.#opened.push(createFileSource(absolute, path, identity));
    const text = decodeUtf8(bytes);
    return [kind === 'json' ? checkJson(stripByteOrderMark(bytes)) : Buffer.from(JSON.stringify(text))];
  }

  async #openDocument({ path, mediaType: given }: FileSegment, paths: PathRules, raw: string) {
    // The table of media types is loaded only when a document needs it.
    const { mediaTypeOf } = given === undefined && path !== '-' ? await import('./media-type.js') : {};
    const mediaType = given ?? mediaTypeOf?.(path);
    if (path === '-' && mediaType === undefined)
      throw new InputError(`the media type of standard input is unknown; ${TYPE_FIX}`);
    // Opened before its media type is checked: a missing file is the more useful error.
    const source = await openDocument(path, paths, this.context);
    this.#opened.push(source);
    if (mediaType === undefined)
      throw new InputError(`the file name does not imply a media type; ${TYPE_FIX}`);
    if (source.size === 0) this.#warnings.push(`${raw}: the document is empty (0 bytes)`);
    const head = JSON.stringify(`data:${mediaType};base64,`).slice(0, -1);
    return [Buffer.from(head), source, Buffer.from('"')];
  }

  /** Reserves standard input if `path` is `-`. Throws InputError if something else reads it already. */
  #claimStdin(path: string, user: string): void {
    if (path !== '-') return;
    if (this.stdinUser !== undefined)
      throw new InputError(`standard input is already read by ${this.stdinUser} and can be read only once`);
    this.stdinUser = user;
  }

  /** Runs one step and collects its error behind `label`, which is what the user wrote. Resolves with whether there was none. */
  async #collect(label: string, step: () => Promise<void>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      if (!(error instanceof UsageError)) {
        await this.#close();
        throw error;
      }
      // What the user wrote may end with the path that the message begins with.
      const [subject = ''] = error.message.split(': ', 1);
      const isNamed = label.endsWith(subject);
      this.#problems.push(label + (isNamed ? error.message.slice(subject.length) : `: ${error.message}`));
      return false;
    }
  }

  /** `subject` begins a message about a missing input. */
  async #finish(subject: string): Promise<ResolvedInputs> {
    if (this.declared !== undefined) {
      const options = { subject, isComplete: this.#isComplete };
      this.#problems.push(...checkDeclared(this.declared, this.#given, options));
    }
    if (this.#problems.length > 0) {
      await this.#close();
      throw new UsageError(this.#problems);
    }
    return {
      inputs: [...this.#given.values()].map(({ name, parts = [] }): Input => ({ name, parts })),
      warnings: this.#warnings,
      files: this.#files,
      verify: async () => {
        for (const source of this.#opened) await source.verify();
      },
      close: () => this.#close(),
    };
  }

  async #close(): Promise<void> {
    for (const source of this.#opened) await source.close();
  }
}
