/** The service's Run object: the members that wfr uses, and its JSON text for output. */

/** Statuses that do not change any more. */
const TERMINAL_STATUSES = ['FINISHED', 'FAILED'] as const;

/** Every status that the interface defines. */
export const KNOWN_STATUSES: readonly string[] = ['PENDING', 'RUNNING', ...TERMINAL_STATUSES];

export interface Run {
  id: string;
  /** May be missing in the response to a trigger. */
  status: string | undefined;
  versionName: string | undefined;
  createdAt: string | undefined;
  steps: number | undefined;
  stepsCompleted: number | undefined;
  error: { message: string | undefined; step: string | undefined } | undefined;
  /** JSON text (UTF-8) of the `output` member. */
  output: Uint8Array | undefined;
  /** JSON text (UTF-8) of the whole object, as the service sent it. */
  json: Uint8Array;
}

type Ended = { status: (typeof TERMINAL_STATUSES)[number] };
export type EndedRun = Run & Ended;

/** Returns the run without its JSON, which may be large: it was printed. */
export function withoutJson(run: Run): Run {
  return { ...run, output: undefined, json: new Uint8Array() };
}

/** Returns whether there is a run, and its status is FINISHED. */
export function isFinished(run: Run | undefined): run is Run & { status: 'FINISHED' } {
  return run?.status === 'FINISHED';
}

/** Returns whether there is a run, and its status is FINISHED or FAILED. */
export function hasEnded<One extends Partial<Run>>(run: One | undefined): run is One & Ended {
  return TERMINAL_STATUSES.some((terminal) => terminal === run?.status);
}

/** Returns the output as JSON text (UTF-8): `null` where the service sent none. */
export function outputOf({ output }: Run): Uint8Array {
  return output ?? Buffer.from('null');
}

/** Returns whether the interface defines this status. */
export function isKnownStatus(status = ''): boolean {
  return KNOWN_STATUSES.includes(status);
}
