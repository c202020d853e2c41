/** Where the lines of each row are in a log, and the rows that they tell of. */
import { closeSync, openSync, readSync } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import type { Run } from '../../service/run.js';
import { decodeLine, type ReadEvent, type RowEvent } from './events.js';
import { NEW_ROW, type RowRecord, reduce } from './reduce.js';

/** Returns an empty list of the lines of rows. */
export function createRowLines() {
  /** By the number of the line, from 1: where it begins, negative of a `sent`, and the line of the same row before it. */
  const starts = [0];
  const before = [0];
  /** The last line of each row. */
  const lastOf: number[] = [];

  return {
    /** Remembers the line of an event; that of a `sent` only until the line that says what became of it. */
    add(read: ReadEvent & RowEvent): void {
      const { event, row, start } = read;
      if (event === 'recorded' && read.held === undefined && read.label === undefined) return;
      const last = lastOf[row] ?? 0;
      const isAnswer = event === 'accepted' || event === 'refused' || event === 'unknown';
      const isSent = (starts[last] ?? 0) < 0;
      before.push(isAnswer && isSent ? (before[last] ?? 0) : last);
      lastOf[row] = starts.push(event === 'sent' ? -start : start) - 1;
    },

    /**
     * Reads what a file says of a row. With `isKept`, the JSON of its run stays in the file until it is used: the outputs of
     * all rows may not fit into memory. Throws BatchFileError if the file has changed, and the system's error.
     */
    read(row: number, reader: LineReader, isKept: boolean): RowRecord {
      const ofRow: number[] = [];
      for (let line = lastOf[row] ?? 0; line !== 0; line = before[line] ?? 0)
        ofRow.push(Math.abs(starts[line] ?? 0));
      let record = NEW_ROW;
      for (const start of ofRow.reverse()) {
        const event = reader.read(row, start);
        if (isKept && event.event === 'ended') event.run = leaveOnDisk(event.run, reader.file, row, start);
        record = reduce(record, event, event.time);
      }
      return record;
    },
  };
}

function leaveOnDisk(
  { json: _, output: _output, ...run }: Run,
  file: ResultsFile,
  row: number,
  start: number,
): Run {
  const readRun = (): Run => {
    const reader = openLines(file);
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

export type LineReader = ReturnType<typeof openLines>;

/** Opens a log to read single lines. Throws the system's error. */
export function openLines(file: ResultsFile) {
  const descriptor = openSync(file.path, 'r');
  const changed = () => new BatchFileError(`${file.name}: changed while wfr read it`);

  return {
    file,
    changed,

    /** Returns the event of a row in the line at an offset. Throws BatchFileError, and the system's error. */
    read(row: number, start: number): ReadEvent & RowEvent {
      const event = decodeLine(readLine(start), start);
      if (event?.row !== row) throw changed();
      return event;
    },

    close: () => closeSync(descriptor),
  };

  /** Returns the line at an offset, without its line feed. */
  function readLine(start: number): Buffer {
    for (let size = FIRST_SIZE; ; size *= 4) {
      const block = Buffer.allocUnsafe(size);
      const length = readSync(descriptor, block, 0, size, start);
      const end = block.subarray(0, length).indexOf(LINE_FEED);
      if (end >= 0 || length < size) return block.subarray(0, end < 0 ? length : end);
    }
  }
}
