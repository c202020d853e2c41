/**
 * Parses one input of the command line, or one cell of a table. The separator decides the type, never the value: the
 * first unescaped separator counts, and the longest at that position. A separator that begins with @ reads a file.
 * Also finds the words of a command line that are not inputs, such as those of `invoice scan.pdf` and `customer = ACME`.
 */
import { UsageError } from '../errors.js';
import type { Parameter, Parameters, ParameterType } from '../parameters/declaration.js';
import { isFile } from '../platform/files.js';
import { listFirst } from '../text/quantity.js';
import { shellCommand } from '../text/shell-quote.js';
import type { FileKind } from './file-digests.js';

interface RawItem {
  name: string;
  /** The item as the user wrote it, for error messages. */
  raw: string;
}

/** A file whose content is a part of an input: a document, a text, or JSON. */
export interface FileSegment {
  kind: FileKind;
  path: string;
  mediaType?: string | undefined;
}

/** The `column` of a document is the header of its cell, which gives the media type. */
export type Item = RawItem &
  ({ type: 'string' | 'json'; text: string } | ({ type: 'file'; column?: string } & FileSegment));

/** An item that does not follow the grammar. The message quotes it and says how to fix it. */
export class ItemError extends UsageError {
  constructor(raw: string, problem: string) {
    super([`${raw === '' ? '""' : raw}: ${problem}`]);
  }
}

/** The forms of an input, for messages. */
const INPUT_SYNTAX = 'name=text, name:=json, name@document, name@=textfile or name@:=jsonfile';

const SEPARATORS = ['@:=', '@=', ':=', '=', '@'] as const;
type Separator = (typeof SEPARATORS)[number];

/** What the media type of a document follows. */
const TYPE_SUFFIX = ';type=';

/** A restricted name (RFC 6838, section 4.2). */
const NAME = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}';
/** A parameter (RFC 9110, section 5.6.6), but without a comma, which would end the head of a data URI. */
const PARAMETER =
  ' *; *([\\w!#$%&\'*+.^`|~-]+=(?:[\\w!#$%&\'*+.^`|~-]+|"(?:[ !#-+\\--[\\]-~]|\\\\[ -+\\--~])*"))';
const MEDIA_TYPE = new RegExp(`^(${NAME}/${NAME})((?:${PARAMETER})*)$`, 'i');
/** Characters; with more, the head of a data URI would not be taken for one. */
const MAX_MEDIA_TYPE = 255;

/** Returns a media type without optional white space; undefined for any other text. */
export function normalizeMediaType(text: string): string | undefined {
  const [, name, parameters] = (text.length <= MAX_MEDIA_TYPE && MEDIA_TYPE.exec(text)) || [];
  const each = parameters?.matchAll(new RegExp(PARAMETER, 'g')) ?? [];
  return name && [name, ...Array.from(each, ([, parameter]) => parameter)].join(';');
}

/** Returns where `;type=` and the media type of a document begin; -1 without one. A path may contain others. */
function findType(value: string): number {
  for (let start = value.indexOf(TYPE_SUFFIX); start >= 0; start = value.indexOf(TYPE_SUFFIX, start + 1))
    if (normalizeMediaType(value.slice(start + TYPE_SUFFIX.length)) !== undefined) return start;
  return value.lastIndexOf(TYPE_SUFFIX);
}

/** Parses one item of the command line. Throws ItemError, and nothing else. */
export function parseItem(raw: string): Item {
  const parts = split(raw);
  if (parts === undefined) throw new ItemError(raw, `is not an input; use ${INPUT_SYNTAX}`);
  if (raw.includes('\uFFFD')) {
    throw new ItemError(
      raw,
      'contains bytes that are not UTF-8; put the text into a UTF-8 file and use name@=file',
    );
  }
  if (!raw.isWellFormed()) {
    throw new ItemError(raw, 'contains an unpaired surrogate, which is not valid text');
  }
  const { name, separator, value } = parts;
  if (name === '') throw new ItemError(raw, `has no name before "${separator}"`);
  // JSON never begins with @.
  if (separator === ':=' && value.startsWith('@') && isPlainPath(value.slice(1))) {
    const fix = shellCommand([`${escapeName(name)}@:=${value.slice(1)}`]);
    throw new ItemError(raw, `not JSON; to read JSON from a file, write ${fix}`);
  }
  if (separator !== '@') return createItem(raw, name, separator, value);
  const { rest, mediaType } = splitMediaType(raw, value);
  return { raw, name, type: 'file', kind: 'document', path: requirePath(raw, separator, rest), mediaType };
}

/**
 * Returns whether a path leads nowhere but into the working folder. A message suggests to read no other file: the value
 * may be from somebody else.
 */
export function isPlainPath(path: string): boolean {
  return path !== '' && !/^[/~]|^[a-z]:|\\/i.test(path) && !path.split('/').includes('..');
}

/** Returns a name as it is written in an item: with a backslash before every `=`, `:`, `@` and `\\`. */
export function escapeName(name: string): string {
  return name.replace(/[=:@\\]/g, '\\$&');
}

function createItem(raw: string, name: string, separator: Exclude<Separator, '@'>, value: string): Item {
  if (separator === '=' || separator === ':=')
    return { raw, name, type: separator === '=' ? 'string' : 'json', text: value };
  const kind = separator === '@=' ? 'text' : 'json';
  return { raw, name, type: 'file', kind, path: requirePath(raw, separator, value) };
}

/** The header of a table's column: the name of an input, and the separator that its cells follow. */
export interface ColumnHeader {
  /** The header as the user wrote it. */
  text: string;
  name: string;
  separator: Separator;
  /** The media type of the documents in the column, if the header gives it. */
  mediaType: string | undefined;
}

/** Parses the header of a column; a name without a separator means `name=`. Throws ItemError. */
export function parseColumnHeader(text: string): ColumnHeader {
  const parts = split(text) ?? split(`${text}=`);
  if (!parts?.name) throw new ItemError(text, 'the column has no name');
  const { name, separator, value } = parts;
  const { rest, mediaType } =
    separator === '@' ? splitMediaType(text, value) : { rest: value, mediaType: undefined };
  if (rest !== '') throw new ItemError(text, describeHeaderText(text, separator, value, rest));
  return { text, name, separator, mediaType };
}

/** Describes a header with text after its separator; `note=@` is how other tools name a column of files. */
function describeHeaderText(text: string, separator: Separator, value: string, rest: string): string {
  const head = text.slice(0, text.length - value.length);
  const problem = `has text after "${separator}"`;
  if (rest !== '@') return `${problem}; name the column ${head}${value.slice(rest.length)}`;
  const name = head.slice(0, -separator.length);
  return `${problem}; to read the files in its cells, name the column ${name}@${separator}`;
}

/** Parses a cell, whose text is taken verbatim, whatever it contains. Throws ItemError. */
export function parseCell({ text, name, separator, mediaType }: ColumnHeader, cell: string): Item {
  const raw = `${escapeName(name)}${separator}${cell}`;
  if (separator !== '@') return createItem(raw, name, separator, cell);
  const path = requirePath(raw, separator, cell);
  return { raw, name, type: 'file', kind: 'document', path, mediaType, column: text };
}

/** Returns the name in an item, complete or not; undefined for a text without a separator. */
export function findName(raw: string): string | undefined {
  return split(raw)?.name;
}

/** Returns the offset of the path in an item, complete or not, that names a file; undefined for any other text. */
export function findPathStart(raw: string): number | undefined {
  const { separator = '', value = '' } = split(raw) ?? {};
  return separator.startsWith('@') ? raw.length - value.length : undefined;
}

/** Returns undefined for a text without a separator. */
function split(raw: string): { name: string; separator: Separator; value: string } | undefined {
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
  return undefined;
}

function requirePath(raw: string, separator: Separator, path: string): string {
  if (path === '') throw new ItemError(raw, `has no path after "${separator}"`);
  return path;
}

/** Splits `;type=…` from what precedes it. Throws ItemError. */
function splitMediaType(raw: string, value: string): { rest: string; mediaType: string | undefined } {
  const start = findType(value);
  if (start < 0) return { rest: value, mediaType: undefined };
  const text = value.slice(start + TYPE_SUFFIX.length);
  const mediaType = normalizeMediaType(text);
  if (mediaType === undefined)
    throw new ItemError(raw, `"${text}" is not a media type; use ;type=type/subtype`);
  return { rest: value.slice(0, start), mediaType };
}

/** An example of each type: the separator, and a value. */
const EXAMPLES: Readonly<Record<ParameterType, readonly [separator: string, value: string]>> = {
  string: ['=', 'text'],
  document: ['@', 'document.pdf'],
  number: [':=', '1'],
  boolean: [':=', 'true'],
  object: [':=', '{}'],
  array: [':=', '[]'],
};

/** Returns the name of a parameter with the separator of its type, such as `invoice@`. */
export function itemStart({ name, type }: Pick<Parameter, 'name' | 'type'>): string {
  return escapeName(name) + EXAMPLES[type][0];
}

/** Returns an item with an example value. */
export function exampleItem(parameter: Parameter): string {
  return itemStart(parameter) + EXAMPLES[parameter.type][1];
}

/** Returns the command line that runs a workflow with an example of each required parameter. */
export function exampleCommand(workflow: string, parameters: Parameters): string {
  return shellCommand(['wfr', 'run', workflow, ...exampleItems(parameters, false)]);
}

/** Returns examples of the optional parameters, to add to the command line; undefined if there are none. */
export function optionalItems(parameters: Parameters): string | undefined {
  const items = exampleItems(parameters, true);
  return items.length === 0 ? undefined : shellCommand(items);
}

function exampleItems(parameters: Parameters, isOptional: boolean): string[] {
  return [...parameters.values()].filter((one) => one.isOptional === isOptional).map(exampleItem);
}

/** Words that are listed at most. */
const MAX_LISTED = 10;

/** Returns the words that are inputs, valid or not, and what is wrong with the others. */
export async function findLooseWords(
  words: readonly string[],
  cwd: string,
): Promise<{ items: string[]; problems: string[] }> {
  const items: string[] = [];
  const loose: string[] = [];
  const problems: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const [word = '', ...next] = words.slice(index, index + 3);
    if (split(word) !== undefined) {
      items.push(word);
      continue;
    }
    const meant = await findMeant(word, next, cwd);
    if (meant === undefined) {
      loose.push(word);
      continue;
    }
    const rest = next.slice(0, meant.taken);
    problems.push(`${[word, ...rest].join(' ')}: is not an input; did you mean ${meant.item}?`);
    index += meant.taken;
  }
  return { items, problems: [...problems, ...describeLoose(loose)] };
}

/** Returns the input that a word may stand for together with the next ones, and how many of these it takes. */
async function findMeant(name: string, [next = '', value]: readonly string[], cwd: string) {
  if (name === '') return undefined;
  const input = (rest: string) => shellCommand([escapeName(name) + rest]);
  if (
    SEPARATORS.some((one) => one === next) &&
    value !== undefined &&
    (!next.startsWith('@') || isPlainPath(value))
  )
    return { item: input(next + value), taken: 2 };
  if (split(next) === undefined && isPlainPath(next) && (await isFile(next, cwd)))
    return { item: input(`@${next}`), taken: 1 };
  return undefined;
}

function describeLoose(words: readonly string[]): string[] {
  if (words.length === 0) return [];
  const named = words.map((word) => word || '""');
  const listed = listFirst(named, MAX_LISTED).join(' ');
  return [`${listed}: ${words.length === 1 ? 'is not an input' : 'are not inputs'}; use ${INPUT_SYNTAX}`];
}

/** Returns a warning for each text that is `@` and the path of a file. */
export async function findFileLikeTexts(items: readonly Item[], cwd: string): Promise<string[]> {
  const warnings: string[] = [];
  for (const item of items) {
    if (item.type !== 'string' || !item.text.startsWith('@')) continue;
    const path = item.text.slice(1);
    if (!isPlainPath(path) || !(await isFile(path, cwd))) continue;
    const fix = shellCommand([`${escapeName(item.name)}@=${path}`]);
    warnings.push(`${item.raw}: sends the text "@${path}"; to send the text of the file, write ${fix}`);
  }
  return warnings;
}
