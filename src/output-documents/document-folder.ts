/**
 * Finds the documents in outputs, strings that are data URIs (RFC 2397) with base64, saves them to a folder
 * (--save-documents), and puts their paths into the output.
 */
import { promises } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { errorCode, OutputError } from '../platform/system-error.js';
import { outputOf, type Run } from '../service/run.js';
import type { JsonPath } from '../text/json/json-file.js';
import { decodeStart, decodeStringBytes, replaceValues } from '../text/json/members.js';
import { BACKSLASH, JsonScanner } from '../text/json/scanner.js';
import { pluralize } from '../text/quantity.js';
import { latin1 } from '../text/utf8.js';
import { createUniqueNames, documentName, type FolderFlag, nameRun, openSaveFolder } from './save-folder.js';

export type DocumentFolder = Awaited<ReturnType<typeof openDocumentFolder>>;

/** Creates the folder, so that errors appear before anything is sent. Throws UsageError. */
export async function openDocumentFolder({ folder, force }: Omit<FolderFlag, 'flag'>, context: Context) {
  const flag = '--save-documents';
  const { root, save: saveFiles } = await openSaveFolder({ flag, folder, force }, context);
  const limit = context.limits.documents;
  /** The ids of runs whose documents would have replaced a file. */
  const conflicts: string[] = [];

  /** Returns this folder, or the one in it with a name. */
  const folderOf = (name: string) => (name === '' ? folder : join(folder, name));

  const find = (run: Run, name: string) => {
    const { id, json } = run;
    const output = outputOf(run);
    const { documents, omitted, invalid } = findDocuments(output, limit);
    const parent = folderOf(name);
    const unique = createUniqueNames();
    const files = documents.map((document) => {
      const path = join(parent, unique(...documentName(document.jsonPath, document.mediaType)));
      return { ...document, path, value: path };
    });
    const label = name === '' ? '' : `run ${id}: `;
    const warnings: string[] = [];
    if (invalid > 0)
      warnings.push(`${label}invalid base64 remains in the output: ${pluralize(invalid, 'document')}`);
    if (omitted > 0)
      warnings.push(
        `${label}only the first ${limit} documents are saved; ${omitted} more remain in the output`,
      );
    if (files.length === 0) return { files, warnings, run };
    const saved = replaceValues(output, files);
    const start = output.byteOffset - json.byteOffset;
    const pieces = [json.subarray(0, start), saved, json.subarray(start + output.length)];
    return { files, warnings, run: { ...run, output: saved, json: Buffer.concat(pieces) } };
  };

  return {
    /** The folder without links. */
    root,

    /**
     * Throws UsageError if the folder has files, which the documents of a new run could replace: their names are known
     * only at its end.
     */
    async assertNoFiles(): Promise<void> {
      if (force) return;
      const entries = await promises.readdir(root, { withFileTypes: true });
      // No document has a hidden name.
      const file = entries.find((entry) => !entry.isDirectory() && !entry.name.startsWith('.'));
      if (!file) return;
      throw new UsageError(
        `${flag} ${folder}: has files that documents could replace, such as ${file.name}; use another folder, or --force`,
      );
    },

    /**
     * Returns the flags that make another command for these runs save their documents to the same folders, or to one in
     * it if files are in the way there. `nameOf` gives the names of their folders.
     */
    flagsFor(ids: readonly string[], nameOf = (_id: string) => ''): string[] {
      const [id = ''] = ids;
      const same = folderOf(ids.length === 1 ? nameOf(id) : '');
      const isBlocked = ids.some((blocked) => conflicts.includes(blocked));
      const target = isBlocked ? join(same, nameRun(id)) : same;
      return [flag, target, ...(force ? ['--force'] : [])];
    },

    /**
     * Saves the documents of a run, in the folder with this name if there is one. Returns the run with their paths in its
     * output. Throws OutputError; the unchanged output then still contains every document.
     */
    async save(run: Run, name = '') {
      const { files, ...saved } = find(run, name);
      try {
        await saveFiles(files);
      } catch (error) {
        if (error instanceof OutputError && errorCode(error.cause) === 'EEXIST') conflicts.push(run.id);
        throw error;
      }
      return { ...saved, paths: files.map(({ path }) => path) };
    },

    /** Returns a run as `save` does, and saves nothing. */
    withPaths: (run: Run, name: string): Run => find(run, name).run,
  };
}

interface EmbeddedDocument {
  /** The bytes `[start, end)` of its string in the text, with the quotes. */
  start: number;
  end: number;
  jsonPath: JsonPath;
  /** `type/subtype`, in lower case. */
  mediaType: string;
  /** Decodes the content, in blocks. */
  bytes(): Generator<Buffer, void, void>;
}

/** Levels of a path, and bytes of a name in it: more than a file name shows. */
const MAX_LEVELS = 100;
const MAX_NAME = 400;
const LETTER_D = 0x64;

/** Finds the documents in JSON text (UTF-8); a string that only resembles a data URI is not one. */
function findDocuments(json: Uint8Array, limit: number) {
  /** In their order, at most `limit`. */
  const documents: EmbeddedDocument[] = [];
  /** The number of documents beyond the limit. */
  let omitted = 0;
  /** The number of data URIs whose base64 cannot be decoded. */
  let invalid = 0;
  const scanner = new JsonScanner(json);
  /** Of each level: the index in an array, or the name in an object, as it is in the text. */
  const place: (number | Uint8Array)[] = [];
  while (scanner.next()) {
    const { token, start, end, depth } = scanner;
    const level = depth - 1;
    const segment = place[level];
    if (token === 'string') {
      // Millions of other strings must not be decoded.
      if (((json[start + 1] as number) | 0x20) !== LETTER_D) continue;
      const uri = parseDataUri(scanner.text);
      if (!uri) continue;
      const { mediaType, bytes } = uri;
      if (!bytes) invalid++;
      else if (documents.length === limit) omitted++;
      else documents.push({ start, end, jsonPath: place.slice(0, depth).map(toSegment), mediaType, bytes });
    } else if (level >= MAX_LEVELS) continue;
    else if (token === '[') place[level] = 0;
    else if (token === 'key') place[level] = scanner.text;
    else if (token === ',' && typeof segment === 'number') place[level] = segment + 1;
  }
  return { documents, omitted, invalid };
}

const toSegment = (segment: number | Uint8Array) =>
  typeof segment === 'number' ? segment : decodeStart(segment, MAX_NAME);

/** Characters; longer than the header of any real data URI. */
const MAX_HEADER_LENGTH = 4000;
/** The optional media type, and the parameters. */
const HEADER = /^data:([\w.!#$&^+-]+\/[\w.!#$&^+-]+)? *(?:;[^;,]*)*; *base64 *,/i;
const DEFAULT_MEDIA_TYPE = 'text/plain';
/** Bytes that are decoded at once: a multiple of four, so that each piece is base64 by itself. */
const PIECE_LENGTH = 64 * 1024;
/** Padding may be missing. */
const BASE64 = /^([\w+/-]{4})*([\w+/-]{2}(==)?|[\w+/-]{3}=?)?$/;

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Parses a JSON string token. Returns undefined if it is no data URI with base64, no `bytes` if that cannot be decoded. */
function parseDataUri(token: Uint8Array) {
  if (!/^data:/i.test(latin1(token.subarray(1, 6)))) return undefined;
  // JSON often escapes slashes, and base64 may contain line breaks.
  const text = token.includes(BACKSLASH) ? decodeStringBytes(token) : token.subarray(1, -1);
  const [header, mediaType = DEFAULT_MEDIA_TYPE] =
    HEADER.exec(latin1(text.subarray(0, MAX_HEADER_LENGTH))) ?? [];
  if (header === undefined) return undefined;
  const data = text.subarray(header.length);
  const bytes = decodeBase64(data) ?? decodeBase64(data.filter((byte) => !isSpace(byte)));
  return { mediaType: mediaType.toLowerCase(), bytes };
}

function decodeBase64(data: Uint8Array): EmbeddedDocument['bytes'] | undefined {
  let isPadded = false;
  for (const piece of piecesOf(data)) {
    if (isPadded || !BASE64.test(piece)) return undefined;
    isPadded = piece.endsWith('=');
  }
  return function* () {
    for (const piece of piecesOf(data)) yield Buffer.from(piece, 'base64');
  };
}

function* piecesOf(data: Uint8Array): Generator<string, void, void> {
  for (let from = 0; from < data.length; from += PIECE_LENGTH)
    yield latin1(data.subarray(from, from + PIECE_LENGTH));
}
