/** One process at a time on a results file: the lock names its host and process, and one whose owner is dead is taken over. */
import { promises } from 'node:fs';
import { BatchFileError } from '../errors.js';
import { codeOf } from '../system-error.js';

export interface Owner {
  host: string;
  pid: number;
  /** Tells this lock from any other. */
  token: string;
}

/** Takes the lock, and gives what lets go of it. Throws BatchFileError where another process has it. */
export async function lock(
  path: string,
  owner: Owner,
  isAlive: (pid: number) => boolean,
): Promise<() => Promise<void>> {
  const text = JSON.stringify(owner);
  for (;;) {
    try {
      await promises.writeFile(path, text, { flag: 'wx' });
      return () => promises.rm(path, { force: true });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      await expectDead(path, owner, isAlive);
    }
  }
}

/** Returns once the lock is gone; throws where its owner may be at work. */
async function expectDead(path: string, us: Owner, isAlive: (pid: number) => boolean): Promise<void> {
  const text = await promises.readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const owner = parseOwner(text);
  if (owner === undefined || owner.host !== us.host || (owner.pid !== us.pid && isAlive(owner.pid))) {
    const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`;
    throw new BatchFileError(`${who} is at work on it; if it is not, remove ${path}`);
  }
  // Of several that find it stale, one moves it away; what another has just put there is put back.
  const away = `${path}.${us.pid}`;
  try {
    await promises.rename(path, away);
  } catch {
    return;
  }
  if ((await promises.readFile(away, 'utf8')) !== text) await promises.link(away, path).catch(() => {});
  await promises.rm(away, { force: true });
}

function parseOwner(text: string): Omit<Owner, 'token'> | undefined {
  try {
    const { host, pid } = JSON.parse(text) as Partial<Owner>;
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid } : undefined;
  } catch {
    return undefined;
  }
}
