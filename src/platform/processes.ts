/** What Linux tells of processes in /proc; elsewhere, nothing is known. */
import { readFileSync, readlinkSync } from 'node:fs';

/** The boot and the namespace of processes, where the system (Linux) tells them. */
export function readPidNamespace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** A process that has ended and that nobody has asked about yet; on Linux, where a container may never ask. */
export function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^ Z/.test(stat.slice(stat.lastIndexOf(')') + 1));
  } catch {
    return false;
  }
}
