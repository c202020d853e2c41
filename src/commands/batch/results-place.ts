/** Where the rows of a batch are recorded: the file of --results, or by default one beside the table or the files. */
import { promises } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../errors.js';
import { commonFolder } from '../../output-documents/row-files.js';
import { toSafeName } from '../../output-documents/save-folder.js';
import { type Context, isTurnedOn } from '../../platform/context.js';
import { isFile, resolvePath, shownPath } from '../../platform/files.js';
import type { ReadEvent } from '../../runs/log/events.js';
import { type BatchTarget, differencesOf, readEvents, withFileName } from '../../runs/log/log-file.js';

/** A results file. */
export interface ResultsPlace {
  path: string;
  /** As the user would write it. */
  name: string;
  isDefault: boolean;
}

/** What the name of the file says, so that other rows have another one. */
interface NamedRows {
  /** The files of --each, and a file in the folder of each path that the user wrote. */
  files: readonly string[];
  samples: readonly string[];
  /** The configured name of the workflow, or the start of the id. */
  workflowName: string;
  /** What the file would be for. */
  target: BatchTarget;
}

/** Returns the results file; undefined for stdout. Throws UsageError where there is none by default. */
export async function chooseResults(
  { results, rows }: { results?: string; rows?: string },
  { files, samples, workflowName, target }: NamedRows,
  context: Context,
): Promise<ResultsPlace | undefined> {
  const { cwd, env } = context;
  const absolute = (path: string) => resolvePath(path, context);
  if (results === '-') return undefined;
  if (results !== undefined) return { path: absolute(results), name: results, isDefault: false };
  if (isTurnedOn(env.CI))
    throw requiresResults('CI is set, and the next job may run without the file of this one');
  if (rows === '-') throw requiresResults('the table is standard input');
  if (rows !== undefined && !(await isFile(absolute(rows))))
    throw requiresResults(`${rows} is not a regular file`);
  const part = target.shard === '1/1' ? '' : `.${target.shard.replace('/', '-of-')}`;
  const suffix = `.${toSafeName(workflowName) || 'workflow'}${part}.results.jsonl`;
  const base = absolute(rows ?? commonFolder(samples.map(absolute)));
  if (basename(base) === '') throw requiresResults(`the files have no folder in common but ${base}`);
  const path = base + suffix;
  const [known, another] = (await isFile(path)) ? [path] : await findRenamed(base, target);
  const other = known === undefined ? await findOther(files.map(absolute), suffix) : another;
  if (other !== undefined) throw requiresResults(`${shownPath(other, cwd)} has some of these rows`);
  const chosen = known ?? path;
  return { path: chosen, name: shownPath(chosen, cwd), isDefault: true };
}

/** Returns the files of the same rows, workflow and service with other names of the workflow: one may be configured later. */
async function findRenamed(base: string, target: BatchTarget): Promise<string[]> {
  const [folder, own] = [dirname(base), basename(base)];
  const names = await promises.readdir(folder).catch(() => []);
  const found: string[] = [];
  for (const name of names) {
    if (!name.startsWith(`${own}.`) || !name.slice(own.length + 1).endsWith('.results.jsonl')) continue;
    // Those of scans.old begin like those of scans.
    if (names.some((rows) => rows.length > own.length && name.startsWith(`${rows}.`))) continue;
    const path = join(folder, name);
    let isSame = false;
    const onEvent = (event: ReadEvent) => {
      if (event.event === 'batch') isSame = differencesOf(event, target).length === 0;
    };
    await withFileName('', name, readEvents(path, name, onEvent));
    if (isSame) found.push(path);
  }
  return found;
}

/** Returns why a batch without --results cannot be continued. */
export function requiresResults(why: string): UsageError {
  return new UsageError(`--results <file.jsonl> is required: ${why}`);
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
