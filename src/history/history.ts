/**
 * What ran before: the interface cannot list runs, so an id that scrolls away would be lost, and with it what was paid
 * for. Names of inputs are kept, never their values. Nothing here fails a run: what cannot be kept is not kept.
 */
import { isAbsolute, join } from 'node:path';
import type { Clock, Context } from '../platform/context.js';
import { appendRecord, readRecords } from './log.js';

/** A run that was triggered from here. */
export interface PastRun {
  id: string;
  workflow: string;
  baseUrl: string;
  /** ISO 8601, UTC. */
  triggered: string;
  /** The names of its inputs. */
  inputs: readonly string[];
  /** As it was seen last. */
  status: string | undefined;
}

type StatusRecord = Pick<PastRun, 'id' | 'baseUrl' | 'status'>;

/** Names beyond these would make a record too long to be written in one piece. */
const MAX_NAMES = 50;
const MAX_NAME_LENGTH = 100;

/** The disk of the history does not answer. */
export class HistoryTimeoutError extends Error {
  constructor() {
    super('the disk does not answer');
  }
}

export class History {
  /** The folder of the log; undefined where no history is kept. */
  readonly folder: string | undefined;
  readonly #clock: Clock;
  readonly #limit: number;
  /** What is being written, and what came of what was before: a disk that hangs must delay nothing. */
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(folder: string | undefined, { clock, limits }: Pick<Context, 'clock' | 'limits'>) {
    this.folder = folder;
    this.#clock = clock;
    this.#limit = limits.history;
  }

  /** The history of this user: in the folder for state of the platform, unless WFR_HISTORY=0. */
  static open(context: Context): History {
    const { WFR_HISTORY, XDG_STATE_HOME = '', LOCALAPPDATA } = context.env;
    // One that is relative is to be ignored (XDG Base Directory Specification).
    const named = isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : LOCALAPPDATA;
    const state = named || findHome(context)?.concat('/.local/state');
    const isKept = WFR_HISTORY !== '0' && state !== undefined;
    return new History(isKept ? join(state, 'wfr') : undefined, context);
  }

  /** Keeps a run that the service has accepted, in the background. */
  recordTrigger(run: Omit<PastRun, 'triggered'>): void {
    const inputs = run.inputs.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME_LENGTH));
    const triggered = new Date(this.#clock.now()).toISOString();
    this.#inBackground(() => this.#append({ ...run, inputs, triggered }));
  }

  /** Keeps the status in which a run was seen, if the run is known and was not seen in it before, in the background. */
  recordStatus({ id, baseUrl, status }: StatusRecord): void {
    this.#inBackground(async () => {
      const known = (await this.readRuns()).find((run) => isSame(run, { id, baseUrl, status }));
      const isNew = known !== undefined && known.status !== status;
      return isNew ? this.#append({ id, baseUrl, status }) : undefined;
    });
  }

  /**
   * Resolves once everything is kept, with what kept it from being written first; undefined if nothing did. Gives a
   * HangingHistoryError where the disk does not answer in time.
   */
  async flush(): Promise<unknown> {
    let cancel = () => {};
    const late = new Promise((resolve) => {
      cancel = this.#clock.after(this.#limit, () => resolve(new HistoryTimeoutError()));
    });
    return Promise.race([this.#writing, late]).finally(() => cancel());
  }

  #inBackground(write: () => Promise<unknown>): void {
    this.#writing = this.#writing.then(async (before) => before ?? (await write()));
  }

  /** The runs that are known, the latest first. */
  async readRuns(): Promise<PastRun[]> {
    if (this.folder === undefined) return [];
    const runs = new Map<string, PastRun>();
    for (const record of await readRecords(this.folder)) {
      const key = `${record.baseUrl} ${String(record.id).toLowerCase()}`;
      if (isTriggered(record)) runs.set(key, { ...record, status: record.status });
      const known = runs.get(key);
      if (known !== undefined && typeof record.status === 'string') known.status = record.status;
    }
    return [...runs.values()].reverse();
  }

  async #append(record: object): Promise<unknown> {
    return this.folder === undefined ? undefined : appendRecord(this.folder, record, this.#clock.now());
  }
}

function findHome(context: Context): string | undefined {
  try {
    return context.home;
  } catch {
    // A user without a home has no history.
    return undefined;
  }
}

/** Ids are compared without case, as everywhere. */
function isSame(run: StatusRecord, other: StatusRecord): boolean {
  return run.baseUrl === other.baseUrl && run.id.toLowerCase() === other.id.toLowerCase();
}

function isTriggered(record: Record<string, unknown>): record is Record<string, unknown> & PastRun {
  const { id, workflow, baseUrl, triggered, inputs, status = '' } = record;
  if (!Array.isArray(inputs)) return false;
  return [id, workflow, baseUrl, triggered, status, ...inputs].every((text) => typeof text === 'string');
}
