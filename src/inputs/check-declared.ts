/** Compares inputs with the parameters that a profile declares, and says how to correct what the user wrote. */

import type { Mismatch, Parameters, ParameterType } from '../parameters/declaration.js';
import { checkInputs, type InputKind, kindOfString, parseDataUriHead } from '../parameters/declaration.js';
import type { Part } from '../service/body.js';
import { typeOf } from '../text/json/check-schema.js';
import { parseJson } from '../text/json/json-file.js';
import { decodeString } from '../text/json/members.js';
import { jsonTypeOf } from '../text/json/pointer.js';
import { shellCommand } from '../text/shell-quote.js';
import { latin1 } from '../text/utf8.js';
import { exampleItem, exampleItems, type Item, itemStart } from './item.js';

/** A workflow whose parameters are declared. */
export interface DeclaredWorkflow {
  /** As the user wrote it. */
  workflow: string;
  parameters: Parameters;
}

/** An input as the user gave it. */
export interface GivenInput {
  /** What the user wrote, or where, for messages. */
  label: string;
  item?: Item;
  /** Whether the item is a cell of a table, whose column decides its type. */
  isCell?: boolean;
  /** Undefined if the value could not be read. */
  parts?: readonly Part[] | undefined;
  /** Known without a value, of a column. */
  kind?: InputKind | undefined;
}

/** The columns of a table. */
export interface Columns {
  /** Where they are, for messages. */
  label: string;
  /** Items without values. */
  headers: readonly Item[];
}

/**
 * Returns a message for each input that does not match, and for each that is missing unless others may follow; the notes say
 * what the workflow takes.
 */
export function checkDeclared(
  { workflow, parameters }: DeclaredWorkflow,
  inputs: ReadonlyMap<string, GivenInput>,
  /** Begins a message about a missing input. */
  subject: string,
  isComplete: boolean,
): { problems: readonly string[]; notes: readonly string[] } {
  const kinds = new Map<string, InputKind | undefined>();
  for (const [name, { parts, kind }] of inputs)
    kinds.set(name, parts ? kindOf(parts, parameters.get(name)?.type) : kind);
  const mismatches = checkInputs(parameters, kinds).filter(({ isMissing }) => isComplete || !isMissing);
  const problems = mismatches.map((mismatch) => {
    const given = inputs.get(mismatch.name);
    const label = given ? `${given.label}: ` : subject;
    const { message, mistyped } = mismatch;
    const fix = mistyped && given && describeFix(given, mistyped);
    return label + message + (fix ? `; ${fix}` : '');
  });
  const isMissing = mismatches.some(({ isMissing }) => isMissing);
  if (!isMissing) return { problems, notes: [] };
  const optional = exampleItems(parameters, true);
  const notes = [
    `${workflow} takes: ${exampleItems(parameters, false)}`,
    ...(optional === '' ? [] : [`optional: ${optional}`]),
  ];
  return { problems, notes };
}

/** Returns the columns of a table as inputs, by their names, with what their separators say about all cells. */
export function columnInputs({ label, headers }: Columns, parameters: Parameters): [string, GivenInput][] {
  return headers.map(({ raw, name, separator, mediaType }) => {
    // The type of JSON is unknown, and a text may be the data URI of a document.
    const isOpen = separator.endsWith(':=') || parameters.get(name)?.type === 'document';
    const ofText: InputKind | undefined = isOpen ? undefined : { type: 'string' };
    const kind = separator === '@' ? ({ type: 'document', mediaType } as const) : ofText;
    return [name, raw === '' ? { kind, label } : { kind, label: `${label}: ${raw}`, isCell: true }];
  });
}

/** Characters of a value that is part of a suggestion. */
const MAX_QUOTED = 100;

/** Says what to write instead. */
function describeFix(
  { item, isCell }: GivenInput,
  { parameter, found }: NonNullable<Mismatch['mistyped']>,
): string | undefined {
  if (found.type === 'malformed-document') return undefined;
  const start = itemStart(parameter);
  // Of a column that has this name, the cell is wrong.
  if (isCell) return item?.raw.startsWith(start) ? undefined : `name the column ${start}`;
  const { type } = parameter;
  if (!item) return type === 'document' ? 'write {"$document": "scan.pdf"}' : undefined;
  // Other programs read a file whose path follows an @.
  const value = item.value.replace(/^@/, '');
  const isOfType = type === 'document' ? value !== '' : typeOf(parseJson(value)) === type;
  const isKept = item.separator === '=' && isOfType && value.length <= MAX_QUOTED;
  return `write ${shellCommand([isKept ? start + value : exampleItem(parameter)])}`;
}

/** Returns what the valid JSON of an input is. */
function kindOf(parts: readonly Part[], expected: ParameterType | undefined): InputKind {
  // Every value has one: that of a document is the start of its data URI.
  const text = parts.find((part) => part instanceof Uint8Array && part.length > 0) as Uint8Array;
  // Without white space around it.
  const json = Buffer.from(latin1(text).trim(), 'latin1');
  const type = jsonTypeOf(json);
  if (type !== 'string') return { type };
  // The document follows the start of its data URI.
  const isDocument = parts.some((part) => !(part instanceof Uint8Array));
  if (isDocument)
    return { type: 'document', mediaType: parseDataUriHead(latin1(json.subarray(1)))?.mediaType };
  // The user may have encoded it already.
  return expected === 'document' ? kindOfString(decodeString(json)) : { type };
}
