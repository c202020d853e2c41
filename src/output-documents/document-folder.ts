/** Saves the documents in outputs to a folder (--save-documents), and puts their paths into the output. */
import { promises } from 'node:fs';
import { join } from 'node:path';
import { UnsavedDocumentError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import type { Run } from '../service/run.js';
import { FileNames } from './file-name.js';
import {
  type EmbeddedDocument,
  type FoundDocuments,
  findDocuments,
  formatJsonPath,
} from './find-documents.js';
import { SaveFolder } from './save-folder.js';

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
  readonly #folder: SaveFolder;
  readonly #limit: number;
  /** By run id. */
  readonly #runFolders = new Map<string, string>();
  readonly #runFolderNames = new FileNames();
  /** The ids of runs whose documents would have replaced a file. */
  readonly #conflicts = new Set<string>();

  private constructor(options: FolderOptions, folder: SaveFolder, { limits }: Context) {
    this.#options = options;
    this.#folder = folder;
    this.#limit = limits.documents;
  }

  /** Creates the folder, so that errors appear before anything is sent. Throws UsageError. */
  static async open(options: FolderOptions, context: Context): Promise<DocumentFolder> {
    const folder = await SaveFolder.open({ flag: '--save-documents', ...options }, context);
    return new DocumentFolder(options, folder, context);
  }

  /** The folder without links. */
  get root(): string {
    return this.#folder.root;
  }

  /**
   * Throws UsageError if the folder has files, which the documents of a new run could replace: their names are known only
   * at its end.
   */
  async assertNoFiles(): Promise<void> {
    const { folder, force } = this.#options;
    if (force) return;
    const entries = await promises.readdir(this.#folder.root, { withFileTypes: true });
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
   * Saves the documents of the run that the user named `id`, in the folder with this name if there is one. Throws
   * UnsavedDocumentError; the unchanged output then still contains every document.
   */
  async save(id: string, run: Run, name?: string): Promise<SavedDocuments> {
    const { files, found, withPaths } = this.#find(id, run, name);
    const warnings = this.#warnings(id, found);
    try {
      await this.#folder.save(files.map(({ path, document }) => ({ path, bytes: () => document.bytes() })));
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
    const found = findDocuments(output, this.#limit);
    const folder = name === undefined ? this.runFolder(id) : join(this.#options.folder, name);
    const names = new FileNames();
    const files = found.documents.map((document) => ({
      document,
      path: join(folder, names.forDocument(document.jsonPath, document.mediaType)),
    }));
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
