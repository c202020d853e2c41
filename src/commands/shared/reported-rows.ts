/** What the rows of a batch came to, read from its results, as reports see it. */
import { type BatchHeader, type ReadEvent, readEvents } from '../../batch/journal/read-events.js';
import { ExitCode } from '../../exit-code.js';
import type { ReportedRun } from '../../report/reported-run.js';

/** The rows of results files, in the order of their table. Throws BatchFileError. */
export async function readReportedRuns(
  files: readonly { path: string; name: string }[],
): Promise<ReportedRun[]> {
  const rows = new Map<number, ReportedRun>();
  for (const { path, name } of files) {
    let head: BatchHeader | undefined;
    for await (const event of readEvents(path, name)) {
      if (event.event === 'batch') head = event.fields as unknown as BatchHeader;
      else if (event.row > 0) rows.set(event.row, applyEvent(event, rows.get(event.row), head?.workflow));
    }
  }
  return [...rows].sort(([a], [b]) => a - b).map(([, run]) => run);
}

function applyEvent(
  { event, row, fields, run }: ReadEvent,
  before: ReportedRun | undefined,
  workflowId: string | undefined,
): ReportedRun {
  const time = typeof fields.time === 'string' ? Date.parse(fields.time) : (before?.started ?? 0);
  const label = before?.label ?? (typeof fields.label === 'string' ? fields.label : undefined);
  const name = { row, ...(label !== undefined && { label }) };
  const nothing = {
    ...name,
    id: undefined,
    workflowId,
    run: undefined,
    exit: ExitCode.unreachable,
    duration: 0,
  };
  const known = before ?? { ...nothing, error: undefined };
  switch (event) {
    case 'sent':
      return {
        ...known,
        exit: ExitCode.unknownOutcome,
        error: 'the outcome is unknown: a run may have been created',
      };
    case 'accepted':
      return {
        ...known,
        id: String(fields.id),
        exit: ExitCode.stillRunning,
        started: time,
        error: undefined,
      };
    case 'lost':
      return {
        ...known,
        exit: ExitCode.unreachable,
        isLost: true,
        error: 'lost: the service no longer knows the run (404)',
      };
    case 'refused':
      return { ...known, exit: Number(fields.exit), error: String(fields.reason) };
    case 'ended': {
      const exit = run?.status === 'FINISHED' ? ExitCode.ok : ExitCode.runFailed;
      const duration = time - (known.started ?? time);
      return { ...known, id: run?.id, run, exit, duration, error: undefined };
    }
    default:
      return { ...nothing, error: 'it was not sent' };
  }
}
