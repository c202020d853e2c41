/**
 * The rows of a batch on their way from the table to the runner: read to their end, matched with those of earlier commands
 * and recorded before the first one is sent.
 */
import { createHmac } from 'node:crypto';
import { BatchFileError } from '../../errors.js';
import type { DigestFile } from '../../inputs/file-digests.js';
import { resolvePath } from '../../platform/files.js';
import type { Event } from '../../runs/log/events.js';
import { FoundRows, isInRanges, type MatchedRows, RowMatcher } from '../../runs/log/match-rows.js';
import { identifyRow, type Row, type RowIdentity, saltedDigest } from '../../table/row.js';
import { listFirst } from '../../text/quantity.js';
import { shardRows } from './plan.js';
import type { BatchTools } from './row.js';

/** Rows whose files are read at the same time. */
const AT_ONCE = 16;
/** Copies that are listed by their names at most. */
const MAX_LISTED_COPIES = 3;

export class RowSource {
  #matched: (MatchedRows & Pick<FoundRows, 'unreadable'>) | undefined;
  #tableRows = 0;
  /** The first copies, by their names. */
  readonly #copies: string[] = [];
  #isRead = false;

  constructor(
    private readonly tools: Pick<BatchTools, 'plan' | 'log' | 'session'>,
    private readonly digestFile: DigestFile,
  ) {}

  /** The number of rows of this shard, without copies; undefined until it is known. */
  get total(): number | undefined {
    return this.#matched && this.#matched.numbers.length - this.#matched.copies.size;
  }

  /** Returns the event that says how many rows there are, and whether all were begun but those that --limit left. */
  summaryOf(unsent: number): Event {
    const { limit } = this.tools.plan;
    const counts = { rows: this.#tableRows, copies: this.#matched?.copies.size };
    if (this.#isRead && unsent === 0) return { event: 'table', ...counts };
    return { event: 'stopped', ...counts, limit: this.#isRead ? limit : undefined };
  }

  /** Lines about the files that are copies of others. */
  get notes(): string[] {
    const count = this.#matched?.copies.size ?? 0;
    const listed = listFirst(this.#copies, MAX_LISTED_COPIES, count).join(' ');
    return count === 0 ? [] : [`Not sent, as copies of other files: ${listed}.`];
  }

  /**
   * Reads all rows, and records which ones are new, continued or held. Throws BatchFileError, OutputError, and the reason of
   * the signal.
   */
  async record(): Promise<void> {
    const { recorded, rows } = this.tools.log;
    const { table, sendChanged } = this.tools.plan;
    const { found, digest } = await this.#read();
    const { isFolder, places } = table;
    const stateOf = (row: number) => rows.recordedState(row);
    const matched = new RowMatcher(recorded, stateOf, found, { isFolder, places, sendChanged }).match();
    await this.tools.log.recordAll(this.#events(matched, found, digest));
    rows.setFound((row) => isInRanges(row, matched.presence.rows));
    await this.tools.log.flush();
    this.#matched = { ...matched, unreadable: found.unreadable };
  }

  /** Reads the rows of this shard again: those that cannot be read, the others, and those that are gone and still run. */
  async *rows(): AsyncGenerator<Row, void, void> {
    yield* this.#rowsOfTable(true);
    yield* this.#rowsOfTable(false);
    this.#isRead = true;
    const { rows } = this.tools.log;
    for (const [number, state] of rows.entries()) {
      if (state !== 'running' || !rows.isGone(number)) continue;
      yield { number, label: rows.label(number), digest: () => '', inputs: { problem: 'is gone' } };
    }
  }

  async *#rowsOfTable(isUnreadable: boolean): AsyncGenerator<Row, void, void> {
    if (this.#matched === undefined) return;
    const { numbers, copies, unreadable } = this.#matched;
    if (isUnreadable && unreadable.size === 0) return;
    let at = 0;
    for await (const row of shardRows(this.tools.plan)) {
      if (!copies.has(at) && unreadable.has(at) === isUnreadable) yield { ...row, number: numbers[at] ?? 0 };
      at++;
    }
  }

  async #read() {
    const { plan, log, session } = this.tools;
    const { salt } = log.recorded;
    const { signal } = session.interruption;
    const isShard = plan.shard.count > 1;
    const digest = createHmac('sha256', salt);
    const onRow = (row: Row) => {
      this.#tableRows++;
      if (isShard) digest.update(row.digest());
    };
    const found = new FoundRows();
    const waiting: Row[] = [];
    const identify = async () => {
      const rows = waiting.splice(0);
      const identities = await Promise.all(rows.map((row) => identifyRow(row, salt, this.digestFile)));
      for (const [at, row] of rows.entries())
        found.add(identities[at] as RowIdentity, row.number, this.#placeOf(row));
    };
    for await (const row of shardRows(plan, onRow)) {
      signal.throwIfAborted();
      if (waiting.push(row) === AT_ONCE) await identify();
    }
    await identify();
    const table = isShard ? digest.digest('hex').slice(0, 32) : undefined;
    if (table !== undefined && log.recorded.table !== undefined && log.recorded.table !== table)
      throw new BatchFileError(
        'the table has changed since its rows were recorded; with --shard it must stay as it was, or use another --results file',
      );
    return { found, digest: table };
  }

  #placeOf({ place }: Row): string | undefined {
    if (place === undefined) return undefined;
    const { plan, log, session } = this.tools;
    const { table } = plan;
    const text = table.isFolder ? resolvePath(place, session.context.cwd, session.context) : place;
    return saltedDigest(log.recorded.salt, `${table.places} ${text}`);
  }

  /** Yields what the results file does not say yet of the rows. */
  async *#events(
    { numbers, copies, held, released, presence }: MatchedRows,
    found: FoundRows,
    table: string | undefined,
  ): AsyncGenerator<Event, void, void> {
    const { recorded } = this.tools.log;
    const copied: Event[] = [];
    let at = -1;
    for await (const { label } of shardRows(this.tools.plan)) {
      this.tools.session.interruption.signal.throwIfAborted();
      const row = numbers[++at] ?? 0;
      const why = held.get(row);
      const place = found.places.get(at);
      if (copies.has(at)) {
        if (this.#copies.length <= MAX_LISTED_COPIES) this.#copies.push(label);
        copied.push({ event: 'copy', of: row, place: place ?? '' });
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
    yield { event: 'present', ...presence, ...(table !== undefined && { table }) };
    yield* copied;
  }
}
