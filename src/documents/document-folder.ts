/** A folder that the documents of runs are saved to. */
import { promises } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Context } from '../context.js';
import { UnsavedDocumentError, UsageError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import type { Run } from '../service/run.js';
import { codeOf, describeSystemError } from '../system-error.js';
import { type EmbeddedDocument, embeddedDocuments } from './data-uri.js';
import { FileNames } from './file-name.js';

/** Files beyond this many are no documents but an accident, or an attack. */
const MOST = 10_000;

export interface FolderOptions {
  /** As the user wrote it. */
  folder: string;
  /** Overwrite what is there. */
  force: boolean;
  /** One folder for each run, in this one. */
  severalRuns: boolean;
}

export class DocumentFolder {
  readonly #options: FolderOptions;
  readonly #cwd: string;
  readonly #homes = new Map<string, string>();
  readonly #homeNames = new FileNames();

  private constructor(options: FolderOptions, cwd: string) {
    this.#options = options;
    this.#cwd = cwd;
  }

  /** Makes the folder, so that what is wrong with it shows before anything is sent. Throws UsageError. */
  static async open(options: FolderOptions, context: Context): Promise<DocumentFolder> {
    const { folder } = options;
    if (folder === '')
      throw new UsageError(['--save-documents: give the folder, such as --save-documents out']);
    try {
      await makeFolder(resolve(context.cwd, folder));
      await promises.access(resolve(context.cwd, folder), promises.constants.W_OK);
    } catch (error) {
      // The folder is missing, of course; what it says is that there is no making one.
      const why = codeOf(error) === 'ENOENT' ? 'no folder can be made there' : describeSystemError(error);
      throw new UsageError([`--save-documents ${folder}: ${why}`]);
    }
    return new DocumentFolder(options, context.cwd);
  }

  /** The folder for the documents of the run that was asked for by this id: no other run's, and always the same. */
  homeOf(id: string): string {
    const { folder, severalRuns } = this.#options;
    const home = this.#homes.get(id) ?? (severalRuns ? join(folder, this.#homeNames.forRun(id)) : folder);
    this.#homes.set(id, home);
    return home;
  }

  /**
   * The run that was asked for by `id`, with paths in place of the documents in its output, which are files now, and
   * those paths. Throws UnsavedDocumentError; then nothing is overwritten, and the run as it was holds everything.
   */
  async save(id: string, run: Run): Promise<{ run: Run; paths: string[] }> {
    const { output, json } = run;
    if (output === undefined) return { run, paths: [] };
    const home = this.homeOf(id);
    const names = new FileNames();
    const files = [...firstOf(embeddedDocuments(output), MOST)].map((document) => ({
      document,
      path: join(home, names.forDocument(document.place, document.mediaType)),
    }));
    if (files.length === 0) return { run, paths: [] };
    if (this.#options.severalRuns) await this.#attempt(home, makeHome);
    if (!this.#options.force) for (const { path } of files) await this.#attempt(path, expectNothing);
    for (const { document, path } of files) await this.#attempt(path, (to) => this.#write(to, document));
    const saved = withPaths(output, files);
    const before = output.byteOffset - json.byteOffset;
    const whole = [json.subarray(0, before), saved, json.subarray(before + output.length)];
    const replaced = { ...run, output: saved, json: Buffer.concat(whole) };
    return { run: replaced, paths: files.map(({ path }) => path) };
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
async function makeHome(path: string): Promise<void> {
  await makeFolder(dirname(path));
  try {
    await promises.mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const found = await promises.lstat(path);
    if (!found.isDirectory())
      throw new Error(`it is ${found.isSymbolicLink() ? 'a symbolic link' : 'no folder'}`);
  }
}

async function expectNothing(path: string): Promise<void> {
  const found = await promises.lstat(path).catch(() => undefined);
  if (found !== undefined) throw Object.assign(new Error('it exists already'), { code: 'EEXIST' });
}

function* firstOf<T>(items: Iterable<T>, most: number): Generator<T, void, void> {
  let count = 0;
  for (const item of items) {
    if (count++ === most) return;
    yield item;
  }
}

function withPaths(json: Uint8Array, files: readonly { document: EmbeddedDocument; path: string }[]): Buffer {
  const parts: Uint8Array[] = [];
  let done = 0;
  for (const { document, path } of files) {
    parts.push(json.subarray(done, document.start), Buffer.from(JSON.stringify(path)));
    done = document.end;
  }
  return Buffer.concat([...parts, json.subarray(done)]);
}
