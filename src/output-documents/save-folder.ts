/**
 * A folder of the user that files are saved in, whole or not at all, and never over files with other content; their names
 * are safe, whatever the service or a table calls them.
 */
import { promises } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { UsageError } from '../errors.js';
import { extensionOf } from '../inputs/media-type.js';
import type { Context } from '../platform/context.js';
import { absolutePath, createHidden, lstatOf, mkdirp } from '../platform/files.js';
import { resolveTrusted } from '../platform/ownership.js';
import { errorCode, OutputError, throwAsUsageError, throwUnlessCode } from '../platform/system-error.js';
import { formatJson } from '../text/json/format-json.js';
import type { JsonPath } from '../text/json/json-file.js';

interface FileToSave {
  /** In the folder: relative to the working folder, as messages and outputs show it. */
  path: string;
  /** Yields the same bytes each time. */
  bytes(): Iterable<Uint8Array>;
}

export interface FolderFlag {
  /** `--save-documents` or `--save-outputs`. */
  flag: string;
  /** As the user wrote it. */
  folder: string;
  /** Overwrite existing files. */
  force: boolean;
}

export type SaveFolder = Awaited<ReturnType<typeof openSaveFolder>>;

/** Creates the folder, so that errors appear before anything is sent. Throws UsageError. */
export async function openSaveFolder({ flag, folder, force }: FolderFlag, context: Context) {
  if (folder === '') throw new UsageError(`${flag}: pass a folder, such as ${flag} out`);
  const makeRoot = async () => {
    const path = await resolveTrusted(absolutePath(folder, context.cwd), context.uid);
    await mkdirp(path);
    await promises.access(path, promises.constants.W_OK);
    return path;
  };
  const root = await makeRoot().catch(throwAsUsageError(`${flag} ${folder}`));

  /** Does something with the path without links of what is in the folder. */
  const attempt = (path: string, action: (absolute: string) => Promise<unknown>) =>
    action(join(root, relative(folder, path))).catch((error) => {
      const exists = errorCode(error) === 'EEXIST';
      const fix = exists ? 'overwrite it with --force' : 'watch the run again once this is fixed';
      throw new OutputError(error, path, { hints: [`Choose another folder, or ${fix}.`] });
    });

  const makeFolders = async (path: string): Promise<void> => {
    if (relative(folder, path) === '') return mkdirp(root);
    await makeFolders(dirname(path));
    await attempt(path, makeFolder);
  };

  /** Saves all files, or none. Throws OutputError, whose cause is EEXIST if a file has other content. */
  const save = async (files: readonly FileToSave[]): Promise<void> => {
    for (const path of new Set(files.map(({ path }) => dirname(path)))) await makeFolders(path);
    const written: string[] = [];
    try {
      for (const file of files)
        await attempt(file.path, async (absolute) => {
          // An earlier command may have saved it.
          if (!force && (await hasContent(absolute, file))) return;
          const hidden = await createHidden(absolute, context);
          await hidden.write(file.bytes(), force).finally(hidden.close);
          written.push(absolute);
        });
    } catch (error) {
      // Files that remain would make the next attempt fail, because they exist.
      if (!force) for (const path of written) await promises.rm(path).catch(() => {});
      throw error;
    }
  };

  return {
    /** The folder without links. */
    root,
    save,
    /** Saves the output of a finished run. Throws as `save`. */
    saveOutput: (name: string, output: Uint8Array) =>
      save([{ path: join(folder, `${name}.json`), bytes: () => formatJson(output) }]),
  };
}

/** Creates a folder. It may exist, but not as a link, which could lead out of the one that it is in. */
async function makeFolder(path: string): Promise<void> {
  await promises.mkdir(path).catch(throwUnlessCode('EEXIST'));
  const stats = await promises.lstat(path);
  if (!stats.isDirectory())
    throw new Error(`it is ${stats.isSymbolicLink() ? 'a symbolic link' : 'not a folder'}`);
}

/** Returns whether a regular file has exactly these bytes. */
async function hasContent(path: string, file: FileToSave): Promise<boolean> {
  const stats = await lstatOf(path);
  if (!stats?.isFile()) return false;
  const handle = await promises.open(path, 'r');
  try {
    let size = 0;
    for (const bytes of file.bytes()) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes.length), 0, bytes.length, size);
      if (bytesRead < bytes.length || !buffer.equals(bytes)) return false;
      size += bytes.length;
    }
    return size === stats.size;
  } finally {
    await handle.close();
  }
}

const MAX_LENGTH = 100;

/** Device names on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * Extensions of files that a desktop only shows or plays. The service chooses the media type, and the user would open the
 * file: any other one may be run, installed, or opened as a page.
 */
const HARMLESS = (
  '7z aac avi avif bmp csv doc docx eml epub flac geojson gif gz heic ico ics jp2 jpg json jsonld m4a md mkv mov mp3' +
  ' mp4 mpeg msg ndjson odp ods odt ogg ogv pdf png ppt pptx psd rar rtf svg tar tif toml tsv txt vcf wav weba webm webp' +
  ' xls xlsx xml xps yaml zip'
).split(' ');

/** Returns what makes names unique in one folder, regardless of case. */
export function createUniqueNames() {
  /** By name that is taken, the next copy to try: many equal names would each try all earlier copies. */
  const nextCopy = new Map<string, number>();
  return (stem: string, extension = ''): string => {
    const key = `${stem}${extension}`.toLowerCase();
    for (let copy = nextCopy.get(key) ?? 1; ; copy++) {
      const name = `${stem}${copy === 1 ? '' : `-${copy}`}${extension}`;
      if (nextCopy.has(name.toLowerCase())) continue;
      nextCopy.set(name.toLowerCase(), 2).set(key, copy + 1);
      return name;
    }
  };
}

/** Returns the stem and the extension of a file, made from the path of a document in the output: `pages-0-image` and `.png`. */
export function documentName(jsonPath: JsonPath, mediaType: string): [stem: string, extension: string] {
  const usual = extensionOf(mediaType) ?? '';
  const extension = HARMLESS.includes(usual) ? `.${usual}` : '.bin';
  const name = toSafeName(jsonPath.join('-'));
  const stem = name.toLowerCase().endsWith(extension) ? name.slice(0, -extension.length) : name;
  return [stem || 'document', extension];
}

/** Returns the name of the folder or file of a run. */
export const nameRun = (id: string) => toSafeName(id) || 'run';

/** Returns a name that contains no path separator and is not a flag, a hidden file or a device. */
export function toSafeName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/\.+$/, '');
  return DEVICE_NAME.test(name) ? `_${name}` : name;
}
