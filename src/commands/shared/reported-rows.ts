/** Reads the rows of results files in the form that reports need. */
import { type BatchHeader, type ReadEvent, readEvents } from '../../batch/journal/read-events.js';
import { ExitCode } from '../../exit-code.js';
import type { ReportedRun } from '../../report/reported-run.js';

const UNKNOWN_OUTCOME = 'the outcome is unknown: a run may have been created';
const NOT_SENT = 'it was not sent';
const LOST = 'lost: the service no longer knows the run (404)';

/** Reads the rows of results files, in table order. Throws BatchFileError. */
export async function readReportedRuns(
  files: readonly { path: string; name: string }[],
): Promise<ReportedRun[]> {
  const rows = new Map<number, ReportedRun>();
  for (const { path, name } of files) {
    let header: BatchHeader | undefined;
    for await (const event of readEvents(path, name)) {
      if (event.event === 'batch') header = event.fields as unknown as BatchHeader;
      else if (event.row > 0) rows.set(event.row, applyEvent(event, rows.get(event.row), header?.workflow));
    }
  }
  return [...rows].sort(([a], [b]) => a - b).map(([, run]) => run);
}

/** Returns the row after an event; `before` is undefined for its first event. */
function applyEvent(
  { event, row, fields, run }: ReadEvent,
  before: ReportedRun | undefined,
  workflowId: string | undefined,
): ReportedRun {
  const time = typeof fields.time === 'string' ? Date.parse(fields.time) : (before?.started ?? 0);
  const label = before?.label ?? (typeof fields.label === 'string' ? fields.label : undefined);
  const unsent = {
    row,
    ...(label !== undefined && { label }),
    id: undefined,
    workflowId,
    run: undefined,
    exit: ExitCode.unreachable,
    duration: 0,
  };
  const { outcome: _, ...known } = before ?? { ...unsent, error: undefined };
  switch (event) {
    case 'sent':
      return { ...known, exit: ExitCode.unknownOutcome, error: UNKNOWN_OUTCOME };
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
      return refusedRun(known, Number(fields.exit), String(fields.reason));
    case 'ended': {
      const exit = run?.status === 'FINISHED' ? ExitCode.ok : ExitCode.runFailed;
      const duration = time - (known.started ?? time);
      return { ...known, id: run?.id, run, exit, duration, error: undefined };
    }
    default:
      return { ...unsent, outcome: 'not sent', error: NOT_SENT };
  }
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
