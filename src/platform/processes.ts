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

/** Returns whether a process has exited but was not reaped, which may never happen in a container; false on other systems. */
export function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^ Z/.test(stat.slice(stat.lastIndexOf(')') + 1));
  } catch {
    return false;
  }
}
