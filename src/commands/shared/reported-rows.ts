/** Reads the rows of results files in the form that reports need. */
import { type BatchHeader, type ReadEvent, readEvents } from '../../batch/journal/read-events.js';
import { ExitCode } from '../../exit-code.js';
import type { ReportedRun } from '../../report/reported-run.js';

const UNKNOWN_OUTCOME = 'the outcome is unknown: a run may have been created';
const NOT_SENT = 'it was not sent';
const LOST = 'lost: the service no longer knows the run (404)';

/** When a batch began, in milliseconds since 1970, and how long it took. */
export interface Period {
  startedAt: number;
  durationMs: number;
}

/** The time from the first to the last event of a batch, which may be that of several commands. */
export class EventPeriod {
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  add({ fields }: ReadEvent): void {
    if (typeof fields.time !== 'string') return;
    const time = Date.parse(fields.time);
    this.#first = Math.min(this.#first, time);
    this.#last = Math.max(this.#last, time);
  }

  /** Undefined without an event that has a time. */
  get period(): Period | undefined {
    if (this.#last < this.#first) return undefined;
    return { startedAt: this.#first, durationMs: this.#last - this.#first };
  }
}

/** Reads the rows of results files, in table order, and their period. Throws BatchFileError. */
export async function readReportedRuns(
  files: readonly { path: string; name: string }[],
): Promise<{ runs: ReportedRun[]; period: Period | undefined }> {
  const rows = new Map<number, ReportedRun>();
  const events = new EventPeriod();
  for (const { path, name } of files) {
    let header: BatchHeader | undefined;
    for await (const event of readEvents(path, name)) {
      events.add(event);
      if (event.event === 'batch') header = event.fields as unknown as BatchHeader;
      else if (event.row > 0) rows.set(event.row, applyEvent(event, rows.get(event.row), header?.workflow));
    }
  }
  return { runs: [...rows].sort(([a], [b]) => a - b).map(([, run]) => run), period: events.period };
}

/** Returns the row after an event; `before` is undefined for its first event. */
function applyEvent(
  { event, row, fields, run }: ReadEvent,
  before: ReportedRun | undefined,
  workflowId: string | undefined,
): ReportedRun {
  const time = typeof fields.time === 'string' ? Date.parse(fields.time) : (before?.started ?? 0);
  const label = before?.label ?? (typeof fields.label === 'string' ? fields.label : undefined);
  const inputs = namesOfInputs(fields.inputs) ?? before?.inputs;
  const unsent = {
    row,
    ...(label !== undefined && { label }),
    ...(inputs !== undefined && { inputs }),
    id: undefined,
    workflowId,
    run: undefined,
    exit: ExitCode.unreachable,
    duration: 0,
  };
  const {
    outcome: _,
    requestId: __,
    ...known
  } = {
    ...(before ?? { ...unsent, error: undefined }),
    ...(inputs && { inputs }),
  };
  const request = typeof fields.requestId === 'string' && { requestId: fields.requestId };
  switch (event) {
    case 'sent':
      return { ...known, exit: ExitCode.unknownOutcome, error: UNKNOWN_OUTCOME };
    case 'unknown':
      return { ...known, ...request, error: `${UNKNOWN_OUTCOME}\n${String(fields.reason)}` };
    case 'accepted':
      return {
        ...known,
        id: String(fields.id),
        exit: ExitCode.stillRunning,
        started: time,
        error: undefined,
      };
    case 'lost':
      return { ...known, exit: ExitCode.unreachable, outcome: 'lost', error: LOST };
    case 'refused':
      return { ...refusedRun(known, Number(fields.exit), String(fields.reason)), ...request };
    case 'ended': {
      const exit = run?.status === 'FINISHED' ? ExitCode.ok : ExitCode.runFailed;
      const duration = time - (known.started ?? time);
      return { ...known, id: run?.id, run, exit, duration, error: undefined };
    }
    default:
      return { ...unsent, outcome: 'not sent', error: NOT_SENT };
  }
}

/** Returns the names that an `intent` lists, or those of the digests in the file of `run --once`. */
function namesOfInputs(inputs: unknown): readonly string[] | undefined {
  if (Array.isArray(inputs)) return inputs;
  return typeof inputs === 'object' && inputs !== null ? Object.keys(inputs) : undefined;
}

/** A signal or the end of the batch may have kept a row from being sent, which is no failure of its own. */
function refusedRun(run: ReportedRun, exit: number, reason: string): ReportedRun {
  return isOutcome(exit)
    ? { ...run, exit, error: reason }
    : { ...run, exit: ExitCode.unreachable, outcome: 'not sent', error: reason };
}

function isOutcome(exit: number): boolean {
  return Object.values<number>(ExitCode).includes(exit);
}
