/**
 * The log of a command: what happened to its runs, in the file of a batch or of `run --once`, on stdout, or in memory alone.
 * Each event is applied to the state of its row and written, before it takes effect: a row is `sent` on disk before its
 * request is complete.
 */

import type { Clock, Output } from '../../platform/context.js';
import { OutputError } from '../../platform/system-error.js';
import type { TriggerLog } from '../../service/create-run.js';
import { unconfirmedId } from '../../service/errors.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { type Event, encodeEvent, isRowEvent, type RowEvent, recordedError } from './events.js';
import { createRecordedRows } from './recorded-rows.js';
import { createRowStates } from './row-states.js';

/** Where the lines of a log go. */
export interface LogSink {
  /** Identifies the lines of this process. */
  readonly token?: string;
  /** Aborts with an OutputError when nothing more can be written, even if no event is pending. */
  readonly failed: AbortSignal;
  /** Resolves when the lines are on disk, after all earlier ones. Throws OutputError. */
  write(lines: readonly Uint8Array[]): Promise<void>;
  /** Removes a file that this process created, if it is useless. Throws OutputError. */
  close(isUseless?: boolean): Promise<void>;
}

/** Events that are written at once when there are many. */
const BULK = 2_000;

export type RowObserver = (event: RowEvent, time: number | undefined) => void;

export type Log = ReturnType<typeof createLog>;

/** Returns a log, by default one in memory alone; `onRowEvent` is called with each event of a row and its time (ms since 1970). */
export function createLog(clock: Clock, sink: LogSink = NO_SINK, onRowEvent: RowObserver = () => {}) {
  const rows = createRowStates();
  /** Which rows are which. */
  const recorded = createRecordedRows();
  /** The rows that were sent by this process and wait for the response. */
  const awaiting = new Set<number>();

  return {
    rows,
    recorded,
    awaiting,
    record,
    commit,
    apply,

    /** Aborts with an OutputError when nothing more can be written. */
    failed: sink.failed,

    /** Resolves when all events so far are on disk. Throws OutputError. */
    flush: () => sink.write([]),

    /** Resolves when all events are written; releases a file, or removes it if it is new and useless. Throws OutputError. */
    close: sink.close,

    /** Records many events, as they are consumed, without keeping them in memory. Throws OutputError. */
    async recordAll(events: AsyncIterable<Event>): Promise<void> {
      const lines: Uint8Array[] = [];
      for await (const event of events) {
        lines.push(applyNow(event));
        if (lines.length === BULK) await sink.write(lines.splice(0));
      }
      await sink.write(lines);
    },

    /**
     * Returns the record of the triggers of a row. `beforeSent` is awaited before each `sent`, may throw, and resolves with
     * the digests of the inputs that are recorded.
     */
    ofRow(
      row: number,
      secrets: SecretMask,
      beforeSent?: () => Promise<Readonly<Record<string, string>> | undefined>,
    ): TriggerLog {
      return {
        sent: async () => {
          const inputs = await beforeSent?.();
          await commit({ event: 'sent', row, inputs });
        },
        refused: (error, isFinal) => {
          // A request that was not recorded as sent changes nothing, nor does one more of a row that is not reached.
          const isKnown = error.facts.code === 'not-triggered' && rows.state(row) === 'unreachable';
          if (!awaiting.has(row) && (!isFinal || isKnown)) return;
          const reason = recordedError(error.facts, secrets);
          // Unless it is final, the row is about to be sent again.
          record({ event: 'refused', row, ...reason, ...(!isFinal && { code: 'not-triggered' }) });
        },
        unknown: (error) => record({ event: 'unknown', row, ...recordedError(error.facts, secrets) }),
        accepted: ({ id }) => record({ event: 'accepted', row, id }),
        candidate: (id) => {
          const candidateId = secrets.mask(id);
          const reason = secrets.mask(unconfirmedId(id));
          record({ event: 'unknown', row, code: 'unknown-outcome', reason, candidateId });
          awaiting.add(row);
        },
      };
    },
  };

  /** Applies an event, and queues its line. */
  function record(event: Event): void {
    // A failure aborts `failed`.
    commit(event).catch(() => {});
  }

  /** Applies an event, and resolves when it is on disk. Throws OutputError. */
  function commit(event: Event): Promise<void> {
    return sink.write([applyNow(event)]);
  }

  /** Applies an event of an earlier command, at its time (ms since 1970). */
  function apply(event: Event, time: number | undefined): void {
    recorded.apply(event);
    if (!isRowEvent(event)) return;
    rows.apply(event);
    onRowEvent(event, time);
  }

  /** Applies an event of this command, and returns its line. */
  function applyNow(event: Event): Uint8Array {
    const now = clock.now();
    apply(event, now);
    if (event.event === 'sent') awaiting.add(event.row);
    else if (isRowEvent(event)) awaiting.delete(event.row);
    return encodeEvent(event, now, sink.token);
  }
}

/** Keeps nothing: a later command knows nothing of these runs. */
const NO_SINK: LogSink = {
  failed: new AbortController().signal,
  write: async () => {},
  close: async () => {},
};

/** Writes the log to stdout; what is written there can be saved as a file, to continue from it. */
export function stdoutSink(output: Output): LogSink {
  return {
    ...NO_SINK,
    /** Throws OutputError once the reader is gone: without a record of it, no further row may be sent. */
    async write(lines) {
      for (const line of lines) await output.write(line);
      if (output.isClosed)
        throw new OutputError(new Error('its reader has gone away'), 'the results to stdout');
    },
    close: () => output.write(''),
  };
}
