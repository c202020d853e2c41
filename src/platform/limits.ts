/** Limits that a peer has for its side: of time, in milliseconds, and of documents. */
export interface Limits {
  connect: number;
  /** No byte moved while sending. */
  stall: number;
  /** From the last byte of a trigger to the head of its answer. */
  response: number;
  /** No byte of an answer to a poll, or of the body of any answer. */
  silence: number;
  /** For the whole body of an answer that is not a 2xx. */
  errorBody: number;
  /** How long Ctrl-C waits for the answer to a request that has been sent. */
  interruptGrace: number;
  /** How long SIGTERM and SIGHUP wait for it: a service manager or a CI runner soon sends SIGKILL. */
  terminationGrace: number;
  /** How long the end of a command waits for the history to be on disk. */
  history: number;
  /** Of one output that become files: more of them are no documents but an accident, or an attack. */
  documents: number;
}

export const DEFAULT_LIMITS: Limits = {
  connect: 10_000,
  stall: 60_000,
  response: 300_000,
  silence: 30_000,
  errorBody: 10_000,
  interruptGrace: 10_000,
  terminationGrace: 2_000,
  history: 2_000,
  documents: 10_000,
};
