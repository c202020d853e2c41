/** Derives safe file and folder names from what the service sends. */
import { extensionOf } from '../inputs/media-type.js';
import type { JsonPath } from './find-documents.js';

const MAX_LENGTH = 100;
/** Device names on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** The names in one folder: safe characters only, and unique regardless of case. */
export class FileNames {
  readonly #taken = new Set<string>();

  /** Returns a file name made from the path of a document in the output, such as `pages-0-image.png`. */
  forDocument(jsonPath: JsonPath, mediaType: string): string {
    const extension = `.${extensionOf(mediaType) ?? 'bin'}`;
    const name = toSafeName(jsonPath.join('-'));
    const stem = name.toLowerCase().endsWith(extension) ? name.slice(0, -extension.length) : name;
    return this.#take(stem || 'document', extension);
  }

  /** Returns the name of the folder of a run. */
  forRun(id: string): string {
    return this.#take(toSafeName(id) || 'run', '');
  }

  #take(stem: string, extension: string): string {
    for (let copy = 1; ; copy++) {
      const name = `${stem}${copy === 1 ? '' : `-${copy}`}${extension}`;
      if (this.#taken.has(name.toLowerCase())) continue;
      this.#taken.add(name.toLowerCase());
      return name;
    }
  }
}

/** Returns a name that contains no path separator and is not a flag, a hidden file or a device. */
function toSafeName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/\.+$/, '');
  return DEVICE_NAME.test(name) ? `_${name}` : name;
}
