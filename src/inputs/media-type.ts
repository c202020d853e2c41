/** The media type that a file's name tells. */
import { extname } from 'node:path';
import mime from 'mime-types';

/** `type/subtype` for a file name's extension, without parameters; undefined where the name does not tell. */
export function mediaTypeOf(path: string): string | undefined {
  // mime.lookup takes a bare `pdf` for an extension; as a file's name, it tells nothing.
  return extname(path) === '' ? undefined : mime.lookup(path) || undefined;
}
