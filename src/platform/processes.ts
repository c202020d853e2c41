/** Reads about processes in /proc, on Linux. */
import { readFileSync, readlinkSync } from 'node:fs';

/** Returns the boot id and the PID namespace of this process; empty on other systems. */
export function readPidNamespace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Returns how many files this process may have open; Infinity on other systems. */
export function readOpenFileLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Returns whether a process has exited but was not reaped, which may never happen in a container, and when it started, in
 * clock ticks since the boot: a later process with its id has another time. Undefined if the system does not say.
 */
export function readProcess(pid: number): { isZombie: boolean; started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may contain anything; these are fields 3 to 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return started === undefined ? undefined : { isZombie: state === 'Z', started };
  } catch {
    return undefined;
  }
}
