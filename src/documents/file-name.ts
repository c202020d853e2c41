/** Names for files, made of what a service says. */
import { extensionOf } from '../inputs/media-type.js';
import type { Place } from './data-uri.js';

const LONGEST = 100;
/** Names of devices, with any extension (Windows). */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Names of files that tell where each document stood, of harmless characters; none twice, whatever the case. */
export class FileNames {
  readonly #taken = new Set<string>();

  /** `pages-0-image.png` for the document at pages[0].image. */
  nameFor(place: Place, mediaType: string): string {
    const extension = `.${extensionOf(mediaType) ?? 'bin'}`;
    const written = harmless(place.join('-'));
    const stem = written.toLowerCase().endsWith(extension) ? written.slice(0, -extension.length) : written;
    for (let copy = 1; ; copy++) {
      const name = `${stem || 'document'}${copy === 1 ? '' : `-${copy}`}${extension}`;
      if (this.#taken.has(name.toLowerCase())) continue;
      this.#taken.add(name.toLowerCase());
      return name;
    }
  }
}

/** A name that stays in its folder and is no option, no hidden file and no device. */
export function harmless(text: string): string {
  const plain = text
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, LONGEST)
    .replace(/\.+$/, '');
  return DEVICE.test(plain) ? `_${plain}` : plain;
}
