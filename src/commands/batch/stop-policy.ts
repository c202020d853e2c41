/** Decides from the results of the rows when to send no further ones. No I/O, no clock. */
import type { UnknownOutcomeError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { resendHint } from '../../view/errors/describe-error.js';

/** If so many consecutive rows could not be triggered although the service was reached, the next ones will not be either. */
const MAX_UNREACHABLE_IN_A_ROW = 20;

/** The circumstances in which a row ended. */
export interface StopConditions {
  /** The service has been unreachable for too long. */
  isServiceUnreachable: boolean;
  /** The last of too many consecutive unknown outcomes. */
  lastUnknownOutcome: UnknownOutcomeError | undefined;
}

export class StopPolicy {
  readonly #failFast: boolean;
  #unreachableInARow = 0;
  #reason: readonly string[] | undefined;

  constructor(failFast: boolean) {
    this.#failFast = failFast;
  }

  /** Why no further row may be sent, as lines for the summary; undefined while rows may be sent. */
  get reason(): readonly string[] | undefined {
    return this.#reason;
  }

  /** Takes the result of a row into account; the first reason to stop counts. */
  rowEnded(exit: Exit, conditions: StopConditions): void {
    this.#unreachableInARow = exit === ExitCode.unreachable ? this.#unreachableInARow + 1 : 0;
    this.#reason ??= this.#reasonToStop(exit, conditions);
  }

  #reasonToStop(
    exit: Exit,
    { isServiceUnreachable, lastUnknownOutcome }: StopConditions,
  ): readonly string[] | undefined {
    if (exit === ExitCode.unauthorized) return ['The service rejected the token: no further rows were sent.'];
    if (isServiceUnreachable || this.#unreachableInARow >= MAX_UNREACHABLE_IN_A_ROW)
      return ['The service cannot be reached: no further rows were sent.'];
    if (lastUnknownOutcome !== undefined)
      return [
        'The outcomes of 5 consecutive rows are unknown: no further rows were sent.',
        ...resendHint(lastUnknownOutcome),
      ];
    if (this.#failFast && exit !== ExitCode.ok)
      return ['A row failed, and --fail-fast is set: no further rows were sent.'];
    return undefined;
  }
}
