/** Decides from the results of the rows when to send no further ones. No I/O, no clock. */
import { HttpError, NotTriggeredError, type UnknownOutcomeError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { describeError, resendHint } from '../../view/errors/describe-error.js';

/** If so many consecutive rows could not be triggered although the service was reached, the next ones will not be either. */
const MAX_UNREACHABLE_IN_A_ROW = 20;

const NO_FURTHER = 'no further rows were sent.';
const KEEP_GOING = '--keep-going sends the other rows all the same.';

/** The circumstances in which a row ended. */
export interface StopConditions {
  /** The service has been unreachable for too long. */
  isServiceUnreachable: boolean;
  /** The last of too many consecutive unknown outcomes. */
  lastUnknownOutcome: UnknownOutcomeError | undefined;
  /** The last of too many consecutive rejections with the same status. */
  repeatedRejection: HttpError | undefined;
}

export interface StopFlags {
  /** Whether to stop after the first row that does not succeed. */
  failFast: boolean;
  /** Whether to send all rows although the service rejects them. */
  keepGoing: boolean;
}

export class StopPolicy {
  readonly #flags: StopFlags;
  #unreachableInARow = 0;
  #reason: readonly string[] | undefined;

  constructor(flags: StopFlags) {
    this.#flags = flags;
  }

  /** Why no further row may be sent, as lines for the summary; undefined while rows may be sent. */
  get reason(): readonly string[] | undefined {
    return this.#reason;
  }

  /** Takes the result of a row into account; the first reason to stop counts. */
  rowEnded(result: { exit: Exit; error?: unknown }, conditions: StopConditions): void {
    const { exit, error } = result;
    this.#unreachableInARow = exit === ExitCode.unreachable ? this.#unreachableInARow + 1 : 0;
    this.#reason ??= this.#reasonToStop(exit, error, conditions);
  }

  #reasonToStop(
    exit: Exit,
    error: unknown,
    { isServiceUnreachable, lastUnknownOutcome, repeatedRejection }: StopConditions,
  ): readonly string[] | undefined {
    const rejection = this.#flags.keepGoing ? undefined : describeRejection(exit, error, repeatedRejection);
    if (rejection !== undefined) return rejection;
    if (isServiceUnreachable && isBusy(error))
      return [`The service was too busy for 5 minutes: ${NO_FURTHER}`];
    if (isServiceUnreachable || this.#unreachableInARow >= MAX_UNREACHABLE_IN_A_ROW)
      return [`The service cannot be reached: ${NO_FURTHER}`, ...hintsOf(error)];
    if (lastUnknownOutcome !== undefined)
      return [
        `The outcomes of 5 consecutive rows are unknown: ${NO_FURTHER}`,
        ...resendHint(lastUnknownOutcome),
      ];
    if (this.#flags.failFast && exit !== ExitCode.ok)
      return [`A row failed, and --fail-fast is set: ${NO_FURTHER}`];
    return undefined;
  }
}

/** Returns why the service will reject the other rows as well. */
function describeRejection(
  exit: Exit,
  error: unknown,
  repeated: HttpError | undefined,
): readonly string[] | undefined {
  if (exit === ExitCode.unauthorized)
    return [`The service rejected the token: ${NO_FURTHER}`, ...hintsOf(error)];
  if (error instanceof HttpError && error.info.status === 404)
    return [
      `The service does not know the workflow or the address: ${NO_FURTHER}`,
      ...hintsOf(error),
      KEEP_GOING,
    ];
  if (repeated === undefined) return undefined;
  const what = `The service rejected 11 consecutive rows with ${repeated.info.status}`;
  return [`${what}: ${NO_FURTHER}`, ...hintsOf(repeated), KEEP_GOING];
}

/** Returns whether a row was not sent because the service answers all requests with 429 or 503. */
function isBusy(error: unknown): boolean {
  return error instanceof NotTriggeredError && error.cause instanceof HttpError;
}

function hintsOf(error: unknown): readonly string[] {
  return describeError(error)?.hints ?? [];
}
