/** Where the lines that tell the state of each row are in a log, in 40 bytes a row; and the rows that they tell of. */
import { closeSync, openSync, readSync } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import type { Run } from '../../service/run.js';
import { PagedArray } from './compact-lists.js';
import { decodeLine, isRowEvent, type ReadEvent, type RowEvent } from './events.js';
import { NEW_ROW, type RowRecord, type RowState, reduce } from './reduce.js';

/** The kinds of lines of a row that are found again: the first of some, and the last of each of the others. */
type LineKind = 'held' | 'moved' | 'first' | 'sent' | 'accepted' | 'cause' | 'lost' | 'ended';

const KIND_OF_EVENT: Readonly<Record<RowEvent['event'], LineKind | undefined>> = {
  recorded: 'held',
  moved: 'moved',
  released: undefined,
  uncreated: undefined,
  intent: 'first',
  sent: 'sent',
  accepted: 'accepted',
  refused: 'cause',
  unknown: 'cause',
  lost: 'lost',
  ended: 'ended',
};

/** The lines that tell of a row in a state, where they are not those of a run that ended. */
const KINDS: Readonly<Partial<Record<RowState, readonly LineKind[]>>> = {
  held: ['held'],
  waiting: ['held', 'first'],
  invalid: ['first', 'cause'],
  rejected: ['first', 'cause'],
  unauthorized: ['first', 'cause'],
  unreachable: ['first', 'cause'],
  unknown: ['first', 'sent', 'cause'],
  running: ['first', 'accepted'],
  lost: ['first', 'accepted', 'lost'],
};
const KINDS_OF_END: readonly LineKind[] = ['first', 'accepted', 'ended'];

export class RowLines {
  readonly #offsets: Readonly<Record<LineKind, PagedArray>> = {
    held: offsets(),
    moved: offsets(),
    first: offsets(),
    sent: offsets(),
    accepted: offsets(),
    cause: offsets(),
    lost: offsets(),
    ended: offsets(),
  };

  /** Remembers the line of an event, unless an earlier state of the row was restored: then its lines still tell. */
  add(read: ReadEvent & RowEvent, isRestored: boolean): void {
    const { event, row, start } = read;
    const kind = KIND_OF_EVENT[event];
    if (kind === undefined || (event === 'recorded' && read.held === undefined)) return;
    const found = this.#offsets[kind];
    // 0 means that there is none.
    if (kind === 'first' ? !found.get(row) : kind === 'moved' || !isRestored) found.set(row, start + 1);
    // What an earlier attempt ended with says nothing of the attempts after a run.
    if (kind === 'accepted' && this.#offsets.cause.get(row)) this.#offsets.cause.set(row, 0);
  }

  /** Reads what a file says of a row. Throws BatchFileError if it has changed, and the system's error. */
  read(row: number, state: RowState, reader: LineReader, name: string): RowRecord {
    let record = NEW_ROW;
    for (const start of this.#startsOf(row, state)) {
      const event = decodeLine(reader.read(start), start);
      if (event === undefined || !isRowEvent(event) || event.row !== row) throw changed(name);
      record = reduce(record, event, event.time);
    }
    if (record.state === state) return record;
    return record.state === 'held' ? { ...record, state, error: undefined } : { ...record, state };
  }

  /** Returns the run of a row that ended, whose JSON stays in the file until it is used. */
  leaveOnDisk(row: number, run: Run, reader: LineReader, name: string): Run {
    const start = (this.#offsets.ended.get(row) ?? 0) - 1;
    const { length } = reader.read(start);
    return onDisk(run, { path: reader.path, name, start, length });
  }

  #startsOf(row: number, state: RowState): number[] {
    const kinds = ['moved', ...(KINDS[state] ?? KINDS_OF_END)] as const;
    const starts = kinds.map((kind) => (this.#offsets[kind].get(row) ?? 0) - 1);
    return starts.filter((start) => start >= 0).sort((one, other) => one - other);
  }
}

const changed = (name: string) => new BatchFileError(`${name}: changed while wfr read it`);

/** Where a line is. */
interface LinePlace {
  path: string;
  name: string;
  start: number;
  length: number;
}

/** Returns a run whose JSON stays in the file until it is used: all outputs of a batch may not fit into memory. */
function onDisk(
  { json: _json, output: _output, ...run }: Run,
  { path, name, start, length }: LinePlace,
): Run {
  const read = (): Run => {
    const descriptor = openSync(path, 'r');
    try {
      const line = Buffer.allocUnsafe(length);
      readSync(descriptor, line, 0, length, start);
      const event = decodeLine(line, start);
      if (event?.event !== 'ended') throw changed(name);
      return event.run;
    } finally {
      closeSync(descriptor);
    }
  };
  return {
    ...run,
    get json() {
      return read().json;
    },
    get output() {
      return read().output;
    },
  };
}

const offsets = () => new PagedArray(Float64Array);

/** Bytes that are read at once; a line may be longer. */
const BLOCK_SIZE = 64 * 1024;
/** Blocks that are kept: the lines of a row are between those of the rows that were sent at the same time. */
const MAX_BLOCKS = 16;
const LINE_FEED = 0x0a;

export class LineReader {
  readonly #descriptor: number;
  /** By their number in the file, the oldest first. */
  readonly #blocks = new Map<number, Buffer>();

  /** Opens a file. Throws the system's error. */
  constructor(readonly path: string) {
    this.#descriptor = openSync(path, 'r');
  }

  /** Returns the line that begins at an offset, without its line feed. Throws the system's error. */
  read(offset: number): Buffer {
    const pieces: Buffer[] = [];
    let start = offset % BLOCK_SIZE;
    for (let number = Math.floor(offset / BLOCK_SIZE); ; number++, start = 0) {
      const block = this.#blocks.get(number) ?? this.#load(number);
      const feed = block.indexOf(LINE_FEED, start);
      const isLast = feed >= 0 || block.length < BLOCK_SIZE;
      const piece = block.subarray(start, feed < 0 ? undefined : feed);
      if (isLast && pieces.length === 0) return piece;
      pieces.push(piece);
      if (isLast) return Buffer.concat(pieces);
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #load(number: number): Buffer {
    const [oldest = number] = this.#blocks.keys();
    if (this.#blocks.size === MAX_BLOCKS) this.#blocks.delete(oldest);
    const block = Buffer.allocUnsafe(BLOCK_SIZE);
    const read = readSync(this.#descriptor, block, 0, BLOCK_SIZE, number * BLOCK_SIZE);
    this.#blocks.set(number, block.subarray(0, read));
    return block.subarray(0, read);
  }
}
