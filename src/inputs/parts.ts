/** Turns items and pieces of an inputs file into parts of a request body: JSON text and open documents. */
import type { ParameterType } from '../parameters/declaration.js';
import type { Context } from '../platform/context.js';
import type { NamedFile } from '../platform/files.js';
import type { Part, Source } from '../service/body.js';
import { shellCommand } from '../text/shell-quote.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { FilesOfRow } from './file-digests.js';
import { assertReadable, openDocument, type PathRules, readBytes } from './files.js';
import { checkJson, decodeUtf8, type Segment, TextError } from './inputs-file.js';
import { escapeName, type FileSegment, type Item } from './item.js';

/** Reads texts and opens documents, and lets only one of them read standard input. */
export class PartReader {
  readonly warnings: string[] = [];
  /** The files that were read. */
  readonly files: NamedFile[] = [];
  /** The digests of the files that were read, if there is a key for them. */
  readonly digests: FilesOfRow | undefined;
  readonly #opened: Source[] = [];

  /**
   * `stdinUser` is the flag that reads standard input already, as the user wrote it; `mustReread` rejects files that can be
   * read only once; `digestKey` is the key of the digests of files, if they are needed.
   */
  constructor(
    private readonly context: Context,
    private stdinUser: string | undefined,
    private readonly mustReread: boolean,
    digestKey?: Uint8Array,
  ) {
    this.digests = digestKey && new FilesOfRow(digestKey);
  }

  /** Closes the documents. */
  async close(): Promise<void> {
    for (const source of this.#opened) await source.close();
  }

  /** Reads a piece of an inputs file. Throws TextError or FileError. */
  async readSegment(segment: Segment, rules: PathRules): Promise<readonly Part[]> {
    if (segment instanceof Uint8Array) return [segment];
    const fix = `add "type": "type/subtype" beside "$document"`;
    return this.#openDocument(segment, rules, segment.path, fix);
  }

  /** Reads an item; `declared` is the type of its parameter. Throws TextError or FileError. */
  async readItem(item: Item, rules: PathRules, declared?: ParameterType): Promise<readonly Part[]> {
    if (item.type === 'json')
      return [validateJson(Buffer.from(item.text), jsonHint(escapeName(item.name), item.text, declared))];
    if (item.type !== 'file') return [Buffer.from(JSON.stringify(item.text))];
    const { kind, path, raw } = item;
    if (kind === 'document') return this.#openDocument(item, rules, raw, describeTypeFix(item, this.context));
    const absolute = await this.#claim(path, rules, raw);
    const bytes = await readBytes(path, rules, this.context);
    this.digests?.addText(absolute, kind, bytes);
    const text = decodeUtf8(bytes);
    return [kind === 'json' ? validateJson(stripByteOrderMark(bytes)) : Buffer.from(JSON.stringify(text))];
  }

  async #openDocument({ path, mediaType: given }: FileSegment, rules: PathRules, raw: string, fix: string) {
    const absolute = await this.#claim(path, rules, raw);
    // The table of media types is loaded only when a document needs it.
    const { mediaTypeOf } = given === undefined && path !== '-' ? await import('./media-type.js') : {};
    const mediaType = given ?? mediaTypeOf?.(path);
    if (path === '-' && mediaType === undefined) {
      throw new TextError(`the media type of standard input is unknown; ${fix}`);
    }
    // Opened before its media type is checked: a missing file is the more useful error.
    const opened = await openDocument(path, rules, this.context);
    const source = this.digests?.addDocument(absolute, opened) ?? opened;
    this.#opened.push(source);
    if (mediaType === undefined) throw new TextError(`the file name does not imply a media type; ${fix}`);
    if (source.size === 0) this.warnings.push(`${raw}: the document is empty (0 bytes)`);
    const head = JSON.stringify(`data:${mediaType};base64,`).slice(0, -1);
    return [Buffer.from(head), source, Buffer.from('"')];
  }

  /** Checks that a path may be read, and records it; returns it as an absolute one. Throws TextError or FileError. */
  async #claim(path: string, rules: PathRules, raw: string): Promise<string> {
    this.claimStdin(path, raw);
    if (path === '-') return path;
    const absolute = await assertReadable(path, rules, this.mustReread, this.context);
    this.files.push({ name: raw, path: absolute, isWritten: false });
    return absolute;
  }

  /** Reserves standard input if `path` is `-`. Throws TextError if something else reads it already. */
  claimStdin(path: string, user: string): void {
    if (path !== '-') return;
    if (this.stdinUser !== undefined) {
      throw new TextError(`standard input is already read by ${this.stdinUser} and can be read only once`);
    }
    this.stdinUser = user;
  }
}

/** Says how to give a document its media type; quoted, because a semicolon ends a command in a shell. */
function describeTypeFix({ raw, column }: { raw: string; column?: string }, { platform }: Context): string {
  const example = shellCommand([`${column ?? raw};type=application/pdf`], platform);
  if (column !== undefined) return `name the column with it, such as ${example}`;
  return `add ;type=type/subtype, such as ${example}`;
}

/** Returns what to write in place of text that is not JSON, as far as the type of the parameter allows it. */
function jsonHint(name: string, text: string, declared: ParameterType | undefined): string {
  const isDecimal = /^-?\d+,\d+$/.test(text);
  const asNumber = isDecimal ? `; write ${name}:=${text.replace(',', '.')}` : '';
  if (declared === 'number') return asNumber;
  if (declared === undefined && isDecimal) return `${asNumber}, or for a string ${name}=${text}`;
  return declared === undefined || declared === 'string' ? `; for a string use ${name}=${text}` : '';
}

function validateJson(bytes: Buffer, hint = ''): Buffer {
  try {
    checkJson(bytes);
  } catch (error) {
    throw error instanceof TextError ? new TextError(error.message + hint) : error;
  }
  return bytes;
}
