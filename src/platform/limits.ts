/** The timeouts of requests and of the end of a command (ms), and the most documents that are saved; tests lower them. */
export interface Limits {
  /** Until a connection is established. */
  connect: number;
  /** Without any byte sent during a request. */
  stall: number;
  /** From the last byte of a trigger to the headers of the response. */
  response: number;
  /** Without any byte received of the response to a poll, or of any response body. */
  silence: number;
  /** For the whole body of a response that is not a 2xx. */
  errorBody: number;
  /** How long Ctrl-C waits for the response to a request that was sent. */
  interruptGrace: number;
  /** The same for SIGTERM and SIGHUP: service managers and CI runners soon send SIGKILL. */
  terminationGrace: number;
  /** How long the end of a command waits until the history is written. */
  history: number;
  /** Most documents saved from one output; more suggests an error or an attack. */
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
