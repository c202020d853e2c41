/** What a run is: the service's Run object, as far as wfr acts on it, and its text for everything else. */

/** The statuses in which a run stays. */
const TERMINAL_STATUSES = ['FINISHED', 'FAILED'] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

/** Every status that the interface names. */
const KNOWN_STATUSES: readonly string[] = ['PENDING', 'RUNNING', ...TERMINAL_STATUSES];

export interface Run {
  id: string;
  /** As the service wrote it; an answer to a trigger may lack it. */
  status: string | undefined;
  versionName: string | undefined;
  createdAt: string | undefined;
  steps: number | undefined;
  stepsCompleted: number | undefined;
  error: { message: string | undefined; step: string | undefined } | undefined;
  /** The `output` member's JSON text (UTF-8); undefined where there is none. */
  output: Uint8Array | undefined;
  /** The whole object's JSON text (UTF-8), as the service sent it. */
  json: Uint8Array;
}

export type EndedRun = Run & { status: TerminalStatus };

/** Whether a run has ended by itself. */
export function hasEnded(run: Run): run is EndedRun {
  return TERMINAL_STATUSES.some((status) => status === run.status);
}

/** Whether the interface names this status. */
export function isKnownStatus(status: string): boolean {
  return KNOWN_STATUSES.includes(status);
}
