/** A folder that the documents of runs are saved to. */
import { promises } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { UnsavedDocumentError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { absolutePath, mkdirp } from '../platform/files.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { Run } from '../service/run.js';
import { FileNames } from './file-name.js';
import {
  type EmbeddedDocument,
  type FoundDocuments,
  findDocuments,
  formatJsonPath,
} from './find-documents.js';

/** Places that a warning names. */
const MAX_PATHS = 10;

export interface FolderOptions {
  /** As the user wrote it. */
  folder: string;
  /** Overwrite what is there. */
  force: boolean;
  /** One folder for each run, in this one. */
  severalRuns: boolean;
}

interface FileToWrite {
  document: EmbeddedDocument;
  /** As the user will read it. */
  path: string;
}

interface SavedDocuments {
  /** The run with paths in place of the documents in its output, which are files now. */
  run: Run;
  paths: string[];
  /** What is left in the output, and why. */
  warnings: string[];
}

export class DocumentFolder {
  readonly #options: FolderOptions;
  readonly #cwd: string;
  readonly #most: number;
  readonly #homes = new Map<string, string>();
  readonly #homeNames = new FileNames();

  private constructor(options: FolderOptions, { cwd, limits }: Context) {
    this.#options = options;
    this.#cwd = cwd;
    this.#most = limits.documents;
  }

  /** Makes the folder, so that what is wrong with it shows before anything is sent. Throws UsageError. */
  static async open(options: FolderOptions, context: Context): Promise<DocumentFolder> {
    const { folder } = options;
    if (folder === '')
      throw new UsageError(['--save-documents: give the folder, such as --save-documents out']);
    const path = absolutePath(folder, context.cwd);
    try {
      await mkdirp(path);
      await promises.access(path, promises.constants.W_OK);
    } catch (error) {
      // The folder is missing, of course; what it says is that there is no making one.
      const why = errorCode(error) === 'ENOENT' ? 'no folder can be made there' : describeSystemError(error);
      throw new UsageError([`--save-documents ${folder}: ${why}`]);
    }
    return new DocumentFolder(options, context);
  }

  /** The folder for the documents of the run that was asked for by this id: no other run's, and always the same. */
  runFolder(id: string): string {
    const { folder, severalRuns } = this.#options;
    const home = this.#homes.get(id) ?? (severalRuns ? join(folder, this.#homeNames.forRun(id)) : folder);
    this.#homes.set(id, home);
    return home;
  }

  /** The flags with which a command for these runs alone saves their documents to where this one does. */
  flagsFor(ids: readonly string[]): string[] {
    const { folder, force, severalRuns } = this.#options;
    const [only] = ids;
    const home = severalRuns && only !== undefined && ids.length === 1 ? this.runFolder(only) : folder;
    return ['--save-documents', home, ...(force ? ['--force'] : [])];
  }

  /**
   * Saves the documents of the run that was asked for by `id`. Throws UnsavedDocumentError; then nothing is overwritten,
   * and the run as it was holds everything.
   */
  async save(id: string, run: Run): Promise<SavedDocuments> {
    const { output, json } = run;
    if (output === undefined) return { run, paths: [], warnings: [] };
    const found = findDocuments(output, this.#most);
    const warnings = this.#warnings(id, found);
    const home = this.runFolder(id);
    const names = new FileNames();
    const files = found.documents.map((document) => ({
      document,
      path: join(home, names.forDocument(document.jsonPath, document.mediaType)),
    }));
    if (files.length === 0) return { run, paths: [], warnings };
    if (this.#options.severalRuns) await this.#attempt(home, makeRunFolder);
    if (!this.#options.force) for (const { path } of files) await this.#attempt(path, assertAbsent);
    await this.#writeAll(files);
    const saved = replaceDocuments(output, files);
    const before = output.byteOffset - json.byteOffset;
    const whole = [json.subarray(0, before), saved, json.subarray(before + output.length)];
    const replaced = { ...run, output: saved, json: Buffer.concat(whole) };
    return { run: replaced, paths: files.map(({ path }) => path), warnings };
  }

  #warnings(id: string, { omitted, invalid }: FoundDocuments): string[] {
    const whose = this.#options.severalRuns ? `run ${id}: ` : '';
    const left: string[] = [];
    if (invalid.length > 0) {
      const places = invalid.slice(0, MAX_PATHS).map(formatJsonPath).join(', ');
      const more = invalid.length > MAX_PATHS ? ` and ${invalid.length - MAX_PATHS} more` : '';
      left.push(`data that cannot be decoded stays in the output: ${places}${more}`);
    }
    if (omitted > 0)
      left.push(`documents beyond the first ${this.#most} stay in the output: ${omitted} more`);
    return left.map((text) => `${whose}${text}`);
  }

  async #writeAll(files: readonly FileToWrite[]): Promise<void> {
    const written: string[] = [];
    try {
      for (const { document, path } of files) {
        await this.#attempt(path, (to) => this.#write(to, document));
        written.push(path);
      }
    } catch (error) {
      // What is left would stand in the way when the run is watched again.
      if (!this.#options.force) {
        for (const path of written) await promises.rm(resolve(this.#cwd, path)).catch(() => {});
      }
      throw error;
    }
  }

  /** Never follows a link that somebody has put there: the file is always a new one. */
  async #write(path: string, document: EmbeddedDocument): Promise<void> {
    if (this.#options.force) await promises.rm(path, { force: true });
    const file = await promises.open(path, 'wx');
    try {
      for (const bytes of document.bytes()) await file.appendFile(bytes);
    } catch (error) {
      await promises.rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async #attempt(path: string, work: (absolute: string) => Promise<unknown>): Promise<void> {
    await work(resolve(this.#cwd, path)).catch((error) => {
      throw new UnsavedDocumentError(error, path);
    });
  }
}

/** Makes the folder of a run, which may exist, but not as a link: that would lead out of the user's folder. */
async function makeRunFolder(path: string): Promise<void> {
  await mkdirp(dirname(path));
  try {
    await promises.mkdir(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const found = await promises.lstat(path);
    if (!found.isDirectory())
      throw new Error(`it is ${found.isSymbolicLink() ? 'a symbolic link' : 'no folder'}`);
  }
}

async function assertAbsent(path: string): Promise<void> {
  const found = await promises.lstat(path).catch(() => undefined);
  if (found !== undefined) throw Object.assign(new Error('it exists already'), { code: 'EEXIST' });
}

function replaceDocuments(json: Uint8Array, files: readonly FileToWrite[]): Buffer {
  const parts: Uint8Array[] = [];
  let done = 0;
  for (const { document, path } of files) {
    parts.push(json.subarray(done, document.start), Buffer.from(JSON.stringify(path)));
    done = document.end;
  }
  return Buffer.concat([...parts, json.subarray(done)]);
}
