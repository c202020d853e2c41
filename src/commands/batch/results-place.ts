/** Where the rows of a batch are recorded: the file of --results, or by default one beside the table or the files. */
import { basename, dirname } from 'node:path';
import { UsageError } from '../../errors.js';
import { commonFolder } from '../../output-documents/row-files.js';
import { toSafeName } from '../../output-documents/save-folder.js';
import type { Context } from '../../platform/context.js';
import { isFile, resolvePath, shownPath } from '../../platform/files.js';
import { mayBeLog } from '../../runs/log/events.js';
import { readStart } from '../../runs/log/log-file.js';
import { isInCi } from '../../view/presentation.js';

/** A results file. */
export interface ResultsPlace {
  path: string;
  /** As the user would write it. */
  name: string;
  isDefault: boolean;
}

interface PlaceFlags {
  results?: string;
  rows?: string;
}

/** What the name of the file says, so that other rows have another one. */
interface NamedRows {
  /** The files of --each, and the same before patterns were expanded. */
  files: readonly string[];
  patterns: readonly string[];
  /** The configured name, or the start of the id. */
  workflow: string;
  shard: { index: number; count: number };
}

/** Returns the results file; undefined for stdout. Throws UsageError where there is none by default. */
export async function chooseResults(
  { results, rows }: PlaceFlags,
  { files, patterns, workflow, shard: { index, count } }: NamedRows,
  context: Context,
): Promise<ResultsPlace | undefined> {
  const { cwd, env } = context;
  const absolute = (path: string) => resolvePath(path, context);
  if (results === '-') return undefined;
  if (results !== undefined) return { path: absolute(results), name: results, isDefault: false };
  if (isInCi(env)) throw requiresResults('CI is set, and the next job may run without the file of this one');
  if (rows === '-') throw requiresResults('the table is standard input');
  if (rows !== undefined && !(await isFile(absolute(rows))))
    throw requiresResults(`${rows} is not a regular file`);
  const part = count === 1 ? '' : `.${index}-of-${count}`;
  const suffix = `.${toSafeName(workflow) || 'workflow'}${part}.results.jsonl`;
  if (rows !== undefined) return { path: absolute(rows + suffix), name: rows + suffix, isDefault: true };
  const folder = commonFolder(foldersOfPatterns(patterns).map(absolute));
  if (basename(folder) === '') throw requiresResults(`the files have no folder in common but ${folder}`);
  const path = folder + suffix;
  const other = (await isFile(path)) ? undefined : await findOther(files.map(absolute), suffix);
  if (other !== undefined)
    throw requiresResults(`${shownPath(other, cwd)} may have recorded some of these files`);
  return { path, name: shownPath(path, cwd), isDefault: true };
}

/** Returns why a batch without --results cannot be continued. */
export function requiresResults(why: string): UsageError {
  return new UsageError(`--results <file.jsonl> is required: ${why}`);
}

/** Returns patterns as files in the folder that each names before its first wildcard. */
export function foldersOfPatterns(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => pattern.replace(/[*?[].*$/s, 'file'));
}

/** Returns an existing results file of a folder above or below: the files of an earlier command had another one in common. */
async function findOther(files: readonly string[], suffix: string): Promise<string | undefined> {
  const seen = new Set<string>();
  for (let folder of new Set(files.map(dirname))) {
    for (; !seen.has(folder); folder = dirname(folder)) {
      seen.add(folder);
      if (await isFile(folder + suffix)) return folder + suffix;
    }
  }
  return undefined;
}

/** Returns whether a file may be a results file: what wfr has written is no row, although a pattern matches it. */
export async function beginsAsLog(path: string): Promise<boolean> {
  const start = await readStart(path).catch(() => Buffer.alloc(0));
  return start.length > 0 && mayBeLog(start);
}
