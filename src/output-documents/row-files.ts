/** --save-outputs and --save-documents of several rows or runs: where the files of each are, and what was not saved. */
import { hash } from 'node:crypto';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { isFinished, type Run } from '../service/run.js';
import { ROW_LABEL } from '../text/row-label.js';
import type { DocumentFolder } from './document-folder.js';
import { type SaveFolder, toSafeName } from './save-folder.js';

/**
 * Returns the names of rows in a folder, which follow from their labels alone: of a table its text or its number, of files
 * their tree below the folder that `files` have in common. By default, these are the labels of files.
 */
export function nameRows(
  all: readonly string[],
  files: readonly string[] = all.filter((label) => !ROW_LABEL.test(label)),
) {
  const base = commonFolder(files);
  /** The names that labels want, and those that several want; they are equal regardless of case. */
  const wanted = new Set<string>();
  const contested = new Set<string>();

  const wantedName = (label: string): [name: string, line?: string] => {
    const [, line, text = ''] = ROW_LABEL.exec(label) ?? [];
    // A text like the name of another row is none.
    if (line !== undefined) return [toSafeName(text).replace(/^row-\d+$/i, '') || `row-${line}`, line];
    const segments = relative(base, label).split(/[\\/]/);
    return [join(...segments.filter((segment) => segment !== '..').map((one) => toSafeName(one) || 'file'))];
  };

  for (const label of new Set(all)) {
    const key = wantedName(label)[0].toLowerCase();
    (wanted.has(key) ? contested : wanted).add(key);
  }
  const isWide = base === '.' || base === sep;
  const folders = files.map((file) => {
    const [first = ''] = relative(base, dirname(file)).split(sep);
    return isWide ? join(base, first) : base;
  });
  return {
    /** The folder that all files are in; below the working folder or the root, those in it that have files. */
    inputFolders: new Set(folders),

    /** Returns a relative path, always the same for one row and never that of another one: rows move, their numbers stay. */
    nameOf(label: string, row: number | undefined): string {
      const [name, line] = wantedName(label);
      const isAmbiguous = contested.has(name.toLowerCase());
      if (line !== undefined) return isAmbiguous || name === `row-${line}` ? `row-${row ?? line}` : name;
      return isAmbiguous ? `${name}-${hash('sha256', label, 'hex').slice(0, 8)}` : name;
    },
  };
}

/** Returns the folder that all files are in, `.` where that is the working folder. */
export function commonFolder(files: readonly string[]): string {
  const folders = files.map((file) => dirname(normalize(file)).split(sep));
  const [first = ['.']] = folders;
  const end = first.findIndex((name, index) => folders.some((folder) => folder[index] !== name));
  const common = (end < 0 ? first : first.slice(0, end)).join(sep);
  return common || (first[0] === '' ? sep : '.');
}

const MAX_WARNINGS = 20;

export type RowFiles = ReturnType<typeof createRowFiles>;

/** Returns what saves the files of rows in the folders. */
export function createRowFiles(
  { outputs, documents }: { outputs: SaveFolder | undefined; documents: DocumentFolder | undefined },
  { nameOf }: ReturnType<typeof nameRows>,
) {
  let failure: unknown;
  /** How many rows were not saved, and how many documents were. */
  const counts = { unsaved: 0, documents: 0 };
  const warnings: string[] = [];
  return {
    /** The first ones. */
    warnings,

    counts,

    /** Why the first row was not saved. */
    get failure() {
      return failure;
    },

    /** Saves what a finished run has. Never throws: the `failure` is what the first one failed with. */
    async save(label: string, row: number | undefined, run: Run): Promise<void> {
      const name = nameOf(label, row);
      try {
        const saved = (await documents?.save(run, name)) ?? { run, paths: [], warnings: [] };
        counts.documents += saved.paths.length;
        if (warnings.length < MAX_WARNINGS) warnings.push(...saved.warnings);
        const { output } = saved.run;
        if (output && isFinished(saved.run)) await outputs?.saveOutput(name, output);
      } catch (error) {
        failure ??= error;
        counts.unsaved++;
      }
    },

    /** Returns an output with the paths of its documents, where these are saved. */
    outputOf: (label: string, row: number | undefined, run: Run): Uint8Array | undefined =>
      (documents?.withPaths(run, nameOf(label, row)) ?? run).output,
  };
}
