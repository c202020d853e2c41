/** Resolves the items and the inputs file of a command line, or a row of a table, into inputs that can be sent. */
import { dirname } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { type NamedFile, resolvePath } from '../platform/files.js';
import type { Input, Part, Source } from '../service/body.js';
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
  checkJsonFile,
  decodeUtf8,
  type FileSegment,
  parseInputsFile,
  type Segment,
  segmentOf,
} from './inputs-file.js';
import { describeTexts, type Item, parseItems } from './item.js';
import { mediaTypeOf } from './media-type.js';

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
export function resolveInputs(args: InputArguments, context: Context): Promise<ResolvedInputs> {
  return openResolver(context, args.declared, args.otherStdin).resolve(args);
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
  const { resolveColumns } = openResolver(context, declared, TABLE);
  await (await resolveColumns(columns, defaults)).close();
}

/** Resolves the inputs of a row. Throws UsageError with every error, named by the row's `label`. */
export async function resolveRow(
  { inputs, label }: { inputs: RowInputs | { problem: string }; label: string },
  { defaults, declared }: CommonInputs,
  context: Context,
): Promise<ResolvedInputs> {
  if ('problem' in inputs) throw new UsageError(`${label}: ${inputs.problem}`);
  return openResolver(context, declared, TABLE).resolveRow(inputs, label, defaults);
}

const TYPE_FIX = `add ';type=type/subtype', in a table to the column's name, in JSON as "type"`;

/**
 * Collects inputs, reads their texts, and opens their documents; only one of them can read standard input. `stdinUser` is
 * what reads it already, as the user wrote it.
 */
function openResolver(context: Context, declared: DeclaredWorkflow | undefined, stdinUser?: string) {
  const given = new Map<string, GivenInput>();
  const problems: string[] = [];
  const warnings: string[] = [];
  const files: NamedFile[] = [];
  const opened: Source[] = [];
  const { cwd } = context;
  /** Whether files that can be read only once are rejected. */
  const mustReread = stdinUser === TABLE;

  const close = async () => {
    for (const source of opened) await source.close();
  };

  /** Runs a step. Collects its error behind `label`, which is what the user wrote; else resolves with its result. */
  const collect = async <T>(label: string, step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof UsageError)) {
        await close();
        throw error;
      }
      // What the user wrote may end with the path that the message begins with.
      const [subject = ''] = error.message.split(': ', 1);
      const isNamed = label.endsWith(subject);
      problems.push(label + (isNamed ? error.message.slice(subject.length) : `: ${error.message}`));
      return undefined;
    }
  };

  /** Reserves standard input if `path` is `-`. Throws InputError if something else reads it already. */
  const claimStdin = (path: string, user: string) => {
    if (path !== '-') return;
    if (stdinUser !== undefined)
      throw new InputError(`standard input is already read by ${stdinUser} and can be read only once`);
    stdinUser = user;
  };

  const readDocument = async ({ path, mediaType: chosen }: FileSegment, paths: PathRules, raw: string) => {
    const mediaType = chosen ?? mediaTypeOf(path);
    if (path === '-' && mediaType === undefined)
      throw new InputError(`the media type of standard input is unknown; ${TYPE_FIX}`);
    // Opened before its media type is checked: a missing file is the more useful error.
    const source = await openDocument(path, paths, context);
    opened.push(source);
    if (mediaType === undefined)
      throw new InputError(`the file name does not imply a media type; ${TYPE_FIX}`);
    if (source.size === 0) warnings.push(`${raw}: the document is empty (0 bytes)`);
    const head = JSON.stringify(`data:${mediaType};base64,`).slice(0, -1);
    return [Buffer.from(head), source, Buffer.from('"')];
  };

  /** `written` is what the user wrote, by default the path. Throws InputError. */
  const read = async (segment: Segment, paths: PathRules, written?: string): Promise<readonly Part[]> => {
    if (segment instanceof Uint8Array) return [segment];
    const { kind, path } = segment;
    const raw = written ?? path;
    claimStdin(path, raw);
    const found = path === '-' ? undefined : await assertReadable(path, paths, mustReread, context);
    if (found) files.push({ name: raw, path: found.absolute, isWritten: false });
    if (kind === 'document') return readDocument(segment, paths, raw);
    const bytes = await readBytes(path, paths, context);
    if (found?.stats) opened.push(createFileSource(found.absolute, path, found.stats));
    return [kind === 'json' ? checkJsonFile(bytes) : Buffer.from(JSON.stringify(decodeUtf8(bytes)))];
  };

  /** `row` names the row that has it as a cell, for messages. */
  const addItem = async (item: Item, paths: PathRules = {}, row = '') => {
    const input: GivenInput = { label: row + item.raw, item, isCell: row !== '' };
    given.set(item.name, input);
    // Of an unknown name, nobody knows whether its value should be JSON.
    if (item.separator === ':=' && declared?.parameters.has(item.name) === false) return;
    const reading = () => read(segmentOf(item, input.isCell), paths, item.raw);
    input.parts = await collect(input.label, reading);
  };

  /** Adds those that nothing overrides. */
  const addDefaults = async (defaults: readonly Item[]) => {
    for (const item of defaults) if (!given.has(item.name)) await addItem(item);
  };

  /** Adds the members of an object, but reads none that one of `items` overrides. Resolves with true. Throws InputError. */
  const addObject = async (
    json: Buffer,
    paths: PathRules,
    label: string,
    items: readonly Item[],
    hasDocuments?: boolean,
  ) => {
    for (const { name, segments } of parseInputsFile(json, hasDocuments)) {
      const input: GivenInput = { label: `${label}: ${name}` };
      given.set(name, input);
      if (items.some((item) => item.name === name)) continue;
      const parts: (readonly Part[] | undefined)[] = [];
      for (const segment of segments) parts.push(await collect(input.label, () => read(segment, paths)));
      if (parts.every((part) => part !== undefined)) input.parts = parts.flat();
    }
    return true;
  };

  /** `subject` begins a message about a missing input; `isComplete` says whether the names of all inputs are known. */
  const finish = async (
    subject: string,
    isComplete = false,
    hints?: ReadonlyMap<string, string>,
  ): Promise<ResolvedInputs> => {
    const checked = declared && checkDeclared(declared, given, subject, isComplete);
    problems.push(...(checked?.problems ?? []));
    if (problems.length > 0) {
      await close();
      throw new UsageError(problems, undefined, checked?.notes);
    }
    return {
      inputs: Array.from(given, ([name, { parts = [] }]): Input => ({ name, parts, hint: hints?.get(name) })),
      warnings,
      files,
      verify: async () => {
        for (const source of opened) await source.verify();
      },
      close,
    };
  };

  return {
    async resolve({ items: raws, inputsFile, hasDocuments }: InputArguments) {
      const parsed = parseItems(raws, declared?.parameters);
      const { items } = parsed;
      problems.push(...parsed.problems);
      let isComplete: boolean | undefined = true;
      if (inputsFile !== undefined) {
        const label = inputsFile === '-' ? '--inputs-file -' : inputsFile;
        isComplete = await collect(label, async () => {
          claimStdin(inputsFile, label);
          const json = await readBytes(inputsFile, {}, context);
          const base = inputsFile === '-' ? cwd : dirname(resolvePath(inputsFile, context));
          return addObject(json, { base }, label, items, hasDocuments);
        });
      }
      for (const name of parsed.invalidNames) given.set(name, { label: name });
      for (const item of items) await addItem(item);
      const texts = await describeTexts(items, cwd, declared !== undefined);
      warnings.push(...texts.warnings);
      return finish('', isComplete, texts.hints);
    },

    async resolveRow({ items, json, paths }: RowInputs, label: string, defaults: readonly Item[]) {
      const isComplete =
        json === undefined || (await collect(label, () => addObject(json, paths, label, items)));
      for (const item of items) await addItem(item, paths, `${label}: `);
      await addDefaults(defaults);
      return finish(`${label}: `, isComplete);
    },

    async resolveColumns(columns: Columns | undefined, defaults: readonly Item[]) {
      for (const [name, column] of columns && declared ? columnInputs(columns, declared.parameters) : [])
        given.set(name, column);
      await addDefaults(defaults);
      // Without columns, each row names its inputs.
      return finish(columns ? `${columns.label}: ` : '', columns !== undefined);
    },
  };
}
