/**
 * Finds the documents in outputs, strings that are data URIs (RFC 2397) in the variants that services write, saves them to
 * a folder (--save-documents), and puts their paths into the output.
 */
import { promises } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import type { Run } from '../service/run.js';
import { decodeStart, decodeStringBytes } from '../text/json/members.js';
import { JsonScanner } from '../text/json/scanner.js';
import { listFirst } from '../text/quantity.js';
import {
  FileNames,
  type FileToSave,
  type FolderFlag,
  type JsonPath,
  SaveFolder,
  UnsavedDocumentError,
} from './save-folder.js';

/** The most paths that a warning lists. */
const MAX_PATHS = 10;
/** The most existing files that an error lists. */
const MAX_EXISTING = 3;

export interface FolderOptions extends Omit<FolderFlag, 'flag'> {
  /** Create a folder for each run inside this one. */
  severalRuns: boolean;
}

export class DocumentFolder {
  /** By run id. */
  readonly #runFolders = new Map<string, string>();
  readonly #runFolderNames = new FileNames();
  /** The ids of runs whose documents would have replaced a file. */
  readonly #conflicts = new Set<string>();

  private constructor(
    private readonly options: FolderOptions,
    private readonly folder: SaveFolder,
    private readonly limit: number,
  ) {}

  /** Creates the folder, so that errors appear before anything is sent. Throws UsageError. */
  static async open(options: FolderOptions, context: Context): Promise<DocumentFolder> {
    const folder = await SaveFolder.open({ flag: '--save-documents', ...options }, context);
    return new DocumentFolder(options, folder, context.limits.documents);
  }

  /** The folder without links. */
  get root(): string {
    return this.folder.root;
  }

  /**
   * Throws UsageError if the folder has files, which the documents of a new run could replace: their names are known only
   * at its end.
   */
  async assertNoFiles(): Promise<void> {
    const { folder, force } = this.options;
    if (force) return;
    const entries = await promises.readdir(this.folder.root, { withFileTypes: true });
    // No document has a hidden name.
    const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    const files = names.filter((name) => !name.startsWith('.')).sort();
    if (files.length === 0) return;
    const shown = listFirst(files, MAX_EXISTING).join(' ');
    throw new UsageError([
      `--save-documents ${folder}: has files (${shown}), which documents might have to replace; choose another folder, or allow it with --force`,
    ]);
  }

  /** Returns the folder for the documents of a run, always the same for one id and never that of another run. */
  runFolder(id: string): string {
    const { folder, severalRuns } = this.options;
    const runFolder =
      this.#runFolders.get(id) ?? (severalRuns ? join(folder, this.#runFolderNames.forRun(id)) : folder);
    this.#runFolders.set(id, runFolder);
    return runFolder;
  }

  /**
   * Returns the flags that make another command for these runs save their documents to the same folders, or to one in
   * it if files are in the way there.
   */
  flagsFor(ids: readonly string[]): string[] {
    const { folder, force, severalRuns } = this.options;
    const [id = ''] = ids;
    const same = severalRuns && ids.length === 1 ? this.runFolder(id) : folder;
    const isBlocked = ids.some((blocked) => this.#conflicts.has(blocked));
    const target = isBlocked ? join(same, new FileNames().forRun(id)) : same;
    return ['--save-documents', target, ...(force ? ['--force'] : [])];
  }

  /**
   * Saves the documents of the run that the user named `id`, in the folder with this name if there is one. Returns the run
   * with their paths in its output. Throws UnsavedDocumentError; the unchanged output then still contains every document.
   */
  async save(id: string, run: Run, name?: string) {
    const { files, found, withPaths } = this.#find(id, run, name);
    const warnings = this.#warnings(id, found);
    try {
      await this.folder.save(files);
    } catch (error) {
      if (error instanceof UnsavedDocumentError && errorCode(error.cause) === 'EEXIST')
        this.#conflicts.add(id);
      throw error;
    }
    return { run: withPaths(), paths: files.map(({ path }) => path), warnings };
  }

  /** Returns a run as `save` does, and saves nothing. */
  withPaths(id: string, run: Run, name?: string): Run {
    return this.#find(id, run, name).withPaths();
  }

  #find(id: string, run: Run, name: string | undefined) {
    const { output } = run;
    if (output === undefined)
      return { files: [], found: { documents: [], omitted: 0, invalid: [] }, withPaths: () => run };
    const found = findDocuments(output, this.limit);
    const folder = name === undefined ? this.runFolder(id) : join(this.options.folder, name);
    const names = new FileNames();
    const files = found.documents.map((document) => {
      return { ...document, path: join(folder, names.forDocument(document.jsonPath, document.mediaType)) };
    });
    const withPaths = () => {
      if (files.length === 0) return run;
      const { json } = run;
      const saved = replaceDocuments(output, files);
      const start = output.byteOffset - json.byteOffset;
      const pieces = [json.subarray(0, start), saved, json.subarray(start + output.length)];
      return { ...run, output: saved, json: Buffer.concat(pieces) };
    };
    return { files, found, withPaths };
  }

  #warnings(id: string, { omitted, invalid }: FoundDocuments): string[] {
    const label = this.options.severalRuns ? `run ${id}: ` : '';
    const warnings: string[] = [];
    if (invalid.length > 0) {
      const paths = listFirst(invalid.map(formatJsonPath), MAX_PATHS).join(' ');
      warnings.push(`${label}invalid base64 remains in the output: ${paths}`);
    }
    if (omitted > 0) {
      const saved = `only the first ${this.limit} documents are saved`;
      warnings.push(`${label}${saved}; ${omitted} more remain in the output`);
    }
    return warnings;
  }
}

/** Returns JSON with a path in place of each document. */
function replaceDocuments(json: Uint8Array, files: readonly (EmbeddedDocument & FileToSave)[]): Buffer {
  const parts: Uint8Array[] = [];
  let position = 0;
  for (const { start, end, path } of files) {
    parts.push(json.subarray(position, start), Buffer.from(JSON.stringify(path)));
    position = end;
  }
  return Buffer.concat([...parts, json.subarray(position)]);
}

interface EmbeddedDocument extends DataUri {
  /** The bytes `[start, end)` of its string in the text, with the quotes. */
  start: number;
  end: number;
  jsonPath: JsonPath;
}

interface FoundDocuments {
  /** In their order, at most `limit`. */
  documents: EmbeddedDocument[];
  /** The number of documents beyond the limit. */
  omitted: number;
  /** The paths of data URIs whose base64 cannot be decoded, at most `limit`. */
  invalid: JsonPath[];
}

/** Levels of a path, and bytes of a name in it: far more than a file name shows. */
const MAX_LEVELS = 100;
const MAX_NAME = 400;
const LETTER_D = 0x64;

/** Finds the documents in JSON text (UTF-8); a string that only resembles a data URI is not one. */
function findDocuments(json: Uint8Array, limit: number): FoundDocuments {
  const found: FoundDocuments = { documents: [], omitted: 0, invalid: [] };
  const scanner = new JsonScanner(json);
  /** Of each level: the index in an array, or the offset of the name in an object. */
  const segments = new Int32Array(MAX_LEVELS);
  const isName = new Uint8Array(MAX_LEVELS);
  while (scanner.next()) {
    const { token, start, end, depth } = scanner;
    const level = depth - 1;
    if (token === 'string') {
      // Millions of other strings must not be decoded.
      if (((json[start + 1] as number) | 0x20) !== LETTER_D) continue;
      const uri = parseDataUri(json.subarray(start, end));
      if (uri === undefined) continue;
      const jsonPath = () => pathOf(json, depth, segments, isName);
      if (uri === 'invalid') {
        if (found.invalid.length < limit) found.invalid.push(jsonPath());
      } else if (found.documents.length < limit) {
        found.documents.push({ start, end, jsonPath: jsonPath(), ...uri });
      } else found.omitted++;
    } else if (level >= MAX_LEVELS) continue;
    else if (token === '{' || token === '[') {
      segments[level] = 0;
      isName[level] = token === '{' ? 1 : 0;
    } else if (token === 'key') segments[level] = start;
    else if (token === ',' && isName[level] === 0) segments[level] = (segments[level] as number) + 1;
  }
  return found;
}

/** Returns the path of a string. Below the last level that is kept, only the mark of the cut remains. */
function pathOf(json: Uint8Array, depth: number, segments: Int32Array, isName: Uint8Array): JsonPath {
  const path = Array.from(segments.subarray(0, depth), (segment, level) => {
    if (isName[level] === 0) return segment;
    const key = new JsonScanner(json.subarray(segment));
    key.next();
    return decodeStart(json.subarray(segment, segment + key.end), MAX_NAME);
  });
  return depth > MAX_LEVELS ? [...path, '…'] : path;
}

/** Returns the path of a value in an output as messages show it, such as `output.pages[0].image`. */
function formatJsonPath(jsonPath: JsonPath): string {
  return jsonPath.reduce<string>((text, segment) => {
    if (typeof segment === 'string' && /^[A-Za-z_$][\w$]*$/.test(segment)) return `${text}.${segment}`;
    return `${text}[${JSON.stringify(segment)}]`;
  }, 'output');
}

interface DataUri {
  /** `type/subtype`, in lower case. */
  mediaType: string;
  /** Decodes the content, in blocks that are valid until the next one is requested. */
  bytes(): Generator<Buffer, void, void>;
}

/** Characters; longer than the header of any real data URI. */
const MAX_HEADER_LENGTH = 4000;
/** The optional media type, and the parameters. */
const HEADER = /^data:([\w.!#$&^+-]+\/[\w.!#$&^+-]+)? *((?:;[^;]*)*)$/i;
const DEFAULT_MEDIA_TYPE = 'text/plain';
/** A multiple of four, so that each piece is base64 by itself. */
const PIECE_LENGTH = 64 * 1024;
/** Bytes that are decoded at once. */
const BLOCK_SIZE = 1024 * 1024;
const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Parses a JSON string token. Returns undefined if it is not a data URI, 'invalid' if its base64 cannot be decoded. */
function parseDataUri(token: Uint8Array): DataUri | 'invalid' | undefined {
  if (!/^data:/i.test(latin1(token.subarray(1, 6)))) return undefined;
  // JSON often escapes slashes, and base64 may contain line breaks.
  const text = token.includes(BACKSLASH) ? decodeStringBytes(token) : token.subarray(1, -1);
  const comma = text.subarray(0, MAX_HEADER_LENGTH).indexOf(COMMA);
  if (comma < 0) return undefined;
  const header = latin1(text.subarray(0, comma));
  const data = text.subarray(comma + 1);
  const [whole, mediaType, parameters = ''] = HEADER.exec(header) ?? [];
  const uri = { mediaType: (mediaType ?? DEFAULT_MEDIA_TYPE).toLowerCase() };
  if (/; *base64 *$/i.test(header)) {
    const bytes = whole && (decodeBase64(data) ?? decodeBase64(decodePercent(data, isSpace)));
    return bytes ? { ...uri, bytes } : 'invalid';
  }
  // Prose may begin with `data:` too, so everything that a data URI requires is checked.
  if (whole === undefined || !/^(; *[^\s;=]+=[^;]*)*$/.test(parameters)) return undefined;
  if (mediaType === undefined && data.some(isSpace)) return undefined;
  return {
    ...uri,
    *bytes() {
      yield decodePercent(data);
    },
  };
}

function decodeBase64(data: Uint8Array): DataUri['bytes'] | undefined {
  for (let from = 0; from < data.length; from += PIECE_LENGTH) {
    const isLast = from + PIECE_LENGTH >= data.length;
    const piece = latin1(data.subarray(from, from + PIECE_LENGTH));
    const valid = isLast ? /^([\w+/-]{4})*([\w+/-]{2}(==)?|[\w+/-]{3}=?)?$/ : /^[\w+/-]*$/;
    if (!valid.test(piece)) return undefined;
  }
  return function* () {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_SIZE, data.length));
    let used = 0;
    for (let from = 0; from < data.length; from += PIECE_LENGTH) {
      used += block.write(latin1(data.subarray(from, from + PIECE_LENGTH)), used, 'base64');
      if (used + PIECE_LENGTH <= block.length) continue;
      yield block.subarray(0, used);
      used = 0;
    }
    yield block.subarray(0, used);
  };
}

/** Works on bytes: decoding 100 MB as text would block the event loop for many seconds. */
function decodePercent(data: Uint8Array, isSkipped = (_byte: number) => false): Buffer {
  const decoded = Buffer.allocUnsafe(data.length);
  let length = 0;
  for (let index = 0; index < data.length; index++) {
    let byte = data[index] as number;
    const hex = byte === PERCENT ? latin1(data.subarray(index + 1, index + 3)) : undefined;
    if (hex !== undefined && /^[0-9a-f]{2}$/i.test(hex)) {
      byte = Number.parseInt(hex, 16);
      index += 2;
    }
    if (!isSkipped(byte)) decoded[length++] = byte;
  }
  return decoded.subarray(0, length);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
