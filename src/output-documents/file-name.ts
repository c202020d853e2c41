/** Names for files, made of what a service says. */
import { extensionOf } from '../inputs/media-type.js';
import type { JsonPath } from './find-documents.js';

const MAX_LENGTH = 100;
/** Names of devices, with any extension (Windows). */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Names in one folder, of harmless characters; none twice, whatever the case. */
export class FileNames {
  readonly #taken = new Set<string>();

  /** The name of a file that tells where a document stood: `pages-0-image.png` for the one at pages[0].image. */
  forDocument(place: JsonPath, mediaType: string): string {
    const extension = `.${extensionOf(mediaType) ?? 'bin'}`;
    const written = toSafeName(place.join('-'));
    const stem = written.toLowerCase().endsWith(extension) ? written.slice(0, -extension.length) : written;
    return this.#take(stem || 'document', extension);
  }

  /** The name of the folder of a run. */
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

/** A name that stays in its folder and is no option, no hidden file and no device. */
function toSafeName(text: string): string {
  const plain = text
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/\.+$/, '');
  return DEVICE_NAME.test(plain) ? `_${plain}` : plain;
}
