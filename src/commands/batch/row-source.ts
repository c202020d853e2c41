/**
 * The rows of a batch on their way from the table to the runner: read to their end, matched with those of earlier commands
 * and recorded before the first one is sent.
 */
import { createHmac } from 'node:crypto';
import { BatchFileError } from '../../errors.js';
import type { DigestFile } from '../../inputs/file-digests.js';
import { resolvePath } from '../../platform/files.js';
import type { Event } from '../../runs/log/events.js';
import { FoundRows, isInRanges, type MatchedRows, matchRows } from '../../runs/log/match-rows.js';
import { identifyRow, type Row, type RowIdentity, saltedDigest } from '../../table/row.js';
import { areFiles } from '../../table/table.js';
import { copiesNotes } from '../shared/row-summary.js';
import { shardRows } from './plan.js';
import type { BatchTools } from './row.js';

/** Rows whose files are read at the same time. */
const AT_ONCE = 16;

/** The rows of this shard, once they are recorded. */
export type RecordedTable = Awaited<ReturnType<typeof recordTable>>;

/**
 * Reads all rows, and records which ones are new, continued or held. Throws BatchFileError, OutputError, and the reason of
 * the signal.
 */
export async function recordTable(tools: BatchTools, digestFile: DigestFile) {
  const { plan, log } = tools;
  const { limit, sendChanged } = plan;
  const { recorded, rows: states } = log;
  const { found, tableRows, digest } = await readTable(tools, digestFile);
  const matched = matchRows(recorded, states.recordedState, found, { ...plan.table, sendChanged });
  // What else was found is not kept: a table may have millions of rows.
  const { numbers, copies, presence } = matched;
  const { unreadable } = found;
  const listedCopies: string[] = [];
  await log.recordAll(eventsOf(matched, found, digest, listedCopies, tools));
  states.setFound((row) => isInRanges(row, presence.rows));
  let isRead = false;
  return {
    /** The number of rows, without copies. */
    total: numbers.length - copies.size,
    /** Lines about the files that are copies of others. */
    notes: copiesNotes(listedCopies),
    rows,
    /** Returns the event that says how many rows there are, and whether all were begun but those that --limit left. */
    summaryOf(unsent: number): Event {
      if (isRead && unsent === 0) return { event: 'table', rows: tableRows };
      return { event: 'stopped', rows: tableRows, limit: isRead ? limit : undefined };
    },
  };

  /** Reads the rows again: those that cannot be read, the others, and those that are gone and still run. */
  async function* rows(): AsyncGenerator<Row, void, void> {
    if (unreadable.size > 0) yield* rowsOfTable(true);
    yield* rowsOfTable(false);
    isRead = true;
    for (const [number, state] of states.entries()) {
      if (state !== 'running' || !states.isGone(number)) continue;
      yield { number, label: states.label(number), digest: () => '', inputs: { problem: 'is gone' } };
    }
  }

  async function* rowsOfTable(isUnreadable: boolean): AsyncGenerator<Row, void, void> {
    let at = 0;
    for await (const row of shardRows(plan)) {
      if (!copies.has(at) && unreadable.has(at) === isUnreadable) yield { ...row, number: numbers[at] ?? 0 };
      at++;
    }
  }
}

/** Reads what the rows are; with --shard, also the digest of the whole table. */
async function readTable({ plan, log, session }: BatchTools, digestFile: DigestFile) {
  const { table, shard } = plan;
  const { context, interruption } = session;
  const { salt, present } = log.recorded;
  const hmac = shard.count > 1 ? createHmac('sha256', salt) : undefined;
  let tableRows = 0;
  const onRow = (row: Row) => {
    tableRows++;
    hmac?.update(row.digest());
  };
  const placeOf = ({ place }: Row) => {
    if (place === undefined) return undefined;
    const text = areFiles(table.places) ? resolvePath(place, context) : place;
    return saltedDigest(salt, `${table.places} ${text}`);
  };
  const found = new FoundRows();
  const waiting: Row[] = [];
  const identify = async () => {
    const rows = waiting.splice(0);
    const identities = await Promise.all(rows.map((row) => identifyRow(row, salt, digestFile)));
    for (const [at, row] of rows.entries())
      found.add(identities[at] as RowIdentity, row.number, placeOf(row));
  };
  for await (const row of shardRows(plan, onRow)) {
    interruption.signal.throwIfAborted();
    if (waiting.push(row) === AT_ONCE) await identify();
  }
  await identify();
  const digest = hmac?.digest('hex').slice(0, 32);
  // A file is of one shard: a command that has no digest has recorded none.
  if ((present?.table ?? digest) !== digest)
    throw new BatchFileError(
      'the table has changed; with --shard it must stay as it was, or use another --results file',
    );
  return { found, tableRows, digest };
}

/** Yields what the results file does not say yet of the rows; adds the labels of copies to `listedCopies`. */
async function* eventsOf(
  { numbers, copies, held, released, presence }: MatchedRows,
  found: FoundRows,
  table: string | undefined,
  listedCopies: string[],
  { plan, log: { recorded }, session }: BatchTools,
): AsyncGenerator<Event, void, void> {
  const copied: Event[] = [];
  let at = -1;
  for await (const { label } of shardRows(plan)) {
    session.interruption.signal.throwIfAborted();
    const row = numbers[++at] ?? 0;
    const why = held.get(row);
    const place = found.places.get(at);
    if (copies.has(at)) {
      listedCopies.push(label);
      copied.push({ event: 'copy', of: row, place: place ?? '', label });
      continue;
    }
    const known = recorded.keys.get(row);
    const written = found.written.get(at);
    const isNamed = why !== undefined || !recorded.hasLabel(row, label);
    const hasMoved = place !== undefined && place !== recorded.places.get(row);
    const isRewritten = written !== undefined && written !== recorded.written.get(row);
    if (known === undefined || isNamed || hasMoved || isRewritten)
      yield {
        ...{ event: 'recorded', row, key: known ?? found.keys.get(at) ?? '', written, place },
        ...{ label: isNamed ? label : undefined, held: why },
      };
  }
  for (const row of released) yield { event: 'released', row };
  yield { event: 'present', ...presence, table };
  yield* copied;
}
