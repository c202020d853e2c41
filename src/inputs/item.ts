/**
 * Parses one input of the command line, or one cell of a table. The separator decides the type, never the value: the
 * first unescaped separator counts, and the longest at that position. A separator that begins with @ reads a file.
 */
import { join } from 'node:path';
import { InputError, throwUnless } from '../errors.js';
import {
  type Parameter,
  type Parameters,
  type ParameterType,
  RESTRICTED_NAME,
} from '../parameters/declaration.js';
import { isFile } from '../platform/files.js';
import { parseJson } from '../text/json/json-file.js';
import { listFirst } from '../text/quantity.js';
import { shellCommand } from '../text/shell-quote.js';
import { isUuid } from '../text/url.js';

/** Matches a separator, the longest at its position, or an escape. */
const SEPARATOR_OR_ESCAPE = /\\[=:@\\]|@:=|[:@]?=|@/g;

/** An input as the user gave it, with nothing read yet. */
export interface Item {
  name: string;
  /** The whole item as it was written, for messages. */
  raw: string;
  separator: '@:=' | '@=' | ':=' | '=' | '@';
  /** What follows the separator: a text, or the path of a file. */
  value: string;
  /** That of a document, if it was given. */
  mediaType?: string | undefined;
}

/** Returns the error of an item or a header that does not follow the grammar, which it quotes. */
function invalidItem(raw: string, problem: string): InputError {
  return new InputError(`${raw || '""'}: ${problem}`);
}

/** What the media type of a document follows. */
const TYPE_SUFFIX = ';type=';

/** A parameter (RFC 9110, section 5.6.6), but without a comma, which would end the head of a data URI. */
const PARAMETER =
  ' *; *([\\w!#$%&\'*+.^`|~-]+=(?:[\\w!#$%&\'*+.^`|~-]+|"(?:[ !#-+\\--[\\]-~]|\\\\[ -+\\--~])*"))';
const MEDIA_TYPE = new RegExp(`^${RESTRICTED_NAME}/${RESTRICTED_NAME}(?:${PARAMETER})*$`);
/** Characters; with more, the head of a data URI would not be taken for one. */
const MAX_MEDIA_TYPE = 255;

/** Returns a media type without optional white space; undefined for any other text. */
export function normalizeMediaType(text: string): string | undefined {
  const isMediaType = text.length <= MAX_MEDIA_TYPE && MEDIA_TYPE.test(text);
  return isMediaType ? text.replace(new RegExp(PARAMETER, 'g'), ';$1') : undefined;
}

/** Splits an item, complete or not, at its separator; returns undefined for a text without one. */
export function splitItem(raw: string): Pick<Item, 'name' | 'separator' | 'value'> | undefined {
  for (const { 0: found, index } of raw.matchAll(SEPARATOR_OR_ESCAPE)) {
    if (found.startsWith('\\')) continue;
    const name = raw.slice(0, index).replace(/\\([=:@\\])/g, '$1');
    return { name, separator: found as Item['separator'], value: raw.slice(index + found.length) };
  }
  return undefined;
}

/** Splits `;type=…` from the path before it, which may contain others. Throws InputError. */
function splitMediaType(item: Item): Item {
  const { raw, separator, value } = item;
  if (separator !== '@' || !value.includes(TYPE_SUFFIX)) return item;
  const parts = value.split(TYPE_SUFFIX);
  for (let end = 1; end < parts.length; end++) {
    const mediaType = normalizeMediaType(parts.slice(end).join(TYPE_SUFFIX));
    if (mediaType !== undefined) return { ...item, value: parts.slice(0, end).join(TYPE_SUFFIX), mediaType };
  }
  throw invalidItem(raw, `"${parts.at(-1)}" is not a media type; use ;type=type/subtype`);
}

const NOT_AN_INPUT = 'not an input such as name=text or name@document; see wfr help inputs';
/** Words that are listed at most. */
const MAX_LISTED = 10;

/**
 * Parses the items of a command line. Also returns what is wrong with the others, and the names that they have; a word may be
 * the name of a parameter.
 */
export function parseItems(raws: readonly string[], parameters?: Parameters) {
  const items = new Map<string, Item>();
  const problems: string[] = [];
  const words: string[] = [];
  const invalidNames: string[] = [];
  for (const raw of raws) {
    const parts = splitItem(raw);
    if (!parts) {
      const parameter = parameters?.get(raw);
      if (!parameter) words.push(raw || '""');
      else {
        problems.push(describeWord(raw, shellCommand([exampleItem(parameter)])));
        invalidNames.push(raw);
      }
      continue;
    }
    const { name, separator } = parts;
    const earlier = items.get(name);
    try {
      if (earlier) throw invalidItem(raw, `duplicate input "${name}"; remove it or ${earlier.raw}`);
      if (raw.includes('\uFFFD') || !raw.isWellFormed())
        throw invalidItem(raw, 'contains bytes that are not UTF-8; use name@=file with a UTF-8 file');
      if (name === '') throw invalidItem(raw, `has no name before "${separator}"`);
      const item = splitMediaType({ ...parts, raw });
      if (separator.startsWith('@') && item.value === '')
        throw invalidItem(raw, `has no path after "${separator}"`);
      items.set(name, item);
    } catch (error) {
      throwUnless(error, InputError);
      problems.push(error.message);
      if (name) invalidNames.push(name);
    }
  }
  const [word = ''] = words;
  if (words.length === 1 && /^\w[\w-]*$/.test(word) && !isUuid(word))
    problems.unshift(describeWord(word, `${word}=text, ${word}@file or ${word}:=json`));
  else if (words.length > 0) problems.unshift(`${listFirst(words, MAX_LISTED)}: ${NOT_AN_INPUT}`);
  return { items: [...items.values()], problems, invalidNames };
}

/** Returns the problem with a word that may be the name of an input, which could be written in these `forms`. */
function describeWord(name: string, forms: string): string {
  return `${name}: has no value; write ${forms}`;
}

/**
 * Matches a path that may lead out of the working folder. A message suggests to read no such file: the value may be from
 * somebody else.
 */
const LEADS_OUT = /^[/~]|^[a-z]:|\\|(^|\/)\.\.(\/|$)/i;

/** Returns a name as it is written in an item: with a backslash before every `=`, `:`, `@` and `\\`. */
export function escapeName(name: string): string {
  return name.replace(/[=:@\\]/g, '\\$&');
}

/**
 * Parses the header of a column: an item without a value, which its cells have. A name without a separator means `name=`.
 * Throws InputError.
 */
export function parseColumnHeader(raw: string): Item {
  const parts = splitItem(raw) ?? splitItem(`${raw}=`);
  if (!parts?.name) throw invalidItem(raw, 'the column has no name');
  const header = splitMediaType({ ...parts, raw });
  const start = raw.slice(0, raw.length - parts.value.length);
  if (header.value === '') return header;
  throw invalidItem(raw, `has text after "${header.separator}"; name the column ${start}`);
}

/** Returns the item of a cell, whose text is taken verbatim, whatever it contains. */
export function itemOfCell(header: Item, value: string): Item {
  return { ...header, raw: escapeName(header.name) + header.separator + value, value };
}

/** An example of each type: the separator, and a value; that of a document may be chosen. */
const EXAMPLES: Readonly<Record<ParameterType, readonly [separator: string, value?: string]>> = {
  string: ['=', 'text'],
  document: ['@'],
  number: [':=', '1'],
  boolean: [':=', 'true'],
  object: [':=', '{}'],
  array: [':=', '[]'],
};

/** Returns the name of a parameter with the separator of its type, such as `invoice@`. */
export function itemStart({ name, type }: Pick<Parameter, 'name' | 'type'>): string {
  return escapeName(name) + EXAMPLES[type][0];
}

/** Returns an item with an example value; `document` is the path of a document. */
export function exampleItem(parameter: Parameter, document = 'scan.pdf'): string {
  return itemStart(parameter) + (EXAMPLES[parameter.type][1] ?? document);
}

/** Returns examples of the required or optional parameters, as a command line has them; empty if there are none. */
export function exampleItems(parameters: Parameters, isOptional: boolean, document?: string): string {
  const shown = [...parameters.values()].filter((one) => one.isOptional === isOptional);
  return shellCommand(shown.map((parameter) => exampleItem(parameter, document)));
}

/**
 * Returns what texts may stand for: a warning for each that is `@` and the path of a file, and unless `areDeclared`, by name a
 * hint for each that is a path, a number or a boolean, and for each value that is JSON.
 */
export async function describeTexts(items: readonly Item[], cwd: string, areDeclared: boolean) {
  const warnings: string[] = [];
  const hints = new Map<string, string>();
  for (const { name, raw, separator, value } of items) {
    const path = value.replace(/^@/, '');
    const type = typeof parseJson(value);
    const use = (mark: string, end = '') => shellCommand([escapeName(name) + mark + end]);
    if (separator === ':=') hints.set(name, `${name}: sent as JSON; for a text write ${use('=', 'text')}`);
    if (separator !== '=') continue;
    if (!LEADS_OUT.test(path) && (await isFile(join(cwd, path)))) {
      const fixes = `${areDeclared ? '' : `${use('@', path)}, or `}${use('@=', path)}`;
      const text = `${raw}: sends the text "${value}", not the file; write ${fixes} for its text`;
      if (path === value) hints.set(name, text);
      else warnings.push(text);
    } else if (/number|boolean/.test(type))
      hints.set(name, `${name}: sent as a text; for a ${type} write ${use(':=', type)}`);
  }
  return { warnings, hints: areDeclared ? undefined : hints };
}
