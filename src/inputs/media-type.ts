/** The media type that a file's name tells. */
import mime from 'mime-types';

/** `type/subtype` for a file name's extension, without parameters; undefined where the name does not tell. */
export function mediaTypeOf(path: string): string | undefined {
  return mime.lookup(path) || undefined;
}
