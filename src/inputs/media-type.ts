/** Maps file names to media types, and media types to file extensions. */
import { extname } from 'node:path';
import mime from 'mime-types';

/** Returns the media type for the extension of a file name, without parameters; undefined if it is unknown. */
export function mediaTypeOf(path: string): string | undefined {
  const extension = extname(path).toLowerCase();
  // mime.lookup would take a file that is called just `pdf` for an extension, and takes a project for a video's manifest.
  return extension === '.mpp' ? 'application/vnd.ms-project' : mime.lookup(extension) || undefined;
}

/** The usual extension where mime-types prefers another, or does not know the media type. */
const PREFERRED_EXTENSIONS: Readonly<Record<string, string>> = {
  'application/x-ndjson': 'ndjson',
  'application/x-yaml': 'yaml',
  'application/yaml': 'yaml',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'image/jpg': 'jpg',
  'text/vcard': 'vcf',
  'video/quicktime': 'mov',
};

/** Returns the file extension for a media type, without a dot; undefined if it is unknown. */
export function extensionOf(mediaType: string): string | undefined {
  return PREFERRED_EXTENSIONS[mediaType] ?? (mime.extension(mediaType) || undefined);
}
