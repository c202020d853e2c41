/**
 * The runs that this user triggered, for `wfr history` and @last: the service cannot list runs, so a lost id would be a
 * lost run. Stores the names of inputs, never their values. A history that cannot be written never fails a run. Several
 * processes may append to it at once: each record is one append, and a file that grows too large replaces an older one, so
 * that no process waits. The rows of batches have files of their own: a large batch would drive out all other runs.
 */

import { constants, promises } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Context } from '../platform/context.js';
import { isFolder, mkdirp } from '../platform/files.js';
import { findFolderRisk } from '../platform/ownership.js';
import { asObject, isObject, parseJson } from '../text/json/json-file.js';
import { formatIso } from '../text/quantity.js';
import { sanitize, sanitizeJson } from '../text/sanitize.js';
import { inFolder, shellCommand, toArgs } from '../text/shell-quote.js';
import { isUuid } from '../text/url.js';

/** A run that this user triggered, or a batch of runs. */
export interface PastRun {
  /** Of a batch, the salt of its results file as a UUID; of a run of which it is unknown whether it exists, any other. */
  id: string;
  workflow: string;
  baseUrl: string;
  /** When it was triggered; of a batch, when its last command began (ISO 8601, UTC). */
  triggered: string;
  /** When a command saw it end, or a batch's last command ended (ISO 8601, UTC); absent where none watched it then. */
  ended?: string;
  /** The names of its inputs. */
  inputs: readonly string[];
  /** The last status that was seen; a batch has none. */
  status?: string | undefined;
  /** How users know it: in a batch its row, such as `rows.csv:12`, else the names of its files. */
  label?: string;
  /** The version of its workflow. */
  version?: string | undefined;
  /** The id of its batch. */
  batch?: string;
  /** Of a batch, the absolute path of its results file; absent if that was stdout. */
  results?: string | undefined;
  /** Of a batch, the command that continues it in any folder, without values of inputs. */
  command?: string | undefined;
  /** Of a batch, and not of such a run, the process of its last command. */
  owner?: Omit<Context['self'], 'isAlive'>;
  /** Whether a batch is of several commands; not recorded. */
  isContinued?: boolean | undefined;
  /** How many rows of a batch are in each state, by its word; a run has none, unless it is unknown whether it exists. */
  rows?: Readonly<Record<string, number>> | undefined;
}

/** Returns whether a record is that of a batch, or of a run of which it is unknown whether it exists. */
export const isBatch = ({ rows }: Pick<PastRun, 'rows'>) => Boolean(rows);

/**
 * Returns the command that continues a batch from the working folder, with more flags; undefined if it is not recorded. It
 * names its service where that is not `current`, the base URL in use.
 */
export function continuation(
  { command, baseUrl }: Pick<PastRun, 'command' | 'baseUrl'>,
  current: string | undefined,
  context: Context,
) {
  const text = command && sanitize(command.replace(inFolder('', context), ''));
  if (!text) return undefined;
  const isNamed = baseUrl === current || / --(base-url|profile)\b/.test(text);
  const service = isNamed ? [] : [shellCommand(toArgs({ baseUrl }))];
  return (...flags: string[]) => {
    const added = [...service, ...flags];
    // What follows -- are files.
    return added.length > 0 && text.includes(' -- ') ? undefined : [text, ...added].join(' ');
  };
}

/** More or longer texts could make a record too long for one atomic write. */
const MAX_INPUTS = 50;
const MAX_LENGTH = 200;

/** Milliseconds of a turn in which the disk may respond. */
const TURN = 20;

/** The history could not be written in time. Node does not end a process while a file operation hangs. */
export const HISTORY_TIMEOUT = new Error(
  'the disk does not respond; wfr cannot exit before it does, except by a signal',
);

export type History = ReturnType<typeof openHistory>;

/** Opens the history in the platform's folder for application state; keeps nothing with WFR_HISTORY=0 or without a home folder. */
export function openHistory(context: Context) {
  const { clock, limits, secrets, uid } = context;
  const log = findFolder(context);
  /** Returns why an existing history is skipped: others could have planted it. */
  const findRisk = async () => log && findFolderRisk(log.path, uid);
  /** Records that wait for the write before them: a batch has many at the same time. */
  const queues: Record<Files, object[]> = { history: [], 'history-rows': [] };
  /** The recorded runs, by `keyOf`, which are read once. */
  let runs: Promise<Map<string, PastRun>> | undefined;
  const endOf = (isEnd: boolean) => (isEnd ? formatIso(clock.now()) : undefined);
  const mask = (text: string | undefined) => text && secrets.mask(text);
  // The end of a path says more than its beginning.
  const short = (text: string | undefined) => mask(text)?.slice(-MAX_LENGTH) || undefined;
  /** All writes so far, in the background; resolves with the first error. */
  let writes: Promise<unknown> = Promise.resolve();

  return {
    /** Undefined if no history is kept. */
    folder: log?.path,
    readAll,
    findRisk,

    /**
     * Records a run that the service accepted just now, or may have, or a batch that began at `time` (ms), in the background; a
     * batch once more when its command has ended.
     */
    recordTrigger(run: Omit<PastRun, 'triggered'>, time = clock.now(), { isEnd = false } = {}): void {
      const record = {
        ...run,
        inputs: run.inputs.slice(0, MAX_INPUTS).map((name) => name.slice(0, MAX_LENGTH)),
        status: short(run.status),
        label: short(run.label),
        version: short(run.version),
        results: mask(run.results),
        command: mask(run.command),
        triggered: formatIso(time),
        ended: endOf(isEnd),
      };
      append(record, run.batch);
    },

    /**
     * Records the status of a known run if it has changed, in the background. A run of a batch is not looked up: its results
     * file knows it. With `isEnd`, it has ended just now.
     */
    recordStatus(
      { id, baseUrl, status: seen, batch }: Pick<PastRun, 'id' | 'baseUrl' | 'status' | 'batch'>,
      { isEnd = false } = {},
    ): void {
      const status = mask(seen);
      const record = { id, baseUrl, status, ended: endOf(isEnd) };
      if (batch) return append(record, batch);
      inBackground(async () => {
        const known = (await readOnce()).get(keyOf({ id, baseUrl }));
        if (known && known.status !== status) await write(filesOf(known.batch), [record]);
      });
    },

    /**
     * Waits until everything is written. Resolves with the first error, HISTORY_TIMEOUT if the disk does not respond
     * in time; undefined if there was none.
     */
    flush: () => inTime(writes, HISTORY_TIMEOUT),

    /** Returns what readAll does; nothing if the disk does not respond in time. */
    readSoon: () => inTime<readonly PastRun[]>(readAll(), []),

    /**
     * Returns the base URLs at which runs were triggered that this id or short id stands for; undefined if the history is
     * off, skipped, or cannot be read soon.
     */
    async servicesOf(id: string): Promise<string[] | undefined> {
      const read = async () => (log && !(await findRisk()) ? readAll() : undefined);
      const known = await inTime(read(), undefined);
      const ids = [id, ...findByStart(id, known?.map((run) => run.id) ?? [])];
      return known?.filter((run) => ids.includes(run.id)).map(({ baseUrl }) => baseUrl);
    },
  };

  /** Waits in short turns: a machine that lacks CPU time is late with each of them, as with each step of the work. */
  async function inTime<T>(work: Promise<T>, late: T): Promise<T> {
    let cancel = () => {};
    const timeout = new Promise<T>((resolve) => {
      const wait = (left: number) => {
        cancel = clock.after(TURN, () => (left > TURN ? wait(left - TURN) : resolve(late)));
      };
      wait(limits.history);
    });
    return Promise.race([work, timeout]).finally(() => cancel());
  }

  function inBackground(work: () => Promise<void>): void {
    writes = writes.then(async (error) => error ?? (await work().catch((thrown) => thrown)));
  }

  /** Returns the runs and batches that were recorded when they were first needed, the latest first. */
  async function readAll(): Promise<PastRun[]> {
    const known = [...(await readOnce()).values()].reverse();
    const rows = known.filter(({ batch }) => batch);
    const others = known.filter(({ batch }) => !batch);
    // The clock may have been set back since, so it orders only what is in different files.
    const latest = () => (!others[0] || (rows[0]?.triggered ?? '') > others[0].triggered ? rows : others);
    return known.flatMap(() => latest().splice(0, 1));
  }

  function readOnce(): Promise<Map<string, PastRun>> {
    runs ??= readRecordedRuns();
    return runs;
  }

  function append(record: object, batch: string | undefined): void {
    const files = filesOf(batch);
    queues[files].push(record);
    inBackground(() => write(files, queues[files].splice(0)));
  }

  /** Appends records, if a history is kept. */
  async function write(files: Files, records: readonly object[]): Promise<void> {
    if (!log || records.length === 0) return;
    const { home } = log;
    if (home && !(await isFolder(home))) throw new Error(`there is no home folder ${home}`);
    await assertSafe(log.path);
    await mkdirp(log.path, 0o700);
    const path = join(await openFolder(log.path), files);
    const { O_APPEND, O_CREAT, O_WRONLY } = constants;
    for (let at = 0; at < records.length; at += AT_ONCE) {
      const file = await promises.open(path + CURRENT, O_APPEND | O_CREAT | O_WRONLY | SAFELY, 0o600);
      try {
        // The first line feed ends a partial record, if another process was killed while writing it.
        const lines = records.slice(at, at + AT_ONCE).map((record) => `\n${sanitizeJson(record)}\n`);
        await file.appendFile(lines.join(''));
        if ((await file.stat()).size > MAX_SIZE) await rotate(path, clock.now()).catch(() => {});
      } finally {
        await file.close();
      }
    }
  }

  /** Reads the recorded runs and batches. */
  async function readRecordedRuns(): Promise<Map<string, PastRun>> {
    const runs = new Map<string, PastRun>();
    for (const record of await readRecords()) {
      const key = keyOf(record);
      if (isTriggered(record)) {
        const before = runs.get(key);
        // A batch that is continued is the latest.
        if (!record.ended) runs.delete(key);
        runs.set(key, { ...record, isContinued: before && (before.isContinued || !record.ended) });
      }
      const { status, ended } = record;
      Object.assign(runs.get(key) ?? {}, {
        ...(typeof status === 'string' && { status }),
        ...(typeof ended === 'string' && { ended }),
      });
    }
    return runs;
  }

  /**
   * Reads the records of all files, of each name the oldest first; a line that is not a JSON object is one without members.
   * Rows are last, as a batch may have adopted a run that was triggered alone.
   */
  async function readRecords(): Promise<Readonly<Record<string, unknown>>[]> {
    const folder = log && (await openFolder(log.path).catch(() => undefined));
    if (!folder) return [];
    const texts = await Promise.all(
      ['history', 'history-rows']
        .flatMap((files) => [files + OLDER, files + CURRENT])
        .map((name) => readText(join(folder, name)).catch(() => '')),
    );
    // Every other line is empty, and an exception takes longer than a record.
    const lines = texts.flatMap((text) => text.split('\n')).filter(Boolean);
    return lines.map((line) => asObject(parseJson(line)));
  }

  /** Returns the real path of the folder, in which no link can change any more. Throws if others could have planted its files. */
  async function openFolder(path: string): Promise<string> {
    const real = join(await promises.realpath(dirname(path)), basename(path));
    await assertSafe(real);
    return real;
  }

  /** Throws if others could have planted the files of a folder. */
  async function assertSafe(path: string): Promise<void> {
    const risk = await findFolderRisk(path, uid);
    if (risk) throw new Error(risk);
  }
}

/** Returns the folder of the history; undefined if none is kept. */
function findFolder({ env, platform, home }: Context) {
  const { WFR_HISTORY, XDG_STATE_HOME, LOCALAPPDATA } = env;
  const inHome = join(home, '.local', 'state');
  const folders = [XDG_STATE_HOME, platform === 'win32' ? LOCALAPPDATA : undefined, inHome];
  // A relative path is to be ignored (XDG Base Directory Specification).
  const state = folders.find((path) => path && isAbsolute(path));
  if (WFR_HISTORY === '0' || !state) return undefined;
  // Root would make a home folder for a user who has none, so it must exist.
  return { path: join(state, 'wfr'), home: state === inHome ? home : undefined };
}

/** A base URL has no space. A batch may be continued at another service. */
const keyOf = ({ baseUrl, id, rows }: { baseUrl?: unknown; id?: unknown; rows?: unknown }) =>
  `${rows ? '' : baseUrl} ${id}`;

function isTriggered(record: Record<string, unknown>): record is Record<string, unknown> & PastRun {
  const { id, workflow, baseUrl, triggered, inputs, status = '', label = '' } = record;
  const { version = '', batch = '', results = '', command = '', rows = {} } = record;
  const areCounts = isObject(rows) && Object.values(rows).every(Number.isSafeInteger);
  if (!Array.isArray(inputs) || !areCounts) return false;
  return [id, workflow, baseUrl, triggered, status, label, version, batch, results, command, ...inputs].every(
    (text) => typeof text === 'string',
  );
}

/** The fewest characters that stand for a UUID. */
const MIN_TYPED = 4;
const NIL = '00000000-0000-0000-0000-000000000000';
/** The lengths to which a UUID is shortened: the ends of its groups. */
const SHOWN = [8, 13, 18, 23];

/** Returns whether a text may be meant as the beginning of a UUID. */
export function isShortId(text: string): boolean {
  const { length } = text;
  return length >= MIN_TYPED && length < NIL.length && isUuid(text + NIL.slice(length));
}

/** Returns the UUIDs among `ids` that a short id begins, in either case; none if it is an id itself. */
export function findByStart(shortId: string, ids: readonly string[]): string[] {
  const start = shortId.toLowerCase();
  if (!isShortId(shortId) || ids.includes(shortId)) return [];
  return ids.filter((id) => isUuid(id) && id.toLowerCase().startsWith(start));
}

/** Returns a function that shortens a UUID to groups that no other of `ids` begins with; other ids are left unchanged. */
export function idShortener(ids: readonly string[]): (id: string) => string {
  const counts = new Map<string, number>();
  const startOf = (id: string, length: number) => id.slice(0, length).toLowerCase();
  for (const id of new Set(ids))
    for (const start of new Set(SHOWN.map((length) => startOf(id, length))))
      counts.set(start, (counts.get(start) ?? 0) + 1);
  return (id) => {
    const length = SHOWN.find((one) => counts.get(startOf(id, one)) === 1);
    return isUuid(id) ? id.slice(0, length) : id;
  };
}

/** The names of the files, without their endings. */
type Files = 'history' | 'history-rows';
const CURRENT = '.jsonl';
const OLDER = '.1.jsonl';
const LOCK = '.lock';
/** Opening a pipe instead of a file must not block, and no link is followed; Windows has no such flags. */
const SAFELY = (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Bytes of each file. */
const MAX_SIZE = 128 * 1024;
/** Records that are written before the size is looked at: rows of a batch may end faster than they are written. */
const AT_ONCE = 100;
/** Age after which the owner of the lock is presumed dead (ms). */
const LOCK_TIMEOUT = 10_000;

/** Returns the files of the rows of a batch, or of all other records. */
const filesOf = (batch: string | undefined): Files => (batch ? 'history-rows' : 'history');

async function readText(path: string): Promise<string> {
  const file = await promises.open(path, constants.O_RDONLY | SAFELY);
  try {
    return (await file.stat()).isFile() ? await file.readFile('utf8') : '';
  } finally {
    await file.close();
  }
}

/** Of several processes that find the file too large, the one that makes the lock checks again and renames it. */
async function rotate(path: string, now: number): Promise<void> {
  const [lock, current] = [path + LOCK, path + CURRENT];
  try {
    await promises.mkdir(lock);
  } catch {
    if (now - (await promises.stat(lock)).mtimeMs > LOCK_TIMEOUT) await promises.rmdir(lock);
    return;
  }
  try {
    if ((await promises.stat(current)).size > MAX_SIZE) await promises.rename(current, path + OLDER);
  } finally {
    await promises.rmdir(lock);
  }
}
