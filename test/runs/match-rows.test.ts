/** Which rows are which, against a model: random histories of tables and folders, of commands, and of kills. */
import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/runs/log/events.js';
import { isRowEvent } from '../../src/runs/log/events.js';
import { FoundRows, isInRanges, type MatchedRows, matchRows } from '../../src/runs/log/match-rows.js';
import { createRecordedRows } from '../../src/runs/log/recorded-rows.js';
import { hasNoRun, nextAction } from '../../src/runs/log/reduce.js';
import { createRowStates } from '../../src/runs/log/row-states.js';
import { effort } from '../helpers/effort.js';
import fc from '../helpers/properties.js';

/** What each row is. */
type Matched = MatchedRows & { kinds: ('copy' | 'held' | 'new' | 'continued')[] };

type Kind = 'folder' | 'table' | 'labels';
type Outcome = 'finished' | 'failed' | 'unknown' | 'running' | 'rejected' | 'lost';

/** What happens to the rows, and then the command that is run. */
interface Step {
  edits: { edit: (typeof EDITS)[number]; at: number; content: number }[];
  flags: ('sendChanged' | 'retryFailed' | 'resendUnknown' | 'none')[];
  outcomes: Outcome[];
  /** After how many events the command is killed; 0 for none. */
  kill: number;
}

const EDITS = [
  'add',
  'add',
  'edit',
  'edit',
  'remove',
  'swap',
  'copy',
  'rename',
  'sort',
  'empty',
  'hide',
] as const;

/** A row: in a folder its place is its path, in a table its label. */
interface WorldRow {
  place: string;
  content: number;
  /** Whether its document is missing, so that nothing but its place is known. */
  isHidden: boolean;
}

const digest = (text: string) => hash('sha256', text, 'hex').slice(0, 32);

class History {
  #recorded = createRecordedRows();
  #rows = createRowStates();
  readonly #kind: Kind;
  world: WorldRow[] = [];
  /** How often each content was sent that no flag allowed to be sent again. */
  readonly firstSends = new Map<string, number>();
  /** How often each content may have been sent so: the most equal rows that there were at once. */
  readonly allowed = new Map<string, number>();
  /** The content that was sent as each number, and which content has each. */
  readonly #sent = new Map<number, string>();
  readonly #numbered = new Map<number, string>();
  /** The contents at each place when a command was last completed, and which contents were sent or held since. */
  #completed = new Map<string, string>();
  readonly #known = new Set<string>();
  /** Rows that are held, with their contents, which must not be sent without the flag. */
  readonly #mustHold = new Map<number, string>();
  events: Event[] = [];

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  keyOf({ place, content }: WorldRow): string {
    return this.#kind === 'folder'
      ? `${content}`
      : this.#kind === 'labels'
        ? `${place} ${content}`
        : `${content}`;
  }

  edit({ edit, at, content }: Step['edits'][number]): void {
    const { world } = this;
    const row = world[at % Math.max(1, world.length)];
    const place = `p${at}`;
    const isFree = this.#kind === 'table' || !world.some((other) => other.place === place);
    switch (edit) {
      case 'add':
        if (isFree) world.splice(at % (world.length + 1), 0, { place, content, isHidden: false });
        break;
      case 'edit':
        if (row) row.content = content;
        break;
      case 'remove':
        if (row) world.splice(world.indexOf(row), 1);
        break;
      case 'swap':
        if (row && world[0]) [row.content, world[0].content] = [world[0].content, row.content];
        break;
      case 'copy':
        if (row && isFree) world.push({ ...row, place });
        break;
      case 'rename':
        if (row && isFree) row.place = place;
        break;
      case 'sort':
        world.sort((one, other) => one.content - other.content);
        break;
      case 'empty':
        world.length = 0;
        break;
      case 'hide':
        if (row && this.#kind === 'labels') row.isHidden = !row.isHidden;
        break;
    }
  }

  /** Runs the command; returns how many requests it sent. */
  run({ flags, outcomes, kill }: Step): number {
    const flag = (name: Step['flags'][number]) => flags.includes(name);
    let left = kill === 0 ? Number.POSITIVE_INFINITY : kill;
    const apply = (event: Event): boolean => {
      if (left-- <= 0) return false;
      this.events.push(event);
      this.#recorded.apply(event);
      if (isRowEvent(event)) this.#rows.apply(event);
      return true;
    };
    const found = new FoundRows();
    for (const [index, row] of this.world.entries()) {
      const written = digest(`written ${row.place}`);
      const key = row.isHidden ? written : digest(this.keyOf(row));
      const withFiles = this.#kind === 'labels' ? { written } : {};
      const place = this.#kind === 'table' ? undefined : digest(row.place);
      found.add({ key, ...withFiles, isUnreadable: row.isHidden }, index + 1, place);
    }
    const matching = {
      places: { folder: 'path', labels: 'label x', table: undefined }[this.#kind],
      sendChanged: flag('sendChanged'),
    };
    const stateOf = (row: number) => this.#rows.recordedState(row);
    const result = matchRows(this.#recorded, stateOf, found, matching);
    const kinds = [...result.numbers].map((row, at) => {
      if (result.copies.has(at)) return 'copy';
      if (result.held.has(row)) return 'held';
      return this.#recorded.keys.get(row) === undefined ? 'new' : 'continued';
    });
    const matched: Matched = { ...result, kinds };
    this.#expectHeld(matched, flag('sendChanged'));
    if (!this.#record(matched, found, apply)) return this.#restart(0);
    this.#rows.setFound((row) => isInRanges(row, matched.presence.rows));
    this.#expectNumbers(matched);
    let requests = 0;
    const options = {
      resendUnknown: flag('resendUnknown') ? 'all' : [],
      retryFailed: flag('retryFailed') ? 'all' : [],
      resendRejected: false,
    } as const;
    const left_ = new Set<number>();
    if (flag('none'))
      for (const [row, state] of [...this.#rows.entries()])
        if (state === 'unknown') {
          left_.add(row);
          if (!apply({ event: 'uncreated', row })) return this.#restart(requests);
          const key = this.#sent.get(row) ?? '';
          this.firstSends.set(key, (this.firstSends.get(key) ?? 0) - 1);
        }
    for (const [at, row] of this.world.entries()) {
      const number = matched.numbers[at] ?? 0;
      if (matched.kinds[at] === 'copy' || left_.has(number)) continue;
      const state = this.#rows.state(number);
      const action = nextAction(number, state, options);
      const outcome = outcomes[at % outcomes.length] ?? 'finished';
      if (action === 'watch' && !this.#end(number, outcome, apply)) return this.#restart(requests);
      if (action !== 'send') continue;
      if (!apply({ event: 'intent', row: number, label: row.place })) return this.#restart(requests);
      const key = this.keyOf(row);
      // As batch does: what is sent must be what was recorded.
      if (row.isHidden || this.#recorded.keys.get(number) !== digest(key)) {
        if (!apply({ event: 'refused', row: number, code: 'usage', reason: 'x' }))
          return this.#restart(requests);
        continue;
      }
      if (!apply({ event: 'sent', row: number })) return this.#restart(requests);
      requests++;
      const isFirst = hasNoRun(state) && state !== 'rejected';
      if (isFirst) {
        this.firstSends.set(key, (this.firstSends.get(key) ?? 0) + 1);
        expect({ key, isHeld: this.#mustHold.has(number) }).toEqual({ key, isHeld: false });
      }
      this.#sent.set(number, key);
      if (outcome === 'rejected') {
        if (isFirst) this.firstSends.set(key, (this.firstSends.get(key) ?? 0) - 1);
        if (!apply({ event: 'refused', row: number, code: 'rejected', reason: 'x' }))
          return this.#restart(requests);
      } else if (outcome !== 'unknown') {
        if (!apply({ event: 'accepted', row: number, id: `r${requests}` })) return this.#restart(requests);
        if (!this.#end(number, outcome, apply)) return this.#restart(requests);
      }
    }
    this.#expectResults(matched);
    if (this.world.length > 0 && apply({ event: 'completed' })) {
      const isUndecided = this.world.some(
        ({ isHidden }, at) => isHidden && hasNoRun(this.#rows.recordedState(matched.numbers[at] ?? 0)),
      );
      if (!isUndecided) this.#completed.clear();
      for (const row of this.world) if (!row.isHidden) this.#completed.set(row.place, this.keyOf(row));
    }
    return this.#restart(requests);
  }

  /** Reads the events again, as the next command does. */
  #restart(requests: number): number {
    const [rows, recorded] = [createRowStates(), createRecordedRows()];
    for (const event of this.events) {
      recorded.apply(event);
      if (isRowEvent(event)) rows.apply(event);
    }
    [this.#rows, this.#recorded] = [rows, recorded];
    return requests;
  }

  #end(row: number, outcome: Outcome, apply: (event: Event) => boolean): boolean {
    if (outcome === 'lost') return apply({ event: 'lost', row });
    if (outcome !== 'finished' && outcome !== 'failed') return true;
    const run = { id: 'r', status: outcome.toUpperCase(), json: Buffer.from('{}') };
    return apply({ event: 'ended', row, run } as unknown as Event);
  }

  #record(
    { numbers, kinds, released, presence }: Matched,
    found: FoundRows,
    apply: (event: Event) => boolean,
  ): boolean {
    for (const [at, key] of found.keys.entries()) {
      const row = numbers[at] ?? 0;
      const [written, place] = [found.written.get(at), found.places.get(at)];
      const isNew = kinds[at] === 'new' || kinds[at] === 'held';
      const held = kinds[at] === 'held' ? { held: 'x' } : {};
      const recordedKey = this.#recorded.keys.get(row) ?? '';
      const event = { event: 'recorded', row, key: isNew ? key : recordedKey, written, place, ...held };
      if (kinds[at] !== 'copy' && !apply(event as Event)) return false;
      const world = this.world[at];
      if (kinds[at] === 'held' && world) this.#mustHold.set(row, this.keyOf(world));
    }
    for (const row of released) if (!apply({ event: 'released', row })) return false;
    if (!apply({ event: 'present', ...presence, table: '' })) return false;
    for (const [at, place] of found.places.entries())
      if (kinds[at] === 'copy' && !apply({ event: 'copy', of: numbers[at] ?? 0, place })) return false;
    return true;
  }

  // What must be so

  /** Before a command: which contents have changed at their place, so that they must be held. */
  #expectHeld({ kinds, numbers }: Matched, isReleased: boolean): void {
    const held = new Set([...numbers].filter((_, at) => kinds[at] === 'held'));
    const keys = this.world.filter(({ isHidden }) => !isHidden).map((row) => this.keyOf(row));
    const count = (key: string) => keys.filter((other) => other === key).length;
    for (const key of keys) this.allowed.set(key, Math.max(this.allowed.get(key) ?? 0, count(key)));
    const sent = new Set(this.#sent.values());
    const isUnique = new Set(this.world.map(({ place }) => place)).size === this.world.length;
    for (const [at, row] of this.world.entries()) {
      const key = this.keyOf(row);
      if (row.isHidden) continue;
      const before = this.#completed.get(row.place);
      const isChanged =
        before !== undefined && sent.has(before) && this.#hasRun(before) && !keys.includes(before);
      if (this.#kind !== 'table' && isUnique && isChanged && !this.#known.has(key)) {
        const isHeld = held.has(numbers[at] ?? 0);
        if (!isReleased) expect({ key, isHeld }).toEqual({ key, isHeld: true });
      }
      const isHeldContent = [...this.#mustHold.values()].includes(key);
      if (kinds[at] === 'new' && !isReleased)
        expect({ key, isHeldContent }).toEqual({ key, isHeldContent: false });
    }
    if (isReleased) for (const number of numbers) this.#mustHold.delete(number);
    for (const key of keys) this.#known.add(key);
    // Rows that are only added are never held.
    const wasHeld = [...this.#rows.entries()].some(([, state]) => state === 'held');
    const isKept = [...this.#completed.values()].every((key) => keys.includes(key));
    if (!wasHeld && isKept && this.#kind === 'folder') expect(kinds).not.toContain('held');
  }

  #hasRun(key: string): boolean {
    return [...this.#sent].some(([row, sent]) => sent === key && !hasNoRun(this.#rows.recordedState(row)));
  }

  #expectNumbers({ numbers, kinds }: Matched): void {
    const seen = new Set<number>();
    for (const [at, row] of this.world.entries()) {
      const number = numbers[at] ?? 0;
      expect(number).toBeGreaterThan(0);
      if (kinds[at] === 'copy') continue;
      expect(seen.has(number)).toBe(false);
      seen.add(number);
      if (row.isHidden) continue;
      const key = this.keyOf(row);
      if (kinds[at] === 'new' || kinds[at] === 'held') expect(this.#numbered.has(number)).toBe(false);
      expect(this.#numbered.get(number) ?? key).toBe(key);
      this.#numbered.set(number, key);
    }
  }

  /** After a command that came to its end: each row has its own result, and what is not held was sent. */
  #expectResults({ numbers }: Matched): void {
    for (const [at, row] of this.world.entries()) {
      if (row.isHidden) continue;
      const number = numbers[at] ?? 0;
      const state = this.#rows.state(number);
      const key = this.keyOf(row);
      if (!hasNoRun(state)) expect(this.#sent.get(number)).toBe(key);
      if (state === 'waiting') expect(this.#sent.get(number)).toBe(key);
    }
    for (const [key, sends] of this.firstSends)
      expect({ key, tooMany: sends > (this.allowed.get(key) ?? 0) }).toEqual({ key, tooMany: false });
  }
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    edits: fc.array(fc.record({ edit: fc.constantFrom(...EDITS), at: fc.nat(5), content: fc.nat(6) }), {
      maxLength: 4,
    }),
    flags: fc.oneof(
      { weight: 4, arbitrary: fc.constant<Step['flags']>([]) },
      fc.subarray<Step['flags'][number]>(['sendChanged', 'retryFailed', 'resendUnknown', 'none']),
    ),
    outcomes: fc.array(
      fc.constantFrom<Outcome>('finished', 'finished', 'failed', 'unknown', 'running', 'rejected', 'lost'),
      { minLength: 1, maxLength: 3 },
    ),
    kill: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(25)),
  }),
  { minLength: 1, maxLength: 8 },
);

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Returns the bytes of memory in use, without those that nobody can reach. */
function usedMemory(): number {
  // Twice, as buffers that the first finds are freed in the background.
  for (let times = 0; times < 2; times++) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Records rows with labels, finds them again, and returns all that a batch keeps of them. */
function recordAndFind(count: number) {
  const [recorded, rows, found] = [createRecordedRows(), createRowStates(), new FoundRows()];
  for (let row = 1; row <= count; row++) {
    const [key, place] = [digest(`key ${row}`), digest(`place ${row}`)];
    const event: Event = { event: 'recorded', row, key, place, label: `rows.csv:${row} (customer ${row})` };
    recorded.apply(event);
    rows.apply(event);
    found.add({ key, isUnreadable: false }, row, place);
  }
  recorded.apply({ event: 'present', rows: [[1, count]], places: 'label customer' });
  recorded.apply({ event: 'completed' });
  const options = { places: 'label customer', sendChanged: false };
  const { numbers } = matchRows(recorded, (row) => rows.recordedState(row), found, options);
  return { recorded, rows, found, numbers };
}

describe('which rows are which', () => {
  test('a row that was recorded with a label and is found again takes at most 125 bytes', () => {
    const count = 200_000;
    // Code is compiled before.
    recordAndFind(5_000);
    const before = usedMemory();
    const { recorded, rows, found, numbers } = recordAndFind(count);
    expect((usedMemory() - before) / count).toBeLessThan(125);
    expect([...numbers]).toEqual(Array.from(numbers, (_, at) => at + 1));
    expect(recorded.hasLabel(count, `rows.csv:${count} (customer ${count})`)).toBe(true);
    expect([rows.known, found.lines.length]).toEqual([0, count]);
  });

  test.each<Kind>(['folder', 'table', 'labels'])(
    'rows of a %s: no content is sent twice, no result is another row, whatever happens between commands',
    (kind) => {
      fc.assert(
        fc.property(steps, (sequence) => {
          const history = new History(kind);
          for (const step of sequence) {
            for (const edit of step.edits) history.edit(edit);
            history.run(step);
            if (step.kill > 0) continue;
            // The same command again sends nothing.
            const before = history.events.filter(({ event }) => event === 'sent').length;
            history.run({ ...step, edits: [], flags: [], kill: 0 });
            const after = history.events.filter(({ event }) => event === 'sent').length;
            if (!step.flags.includes('none')) expect(after - before).toBe(0);
          }
        }),
        { numRuns: effort(2_000) },
      );
    },
  );
});
