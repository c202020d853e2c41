/** Saves the documents in outputs to a folder (--save-documents), and puts their paths into the output. */
import { promises } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { UnsavedDocumentError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { absolutePath, createFile, mkdirp } from '../platform/files.js';
import { resolveTrusted } from '../platform/ownership.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { Run } from '../service/run.js';
import { FileNames } from './file-name.js';
import {
  type EmbeddedDocument,
  type FoundDocuments,
  findDocuments,
  formatJsonPath,
} from './find-documents.js';

/** The most paths that a warning lists. */
const MAX_PATHS = 10;
/** The most existing files that an error lists. */
const MAX_EXISTING = 3;

export interface FolderOptions {
  /** As the user wrote it. */
  folder: string;
  /** Overwrite existing files. */
  force: boolean;
  /** Create a folder for each run inside this one. */
  severalRuns: boolean;
}

interface FileToWrite {
  document: EmbeddedDocument;
  /** Relative to the working folder, as messages and the output show it. */
  path: string;
}

interface SavedDocuments {
  /** The run, with the documents in its output replaced by the paths of their files. */
  run: Run;
  paths: string[];
  warnings: string[];
}

export class DocumentFolder {
  readonly #options: FolderOptions;
  /** The folder without links. */
  readonly #root: string;
  readonly #limit: number;
  /** By run id. */
  readonly #runFolders = new Map<string, string>();
  readonly #runFolderNames = new FileNames();
  /** The ids of runs whose documents would have replaced a file. */
  readonly #conflicts = new Set<string>();

  private constructor(options: FolderOptions, root: string, { limits }: Context) {
    this.#options = options;
    this.#root = root;
    this.#limit = limits.documents;
  }

  /** Creates the folder, so that errors appear before anything is sent. Throws UsageError. */
  static async open(options: FolderOptions, context: Context): Promise<DocumentFolder> {
    const { folder } = options;
    if (folder === '')
      throw new UsageError(['--save-documents: pass a folder, such as --save-documents out']);
    const path = absolutePath(folder, context.cwd);
    try {
      const root = await resolveTrusted(path, context.uid);
      await mkdirp(root);
      await promises.access(root, promises.constants.W_OK);
      return new DocumentFolder(options, root, context);
    } catch (error) {
      // "No such file" would be confusing for a folder that is to be created.
      const reason =
        errorCode(error) === 'ENOENT'
          ? 'the file system takes no folder there (ENOENT)'
          : describeSystemError(error);
      throw new UsageError([`--save-documents ${folder}: ${reason}`]);
    }
  }

  /**
   * Throws UsageError if the folder has files, which the documents of a new run could replace: their names are known only
   * at its end.
   */
  async assertNoFiles(): Promise<void> {
    const { folder, force } = this.#options;
    if (force) return;
    const entries = await promises.readdir(this.#root, { withFileTypes: true });
    // No document has a hidden name.
    const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    const files = names.filter((name) => !name.startsWith('.')).sort();
    if (files.length === 0) return;
    const shown = files.slice(0, MAX_EXISTING).join(', ');
    const more = files.length > MAX_EXISTING ? ` and ${files.length - MAX_EXISTING} more` : '';
    throw new UsageError([
      `--save-documents ${folder}: has files (${shown}${more}), which documents might have to replace; choose another folder, or allow it with --force`,
    ]);
  }

  /** Returns the folder for the documents of a run, always the same for one id and never that of another run. */
  runFolder(id: string): string {
    const { folder, severalRuns } = this.#options;
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
    const { folder, force, severalRuns } = this.#options;
    const [id = ''] = ids;
    const same = severalRuns && ids.length === 1 ? this.runFolder(id) : folder;
    const isBlocked = ids.some((blocked) => this.#conflicts.has(blocked));
    const target = isBlocked ? join(same, new FileNames().forRun(id)) : same;
    return ['--save-documents', target, ...(force ? ['--force'] : [])];
  }

  /**
   * Saves the documents of the run that the user named `id`. Throws UnsavedDocumentError; the unchanged output then still
   * contains every document.
   */
  async save(id: string, run: Run): Promise<SavedDocuments> {
    const { output, json } = run;
    if (output === undefined) return { run, paths: [], warnings: [] };
    const found = findDocuments(output, this.#limit);
    const warnings = this.#warnings(id, found);
    const folder = this.runFolder(id);
    const names = new FileNames();
    const files = found.documents.map((document) => ({
      document,
      path: join(folder, names.forDocument(document.jsonPath, document.mediaType)),
    }));
    if (files.length === 0) return { run, paths: [], warnings };
    if (this.#options.severalRuns) await this.#attempt(folder, makeRunFolder);
    try {
      await this.#writeAll(this.#options.force ? files : await this.#unsavedFiles(files));
    } catch (error) {
      if (error instanceof UnsavedDocumentError && errorCode(error.cause) === 'EEXIST')
        this.#conflicts.add(id);
      throw error;
    }
    const saved = replaceDocuments(output, files);
    const start = output.byteOffset - json.byteOffset;
    const pieces = [json.subarray(0, start), saved, json.subarray(start + output.length)];
    const savedRun = { ...run, output: saved, json: Buffer.concat(pieces) };
    return { run: savedRun, paths: files.map(({ path }) => path), warnings };
  }

  #warnings(id: string, { omitted, invalid }: FoundDocuments): string[] {
    const label = this.#options.severalRuns ? `run ${id}: ` : '';
    const warnings: string[] = [];
    if (invalid.length > 0) {
      const paths = invalid.slice(0, MAX_PATHS).map(formatJsonPath).join(', ');
      const more = invalid.length > MAX_PATHS ? ` and ${invalid.length - MAX_PATHS} more` : '';
      warnings.push(`${label}invalid base64 remains in the output: ${paths}${more}`);
    }
    if (omitted > 0) {
      const saved = `only the first ${this.#limit} documents are saved`;
      warnings.push(`${label}${saved}; ${omitted} more remain in the output`);
    }
    return warnings;
  }

  /** Returns the files that an earlier command has not saved. Throws UnsavedDocumentError if one exists with other content. */
  async #unsavedFiles(files: readonly FileToWrite[]): Promise<FileToWrite[]> {
    const unsaved: FileToWrite[] = [];
    for (const file of files) {
      if (await hasContent(this.#resolve(file.path), file.document)) continue;
      await this.#attempt(file.path, assertAbsent);
      unsaved.push(file);
    }
    return unsaved;
  }

  async #writeAll(files: readonly FileToWrite[]): Promise<void> {
    const writtenPaths: string[] = [];
    try {
      for (const { document, path } of files) {
        await this.#attempt(path, (absolute) => this.#write(absolute, document));
        writtenPaths.push(path);
      }
    } catch (error) {
      // Files that remain would make the next attempt fail, because they exist.
      if (!this.#options.force) {
        for (const path of writtenPaths) await promises.rm(this.#resolve(path)).catch(() => {});
      }
      throw error;
    }
  }

  /** Always creates a new file, so that it never follows an existing link. */
  async #write(path: string, document: EmbeddedDocument): Promise<void> {
    if (this.#options.force) await promises.rm(path, { force: true });
    const file = await createFile(path);
    try {
      for (const bytes of document.bytes()) await file.appendFile(bytes);
    } catch (error) {
      await promises.rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Returns the path without links of what is in the folder. */
  #resolve(path: string): string {
    return join(this.#root, relative(this.#options.folder, path));
  }

  async #attempt(path: string, action: (absolute: string) => Promise<unknown>): Promise<void> {
    await action(this.#resolve(path)).catch((error) => {
      throw new UnsavedDocumentError(error, path);
    });
  }
}

/** Creates the folder of a run. It may exist, but not as a link, which could lead out of the user's folder. */
async function makeRunFolder(path: string): Promise<void> {
  await mkdirp(dirname(path));
  try {
    await promises.mkdir(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const stats = await promises.lstat(path);
    if (!stats.isDirectory())
      throw new Error(`it is ${stats.isSymbolicLink() ? 'a symbolic link' : 'not a folder'}`);
  }
}

/** Returns whether a regular file has exactly the bytes of a document. */
async function hasContent(path: string, document: EmbeddedDocument): Promise<boolean> {
  const stats = await promises.lstat(path).catch(() => undefined);
  if (stats?.isFile() !== true) return false;
  const handle = await promises.open(path, 'r').catch(() => undefined);
  if (handle === undefined) return false;
  try {
    let size = 0;
    for (const bytes of document.bytes()) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes.length), 0, bytes.length, size);
      if (bytesRead < bytes.length || !buffer.equals(bytes)) return false;
      size += bytes.length;
    }
    return size === stats.size;
  } catch {
    return false;
  } finally {
    await handle.close();
  }
}

async function assertAbsent(path: string): Promise<void> {
  const stats = await promises.lstat(path).catch(() => undefined);
  if (stats !== undefined) throw Object.assign(new Error('it already exists'), { code: 'EEXIST' });
}

function replaceDocuments(json: Uint8Array, files: readonly FileToWrite[]): Buffer {
  const parts: Uint8Array[] = [];
  let position = 0;
  for (const { document, path } of files) {
    parts.push(json.subarray(position, document.start), Buffer.from(JSON.stringify(path)));
    position = document.end;
  }
  return Buffer.concat([...parts, json.subarray(position)]);
}
