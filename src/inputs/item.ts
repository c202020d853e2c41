/**
 * The grammar of one input on the command line. The separator decides the type, never the value; the first one that
 * is not escaped counts, the longest at its place first.
 */

interface Written {
  name: string;
  /** The item as the user wrote it, for complaints. */
  item: string;
}

export type Item = Written &
  (
    | { type: 'string'; text: string }
    | { type: 'json'; text: string }
    | { type: 'string-file'; path: string }
    | { type: 'json-file'; path: string }
    | { type: 'document'; path: string; mediaType: string | undefined }
  );

/** An item that does not follow the grammar. The message names it as written and says how to mend it. */
export class ItemError extends Error {
  constructor(item: string, complaint: string) {
    super(`${item === '' ? '""' : item}: ${complaint}`);
  }
}

const SEPARATORS = [':=@', '=@', ':=', '=', '@'] as const;
type Separator = (typeof SEPARATORS)[number];

/** `type/subtype` without parameters: two restricted names (RFC 6838, section 4.2). */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

/** Whether a text is a media type without parameters. */
export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

/** Parses one item as the user wrote it. Throws ItemError, and nothing else. */
export function parseItem(item: string): Item {
  if (item.includes('\uFFFD')) {
    throw new ItemError(
      item,
      'holds bytes that are not UTF-8; put the text into a UTF-8 file and write name=@file',
    );
  }
  if (!item.isWellFormed()) {
    throw new ItemError(item, 'holds half of a surrogate pair, which is no text');
  }
  const { name, separator, value } = split(item);
  if (name === '') throw new ItemError(item, `has no name before "${separator}"`);
  const isText = separator === '=' || separator === ':=';
  return itemOf(item, name, separator, isText ? unescapeValue(value) : value);
}

function itemOf(item: string, name: string, separator: Separator, value: string): Item {
  switch (separator) {
    case '=':
      return { item, name, type: 'string', text: value };
    case ':=':
      return { item, name, type: 'json', text: value };
    case '=@':
      return { item, name, type: 'string-file', path: requirePath(item, value) };
    case ':=@':
      return { item, name, type: 'json-file', path: requirePath(item, value) };
    case '@':
      return { item, name, type: 'document', ...splitMediaType(item, value) };
  }
}

/** What the head of a column says: the name of an input and how its cells are written. Throws ItemError. */
export interface ItemHead {
  head: string;
  name: string;
  separator: Separator;
}

/** Parses the head of a column: a name, and the separator of an item; a name alone stands for text. */
export function parseItemHead(head: string): ItemHead {
  let parts: ReturnType<typeof split>;
  try {
    parts = split(head);
  } catch {
    parts = split(`${head}=`);
  }
  const { name, separator, value } = parts;
  if (name === '') throw new ItemError(head, 'is a column without a name');
  if (value !== '') {
    throw new ItemError(
      head,
      `has text behind "${separator}"; name the column ${head.slice(0, -value.length)}`,
    );
  }
  return { head, name, separator };
}

/** The item that a cell stands for: its text is taken as it is, whatever it begins with. Throws ItemError. */
export function itemOfCell({ head, name, separator }: ItemHead, cell: string): Item {
  return itemOf(`${head}${head.endsWith(separator) ? '' : separator}${cell}`, name, separator, cell);
}

/** Where the path begins in an item that names a file, also one that is not yet written; else undefined. */
export function startOfPath(item: string): number | undefined {
  try {
    const { separator, value } = split(item);
    return separator.endsWith('@') ? item.length - value.length : undefined;
  } catch (error) {
    if (error instanceof ItemError) return undefined;
    throw error;
  }
}

function split(item: string): { name: string; separator: Separator; value: string } {
  let name = '';
  for (let at = 0; at < item.length; at++) {
    const character = item.charAt(at);
    if (character === '\\' && '=:@\\'.includes(item.charAt(at + 1) || ' ')) {
      name += item.charAt(++at);
      continue;
    }
    const separator = SEPARATORS.find((candidate) => item.startsWith(candidate, at));
    if (separator !== undefined) return { name, separator, value: item.slice(at + separator.length) };
    name += character;
  }
  throw new ItemError(
    item,
    'is not an input; write name=text, name:=json, name@document, name=@textfile or name:=@jsonfile',
  );
}

function unescapeValue(value: string): string {
  return value.startsWith('\\@') ? value.slice(1) : value;
}

function requirePath(item: string, path: string): string {
  if (path === '') throw new ItemError(item, 'names no file after "@"');
  return path;
}

function splitMediaType(item: string, value: string): { path: string; mediaType: string | undefined } {
  const at = value.lastIndexOf(';type=');
  if (at < 0) return { path: requirePath(item, value), mediaType: undefined };
  const mediaType = value.slice(at + ';type='.length);
  if (!isMediaType(mediaType)) {
    throw new ItemError(
      item,
      `"${mediaType}" is not a media type; write ;type=type/subtype, without parameters`,
    );
  }
  return { path: requirePath(item, value.slice(0, at)), mediaType };
}
