/**
 * What ran before: the interface cannot list runs, so an id that scrolls away would be lost, and with it what was paid
 * for. Names of inputs are kept, never their values. Nothing here fails a run: what cannot be kept is not kept.
 */
import { isAbsolute, join } from 'node:path';
import type { Context } from '../context.js';
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

type Sight = Pick<PastRun, 'id' | 'baseUrl' | 'status'>;

/** Names beyond these would make a record too long to be written in one piece. */
const MAX_NAMES = 50;
const MAX_NAME = 100;

export class History {
  /** The folder of the log; undefined where no history is kept. */
  readonly folder: string | undefined;
  readonly #now: () => number;

  private constructor(folder: string | undefined, now: () => number) {
    this.folder = folder;
    this.#now = now;
  }

  /** The history of this user: in the folder for state of the platform, unless WFR_HISTORY=0. */
  static of(context: Context): History {
    const { WFR_HISTORY, XDG_STATE_HOME = '', LOCALAPPDATA } = context.env;
    // One that is relative is to be ignored (XDG Base Directory Specification).
    const named = isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : LOCALAPPDATA;
    const state = named || homeOf(context)?.concat('/.local/state');
    const isKept = WFR_HISTORY !== '0' && state !== undefined;
    return new History(isKept ? join(state, 'wfr') : undefined, () => context.clock.now());
  }

  /** Keeps a run that the service has accepted. Resolves with what kept it from being written; undefined if nothing did. */
  async triggered(run: Omit<PastRun, 'triggered'>): Promise<unknown> {
    const inputs = run.inputs.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME));
    return this.#append({ ...run, inputs, triggered: new Date(this.#now()).toISOString() });
  }

  /** Keeps the status in which a run was seen, if the run is known and was not seen in it before. */
  async seen({ id, baseUrl, status }: Sight): Promise<void> {
    const known = (await this.runs()).find((run) => isSame(run, { id, baseUrl, status }));
    if (known !== undefined && known.status !== status) await this.#append({ id, baseUrl, status });
  }

  /** The runs that are known, the latest first. */
  async runs(): Promise<PastRun[]> {
    if (this.folder === undefined) return [];
    const runs = new Map<string, PastRun>();
    for (const record of readRecords(this.folder)) {
      const key = `${record.baseUrl} ${String(record.id).toLowerCase()}`;
      if (isTriggered(record)) runs.set(key, { ...record, status: record.status });
      const known = runs.get(key);
      if (known !== undefined && typeof record.status === 'string') known.status = record.status;
    }
    return [...runs.values()].reverse();
  }

  async #append(record: object): Promise<unknown> {
    return this.folder === undefined ? undefined : appendRecord(this.folder, record, this.#now());
  }
}

function homeOf(context: Context): string | undefined {
  try {
    return context.home;
  } catch {
    // A user without a home has no history.
    return undefined;
  }
}

/** Ids are compared without case, as everywhere. */
function isSame(run: Sight, other: Sight): boolean {
  return run.baseUrl === other.baseUrl && run.id.toLowerCase() === other.id.toLowerCase();
}

function isTriggered(record: Record<string, unknown>): record is Record<string, unknown> & PastRun {
  const { id, workflow, baseUrl, triggered, inputs, status = '' } = record;
  if (!Array.isArray(inputs)) return false;
  return [id, workflow, baseUrl, triggered, status, ...inputs].every((text) => typeof text === 'string');
}
