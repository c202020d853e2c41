/** The words for a value that the schema does not allow: what is wrong with it, and how to mend it. */
import schema from '../../config.schema.json' with { type: 'json' };
import { segmentsOf } from '../text/json/positions.js';

/** What the validator found. */
export interface Mistake {
  keyword: string;
  pointer: string;
  /** Whether it is about the name of a member, not about its value. */
  isName: boolean;
  /** Whether it is a setting that needs another one. */
  missingDependency: boolean;
}

/** As much of the schema as this file uses. */
interface Node {
  title?: string;
  examples?: readonly unknown[];
  properties?: Readonly<Record<string, Node>>;
  additionalProperties?: boolean | Node;
  propertyNames?: Node;
  items?: Node;
}

const SECRET =
  /token(?!file|command)|passw|passphrase|^pass$|pwd|secret|(api|access|private)key|credential|^auth|bearer/;
const SECRET_REASON =
  'holds a secret, and this file is no place for one; keep it in a file of its own and name that in "tokenFile",' +
  ' or let "tokenCommand" print it';

/** Settings whose value may hold a secret by mistake. */
const UNSHOWN = new Set(['baseUrl', 'tokenFile', 'tokenCommand']);

/** What is wrong, and how to mend it, of a value in `content`. No secret is in it. */
export function describeMistake(
  { keyword, pointer, isName, missingDependency }: Mistake,
  content: unknown,
): string {
  const path = segmentsOf(pointer);
  const name = path.at(-1) ?? '';
  const node = nodeAt(path);
  if (missingDependency) return `${quote(name)} holds for one service alone; write its "baseUrl" beside it`;
  if (keyword === 'false' && node !== undefined) {
    return `${quote(name)} and "tokenCommand" exclude each other; remove one`;
  }
  if (keyword === 'false') return describeUnknown(path, valueAt(path, content));
  if (isName) {
    const names = nodeAt(path.slice(0, -1))?.propertyNames;
    return `${quote(name)} is not ${names?.title}; write one such as ${example(names)}`;
  }
  const isElement = Array.isArray(valueAt(path.slice(0, -1), content));
  const setting = (isElement ? path.at(-2) : path.at(-1)) ?? '';
  const mend = `write ${isElement || setting === '' ? '' : `${quote(setting)}: `}${example(node)}`;
  const label = setting === '' ? 'the file' : quote(setting);
  const value = valueAt(path, content);
  if (keyword === 'type') return `${label} holds ${kindOf(value)} and should hold ${node?.title}; ${mend}`;
  const mayBeSecret = UNSHOWN.has(setting) || SECRET.test(plainName(setting));
  if (keyword === 'pattern' && value !== '' && mayBeSecret) return `${label} ${SECRET_REASON}`;
  const shown = mayBeSecret ? label : `${label}: ${quote(value)}`;
  return `${shown} is not ${node?.title}; ${mend}`;
}

function describeUnknown(path: readonly string[], value: unknown): string {
  const name = path.at(-1) ?? '';
  const plain = plainName(name);
  const holdsHeader = /^headers?$/.test(plain) && /authorization/i.test(JSON.stringify(value));
  if (SECRET.test(plain) || holdsHeader) return `${quote(name)} ${SECRET_REASON}`;
  const known = Object.keys(nodeAt(path.slice(0, -1))?.properties ?? {});
  const similar = known.find((other) => isSimilar(plainName(other), plain));
  if (similar !== undefined) return `unknown setting ${quote(name)}; did you mean ${quote(similar)}?`;
  if (path.length === 1 && nodeAt(['profiles', '', name]) !== undefined) {
    return `${quote(name)} belongs into a profile; write {"profiles": {"<name>": {${quote(name)}: ...}}}`;
  }
  return `unknown setting ${quote(name)}; ${listed(known)}`;
}

/** `there are a, b, c`, or that there is none. */
export function listed(names: readonly string[]): string {
  return names.length === 0
    ? 'there is none'
    : `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`;
}

/** Where in the schema a value is spoken of; undefined where it is not. */
function nodeAt(path: readonly string[]): Node | undefined {
  return path.reduce((node: Node | undefined, segment) => {
    if (node?.items !== undefined) return node.items;
    if (node?.properties !== undefined && Object.hasOwn(node.properties, segment))
      return node.properties[segment];
    return typeof node?.additionalProperties === 'object' ? node.additionalProperties : undefined;
  }, schema as Node);
}

function valueAt(path: readonly string[], content: unknown): unknown {
  return path.reduce((value, segment) => (value as Record<string, unknown>)[segment], content);
}

function isSimilar(a: string, b: string): boolean {
  return b.length > 3 && (a.startsWith(b) || b.startsWith(a));
}

const plainName = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '');

const quote = (value: unknown) => JSON.stringify(value);

const example = (node: Node | undefined) => quote(node?.examples?.[0]);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  const kinds: Readonly<Record<string, string>> = { string: 'text', number: 'a number', object: 'an object' };
  return kinds[typeof value] ?? String(value);
}
