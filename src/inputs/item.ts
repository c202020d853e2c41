/**
 * Parses one input of the command line, or one cell of a table. The separator decides the type, never the value: the
 * first unescaped separator counts, and the longest at that position.
 */

interface RawItem {
  name: string;
  /** The item as the user wrote it, for error messages. */
  raw: string;
}

export type Item = RawItem &
  (
    | { type: 'string'; text: string }
    | { type: 'json'; text: string }
    | { type: 'string-file'; path: string }
    | { type: 'json-file'; path: string }
    | { type: 'document'; path: string; mediaType: string | undefined }
  );

/** An item that does not follow the grammar. The message quotes it and says how to fix it. */
export class ItemError extends Error {
  constructor(raw: string, problem: string) {
    super(`${raw === '' ? '""' : raw}: ${problem}`);
  }
}

const SEPARATORS = [':=@', '=@', ':=', '=', '@'] as const;
type Separator = (typeof SEPARATORS)[number];

/** `type/subtype` without parameters: two restricted names (RFC 6838, section 4.2). */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

/** Returns whether a text is a media type without parameters. */
export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

/** Parses one item of the command line. Throws ItemError, and nothing else. */
export function parseItem(raw: string): Item {
  if (raw.includes('\uFFFD')) {
    throw new ItemError(
      raw,
      'contains bytes that are not UTF-8; put the text into a UTF-8 file and use name=@file',
    );
  }
  if (!raw.isWellFormed()) {
    throw new ItemError(raw, 'contains an unpaired surrogate, which is not valid text');
  }
  const { name, separator, value } = split(raw);
  if (name === '') throw new ItemError(raw, `has no name before "${separator}"`);
  const isText = separator === '=' || separator === ':=';
  return createItem(raw, name, separator, isText ? unescapeValue(value) : value);
}

function createItem(raw: string, name: string, separator: Separator, value: string): Item {
  switch (separator) {
    case '=':
      return { raw, name, type: 'string', text: value };
    case ':=':
      return { raw, name, type: 'json', text: value };
    case '=@':
      return { raw, name, type: 'string-file', path: requirePath(raw, value) };
    case ':=@':
      return { raw, name, type: 'json-file', path: requirePath(raw, value) };
    case '@':
      return { raw, name, type: 'document', ...splitMediaType(raw, value) };
  }
}

/** The header of a table's column: the name of an input, and the separator that its cells follow. */
export interface ColumnHeader {
  /** The header as the user wrote it. */
  text: string;
  name: string;
  separator: Separator;
}

/** Parses the header of a column; a name without a separator means `name=`. Throws ItemError. */
export function parseColumnHeader(text: string): ColumnHeader {
  let parts: ReturnType<typeof split>;
  try {
    parts = split(text);
  } catch {
    parts = split(`${text}=`);
  }
  const { name, separator, value } = parts;
  if (name === '') throw new ItemError(text, 'the column has no name');
  if (value !== '') {
    throw new ItemError(
      text,
      `has text after "${separator}"; name the column ${text.slice(0, -value.length)}`,
    );
  }
  return { text, name, separator };
}

/** Parses a cell, whose text is taken verbatim, whatever it begins with. Throws ItemError. */
export function parseCell({ text, name, separator }: ColumnHeader, cell: string): Item {
  return createItem(`${text}${text.endsWith(separator) ? '' : separator}${cell}`, name, separator, cell);
}

/** Returns the offset of the path in an item, complete or not, that names a file; undefined for any other text. */
export function findPathStart(raw: string): number | undefined {
  try {
    const { separator, value } = split(raw);
    return separator.endsWith('@') ? raw.length - value.length : undefined;
  } catch (error) {
    if (error instanceof ItemError) return undefined;
    throw error;
  }
}

function split(raw: string): { name: string; separator: Separator; value: string } {
  let name = '';
  for (let index = 0; index < raw.length; index++) {
    const character = raw.charAt(index);
    if (character === '\\' && '=:@\\'.includes(raw.charAt(index + 1) || ' ')) {
      name += raw.charAt(++index);
      continue;
    }
    const separator = SEPARATORS.find((candidate) => raw.startsWith(candidate, index));
    if (separator !== undefined) return { name, separator, value: raw.slice(index + separator.length) };
    name += character;
  }
  throw new ItemError(
    raw,
    'is not an input; use name=text, name:=json, name@document, name=@textfile or name:=@jsonfile',
  );
}

function unescapeValue(value: string): string {
  return value.startsWith('\\@') ? value.slice(1) : value;
}

function requirePath(raw: string, path: string): string {
  if (path === '') throw new ItemError(raw, 'has no path after "@"');
  return path;
}

function splitMediaType(raw: string, value: string): { path: string; mediaType: string | undefined } {
  const start = value.lastIndexOf(';type=');
  if (start < 0) return { path: requirePath(raw, value), mediaType: undefined };
  const mediaType = value.slice(start + ';type='.length);
  if (!isMediaType(mediaType)) {
    throw new ItemError(
      raw,
      `"${mediaType}" is not a media type; use ;type=type/subtype, without parameters`,
    );
  }
  return { path: requirePath(raw, value.slice(0, start)), mediaType };
}
