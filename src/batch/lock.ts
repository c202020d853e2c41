/**
 * One process at a time on a results file. The lock names its owner; one whose owner is dead is taken over. Whether a
 * process of another container is alive cannot be asked, so an owner also touches its lock, and is watched for a while.
 */
import { promises } from 'node:fs';
import type { Clock } from '../context.js';
import { codeOf } from '../system-error.js';
import { BatchFileError } from './file-error.js';

interface Owner {
  host: string;
  pid: number;
  /** Where process ids mean the same: this boot, and this namespace of processes. */
  space: string;
  /** Tells this lock from any other. */
  token: string;
}

export interface LockTools {
  owner: Owner;
  isAlive(pid: number): boolean;
  clock: Clock;
}

/** Milliseconds between the touches of a lock, without one after which its owner is dead, and for others to settle. */
const TOUCH = 2_000;
const PATIENCE = 10_000;
const SETTLE = 100;

export interface Lock {
  /** Throws BatchFileError where another process has taken it over. */
  expectOurs(): Promise<void>;
  release(): Promise<void>;
}

/** Takes the lock. Throws BatchFileError where another process has it. */
export async function lock(path: string, tools: LockTools): Promise<Lock> {
  const { owner, clock } = tools;
  const own = `${path}.${owner.token}`;
  try {
    await promises.writeFile(own, JSON.stringify(owner), { flag: 'wx' });
    if (!(await linked(own, path))) {
      await expectDead(path, tools);
      // Of several that find it dead, the last one to put its lock there has it.
      await promises.rename(own, path);
      await clock.sleep(SETTLE);
    }
  } finally {
    await promises.rm(own, { force: true });
  }
  return held(path, tools);
}

async function held(path: string, { owner, clock }: LockTools): Promise<Lock> {
  const expectOurs = async () => {
    const found = parseOwner(await promises.readFile(path, 'utf8').catch(() => ''));
    if (found?.token !== owner.token) throw new BatchFileError('another process has taken it over');
  };
  await expectOurs();
  let cancel = () => {};
  const touch = () => {
    const now = new Date(clock.now());
    promises.utimes(path, now, now).catch(() => {});
    cancel = clock.after(TOUCH, touch);
  };
  cancel = clock.after(TOUCH, touch);
  const release = async () => {
    cancel();
    const isOurs = await expectOurs().then(
      () => true,
      () => false,
    );
    if (isOurs) await promises.rm(path, { force: true });
  };
  return { expectOurs, release };
}

/** A link is there with all of its text, or not at all; false where another lock is. */
async function linked(own: string, path: string): Promise<boolean> {
  try {
    await promises.link(own, path).catch((error) => {
      // Not every file system has links.
      if (codeOf(error) === 'EEXIST') throw error;
      return promises.copyFile(own, path, promises.constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Throws where the lock's owner may be at work. */
async function expectDead(path: string, { owner: us, isAlive, clock }: LockTools): Promise<void> {
  const before = await promises.readFile(path, 'utf8').catch(() => '');
  const owner = parseOwner(before);
  const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`;
  const busy = new BatchFileError(`${who} is at work on it; if it is not, remove ${path}`);
  if (owner?.host !== us.host) throw busy;
  if (owner.space === us.space) {
    if (owner.pid !== us.pid && isAlive(owner.pid)) throw busy;
    return;
  }
  const { mtimeMs } = await promises.stat(path);
  await clock.sleep(PATIENCE);
  const after = await promises.stat(path).catch(() => undefined);
  const isSame = (await promises.readFile(path, 'utf8').catch(() => '')) === before;
  if (after?.mtimeMs !== mtimeMs || !isSame) throw busy;
}

function parseOwner(text: string): Owner | undefined {
  try {
    const { host, pid, space, token } = JSON.parse(text) as Partial<Owner>;
    const isOwner = typeof host === 'string' && typeof pid === 'number';
    return isOwner ? { host, pid, space: String(space), token: String(token) } : undefined;
  } catch {
    return undefined;
  }
}
