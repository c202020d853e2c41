/** The media type that a file's name tells, and the other way round. */
import { extname } from 'node:path';
import mime from 'mime-types';

/** `type/subtype` for a file name's extension, without parameters; undefined where the name does not tell. */
export function mediaTypeOf(path: string): string | undefined {
  // mime.lookup takes a bare `pdf` for an extension; as a file's name, it tells nothing.
  return extname(path) === '' ? undefined : mime.lookup(path) || undefined;
}

/** The extension, without a dot, of files of a media type; undefined for one that is unknown. */
export function extensionOf(mediaType: string): string | undefined {
  return mime.extension(mediaType) || undefined;
}
