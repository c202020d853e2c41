/** Where the lines of each row are in a log, and the rows that they tell of. */
import { closeSync, openSync, readSync } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import type { Run } from '../../service/run.js';
import { decodeLine, isRowEvent, type ReadEvent, type RowEvent } from './events.js';
import { NEW_ROW, type RowRecord, reduce } from './reduce.js';

export class RowLines {
  /** By the number of the line, from 1: where it begins, negative of a `sent`, and the line of the same row before it. */
  readonly #starts = [0];
  readonly #before = [0];
  /** The last line of each row. */
  readonly #last: number[] = [];

  /** Remembers the line of an event; that of a `sent` only until the line that says what became of it. */
  add(read: ReadEvent & RowEvent): void {
    const { event, row, start } = read;
    if (event === 'recorded' && read.held === undefined && read.label === undefined) return;
    const last = this.#last[row] ?? 0;
    const isAnswer = event === 'accepted' || event === 'refused' || event === 'unknown';
    const isSent = (this.#starts[last] ?? 0) < 0;
    this.#before.push(isAnswer && isSent ? (this.#before[last] ?? 0) : last);
    this.#last[row] = this.#starts.push(event === 'sent' ? -start : start) - 1;
  }

  /**
   * Reads what a file says of a row. With `isKept`, the JSON of its run stays in the file until it is used: the outputs of
   * all rows may not fit into memory. Throws BatchFileError if the file has changed, and the system's error.
   */
  read(row: number, reader: LineReader, isKept: boolean): RowRecord {
    const starts: number[] = [];
    for (let line = this.#last[row] ?? 0; line !== 0; line = this.#before[line] ?? 0)
      starts.push(Math.abs(this.#starts[line] ?? 0));
    let record = NEW_ROW;
    for (const start of starts.reverse()) {
      const event = reader.read(row, start);
      record = reduce(record, event, event.time);
      if (isKept && event.event === 'ended')
        record = { ...record, now: { ...record.now, run: leaveOnDisk(event.run, reader.file, row, start) } };
    }
    return record;
  }
}

function leaveOnDisk(
  { json: _, output: _output, ...run }: Run,
  file: ResultsFile,
  row: number,
  start: number,
): Run {
  const readRun = (): Run => {
    const reader = new LineReader(file);
    try {
      const event = reader.read(row, start);
      if (event.event !== 'ended') throw reader.changed();
      return event.run;
    } finally {
      reader.close();
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

export interface ResultsFile {
  path: string;
  /** For messages. */
  name: string;
}

/** Bytes of a line that are read first. */
const FIRST_SIZE = 2_048;
const LINE_FEED = 0x0a;

/** Reads single lines of a log. */
export class LineReader {
  readonly #descriptor: number;

  /** Opens a file. Throws the system's error. */
  constructor(readonly file: ResultsFile) {
    this.#descriptor = openSync(file.path, 'r');
  }

  /** Returns the event of a row in the line at an offset. Throws BatchFileError, and the system's error. */
  read(row: number, start: number): ReadEvent & RowEvent {
    const event = decodeLine(this.#readLine(start), start);
    if (event === undefined || !isRowEvent(event) || event.row !== row) throw this.changed();
    return event;
  }

  changed(): BatchFileError {
    return new BatchFileError(`${this.file.name}: changed while wfr read it`);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Returns the line at an offset, without its line feed. */
  #readLine(start: number): Buffer {
    for (let size = FIRST_SIZE; ; size *= 4) {
      const block = Buffer.allocUnsafe(size);
      const length = readSync(this.#descriptor, block, 0, size, start);
      const end = block.subarray(0, length).indexOf(LINE_FEED);
      if (end >= 0 || length < size) return block.subarray(0, end < 0 ? length : end);
    }
  }
}
