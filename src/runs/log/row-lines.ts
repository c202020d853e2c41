/** Where the lines that tell the state of each row are in a log, in 40 bytes a row; and the rows that they tell of. */
import { closeSync, openSync, readSync } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import type { Run } from '../../service/run.js';
import { PagedArray } from './compact-lists.js';
import { decodeLine, isRowEvent, type ReadEvent, type RowEvent } from './events.js';
import { NEW_ROW, type RowRecord, type RowState, reduce } from './reduce.js';

/** The lines of a row that are found again: the first intent, and the last of each other event; one cause of two. */
type LineKind = Exclude<RowEvent['event'], 'refused' | 'unknown'> | 'cause';

/** The lines that tell of a row in a state, where they are not those of a run that ended. */
const KINDS: Readonly<Partial<Record<RowState, readonly LineKind[]>>> = {
  held: ['recorded'],
  waiting: ['recorded', 'intent'],
  invalid: ['intent', 'cause'],
  rejected: ['intent', 'cause'],
  unauthorized: ['intent', 'cause'],
  unreachable: ['intent', 'cause'],
  unknown: ['intent', 'sent', 'cause'],
  running: ['intent', 'accepted'],
  lost: ['intent', 'accepted', 'lost'],
};
const KINDS_OF_END: readonly LineKind[] = ['intent', 'accepted', 'ended'];

export class RowLines {
  readonly #offsets: Partial<Record<LineKind, PagedArray>> = {};

  /** Remembers the line of an event, unless an earlier state of the row was restored: then its lines still tell. */
  add(read: ReadEvent & RowEvent, isRestored: boolean): void {
    const { event, row, start } = read;
    if (event === 'recorded' && read.held === undefined) return;
    const kind = event === 'refused' || event === 'unknown' ? 'cause' : event;
    this.#offsets[kind] ??= new PagedArray(Float64Array);
    const found = this.#offsets[kind];
    // 0 means that there is none.
    if (kind === 'intent' ? !found.get(row) : kind === 'moved' || !isRestored) found.set(row, start + 1);
    // What an earlier attempt ended with says nothing of the attempts after a run.
    if (kind === 'accepted' && this.#offsets.cause?.get(row)) this.#offsets.cause.set(row, 0);
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

  /** Returns the run of a row that ended, whose JSON stays in the file until it is used: all may not fit into memory. */
  leaveOnDisk(
    row: number,
    { json: _json, output: _output, ...run }: Run,
    reader: LineReader,
    name: string,
  ): Run {
    const start = this.#startOf(row, 'ended');
    const { length } = reader.read(start);
    const { path } = reader;
    const readRun = (): Run => {
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
        return readRun().json;
      },
      get output() {
        return readRun().output;
      },
    };
  }

  #startsOf(row: number, state: RowState): number[] {
    const kinds = ['moved', ...(KINDS[state] ?? KINDS_OF_END)] as const;
    const starts = kinds.map((kind) => this.#startOf(row, kind));
    return starts.filter((start) => start >= 0).sort((one, other) => one - other);
  }

  /** Returns where a line begins; -1 if there is none. */
  #startOf(row: number, kind: LineKind): number {
    return (this.#offsets[kind]?.get(row) ?? 0) - 1;
  }
}

const changed = (name: string) => new BatchFileError(`${name}: changed while wfr read it`);

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
