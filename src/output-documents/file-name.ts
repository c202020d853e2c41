/** Derives safe file and folder names from what the service sends, or a table names. */
import { extensionOf } from '../inputs/media-type.js';
import type { JsonPath } from './find-documents.js';

const MAX_LENGTH = 100;
/** Device names on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * Extensions of files that a desktop runs, installs or opens as a page when they are opened. The service chooses the
 * media type, and the user would open the file.
 */
const EXECUTABLE = new Set(
  (
    'action apk app appcache appimage appinstaller application appref-ms appx appxbundle bash bat cgi chm cjs' +
    ' class cmd coffee com command cpl crx csh deb desktop dll dmg docm dotm dylib ecma es exe gadget hlp hta htc htm' +
    ' html inf install iso jar jnlp js jse jsx lnk lua luac mht mhtml mjs mpkg msc msh msi msix msixbundle msp mst' +
    ' msu php pif pkg pl pm potm ppam ppsm pptm prf ps1 psm1 py pya pyc pyo pyw rb reg rpm run scf scpt scr service' +
    ' settingcontent-ms sh shar shtml sldm so swf tcl terminal udeb url vb vbe vbs war wasm webapp webloc wgt ws' +
    ' wsc wsf wsh xap xbap xht xhtm xhtml xla xlam xll xlsb xlsm xltm xpi xul'
  ).split(' '),
);

/** The names in one folder: safe characters only, and unique regardless of case. */
export class FileNames {
  readonly #taken = new Set<string>();
  /** The next copy to try, by name: many equal names would each try all earlier copies. */
  readonly #nextCopy = new Map<string, number>();

  /** Returns a file name made from the path of a document in the output, such as `pages-0-image.png`. */
  forDocument(jsonPath: JsonPath, mediaType: string): string {
    const extension = `.${safeExtensionOf(mediaType)}`;
    const name = toSafeName(jsonPath.join('-'));
    const stem = name.toLowerCase().endsWith(extension) ? name.slice(0, -extension.length) : name;
    return this.#take(stem || 'document', extension);
  }

  /** Returns the name of the folder of a run. */
  forRun(id: string): string {
    return this.#take(toSafeName(id) || 'run', '');
  }

  #take(stem: string, extension: string): string {
    const key = `${stem}${extension}`.toLowerCase();
    for (let copy = this.#nextCopy.get(key) ?? 1; ; copy++) {
      const name = `${stem}${copy === 1 ? '' : `-${copy}`}${extension}`;
      if (this.#taken.has(name.toLowerCase())) continue;
      this.#taken.add(name.toLowerCase());
      this.#nextCopy.set(key, copy + 1);
      return name;
    }
  }
}

function safeExtensionOf(mediaType: string): string {
  const extension = extensionOf(mediaType) ?? 'bin';
  return EXECUTABLE.has(extension) ? 'bin' : extension;
}

/** Returns a name that contains no path separator and is not a flag, a hidden file or a device. */
export function toSafeName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/\.+$/, '');
  return DEVICE_NAME.test(name) ? `_${name}` : name;
}
