/** The flags that several commands share, such as those that decide what stdout carries, and the values of flags. */
import type { ServiceFlags } from '../../config/resolve-setting.js';
import { exclusive, UsageError, unknownName } from '../../errors.js';
import type { ValuePointer } from '../../text/json/pointer.js';
import type { PresentationFlags } from '../../view/presentation.js';

/** The flags of a command that shows runs. */
export interface ShowFlags extends ServiceFlags, PresentationFlags, OutputFlags, DocumentFlags, ReportFlags {
  get?: string;
}

export interface ReportFlags {
  report?: string[];
  /** Other files that a command writes, which may not exist yet. */
  results?: string;
  once?: string;
}

export const OUTPUT_FORMATS = ['text', 'json', 'jsonl', 'id'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface OutputFlags {
  output?: string;
  json?: boolean;
}

/** Returns which of `formats` stdout has. Throws UsageError for any other. */
export function parseFormat<Format extends string>(
  { output, json }: OutputFlags,
  formats: readonly Format[],
): Format {
  const raw = output ?? (json ? 'json' : 'text');
  const format = formats.find((candidate) => candidate === raw);
  if (format === undefined) throw unknownName(`--output ${raw}: `, raw, formats);
  if (json && format !== 'json') throw exclusive('--json', `--output ${format}`);
  return format;
}

/** Returns the pointer of --get; undefined without it. Throws UsageError for an invalid one, or one that cannot be used. */
export function parseGet(
  { get, output: format }: Pick<ShowFlags, 'get' | 'output'>,
  severalRuns: boolean,
): ValuePointer | undefined {
  if (get === undefined) return undefined;
  const pointer = parseValuePointer(get);
  if (severalRuns) throw new UsageError(`--get ${get}: prints a value of one run; pass one id`);
  if (format === 'jsonl' || format === 'id') throw exclusive('--get', `--output ${format}`);
  return pointer;
}

/** Parses a JSON Pointer. Throws UsageError for an invalid one (RFC 6901, section 3); `other` is what else it could be. */
export function parseValuePointer(text: string, other = ''): ValuePointer {
  if (/^(\/([^~]|~[01])*)?$/su.test(text)) {
    const [, ...escaped] = text.split('/');
    return { text, segments: escaped.map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~')) };
  }
  const fix =
    text[0] === '/'
      ? 'write ~1 for / and ~0 for ~'
      : // Other programs begin it with these, or separate names with a point.
        `did you mean ${text.replace(/^[#$]?[./]?|\./g, '/')}?`;
  throw new UsageError(`--get ${JSON.stringify(text)}: is not a JSON Pointer; ${fix}${other}`);
}

/** Parses the value of `--delimiter`: one character, or `tab`. Throws UsageError. */
export function parseDelimiter(raw: string | undefined): string | undefined {
  if (raw === undefined) return undefined;
  if (['tab', '\\t', '\t'].includes(raw)) return '\t';
  if (/^[^"\s\w]$/u.test(raw)) return raw;
  throw new UsageError(`--delimiter ${JSON.stringify(raw)}: expected one character, such as ";", or tab`);
}

/** Returns the number of a flag, in a range with both ends; whole, unless it has another `pattern`. Throws UsageError. */
export function parseNumber(
  flag: string,
  raw: string,
  [min, max]: readonly [number, number],
  noun = 'a whole number',
  pattern = /^\d+$/,
): number {
  const number = Number(raw);
  if (pattern.test(raw) && number >= min && number <= max) return number;
  throw new UsageError(`${flag} ${raw || '""'}: expected ${noun} from ${min} to ${max}`);
}

export interface DocumentFlags {
  saveDocuments?: string;
  saveOutputs?: string;
  force?: boolean;
}
