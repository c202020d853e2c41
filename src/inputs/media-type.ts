/** The media type that a file's name tells, and the other way round. */
import { extname } from 'node:path';
import mime from 'mime-types';

/** `type/subtype` for a file name's extension, without parameters; undefined where the name does not tell. */
export function mediaTypeOf(path: string): string | undefined {
  // mime.lookup takes a bare `pdf` for an extension; as a file's name, it tells nothing.
  return extname(path) === '' ? undefined : mime.lookup(path) || undefined;
}

/** What people use, where mime-types' first choice is another, or where a service's own spelling is unknown to it. */
const PREFERRED_EXTENSIONS: Readonly<Record<string, string>> = {
  'application/csv': 'csv',
  'application/postscript': 'ps',
  'application/x-gzip': 'gz',
  'application/x-ndjson': 'ndjson',
  'application/x-pdf': 'pdf',
  'application/x-yaml': 'yaml',
  'application/yaml': 'yaml',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/vnd.wave': 'wav',
  'image/jpg': 'jpg',
  'image/pjpeg': 'jpg',
  'text/vcard': 'vcf',
  'text/x-markdown': 'md',
  'video/quicktime': 'mov',
};

/** The extension, without a dot, of files of a media type; undefined for one that is unknown. */
export function extensionOf(mediaType: string): string | undefined {
  return PREFERRED_EXTENSIONS[mediaType] ?? (mime.extension(mediaType) || undefined);
}
