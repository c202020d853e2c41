/** Triggers whose steps are recorded in a journal, so that a later command knows whether a run may exist. */
import { InterruptedError, UnknownOutcomeError } from '../../errors.js';
import { type Exit, ExitCode, exitOfError, toExitCode } from '../../exit-code.js';
import { type Created, createRun, type Trigger } from '../../service/create-run.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { errorText, requestIdOfError } from '../../view/errors/describe-error.js';
import type { Session } from './session.js';

/**
 * Triggers a run. `recordSent` is awaited before the last bytes of each request: it resolves once `sent` is on disk, or
 * throws to withhold them. `recordUnknown` records what is known before the response has ended. Throws what createRun and
 * `recordSent` throw.
 */
export async function createRecordedRun(
  trigger: Trigger,
  { service, interruption }: Pick<Session, 'service' | 'interruption'>,
  recordSent: () => Promise<void>,
  recordUnknown: (reason: string) => void,
): Promise<Created> {
  const { events } = service;
  const candidate = (id: string) => {
    recordUnknown(`the response names the id ${id}, which the service did not confirm`);
    events.candidate(id);
  };
  let hasResponse = false;
  const beforeLastBytes = async () => {
    // A request whose response arrived early may still be reading its files.
    if (hasResponse) throw new Error('the response has already arrived');
    await recordSent();
  };
  try {
    return await createRun(
      trigger,
      { ...service, events: { ...events, candidate } },
      interruption,
      beforeLastBytes,
    );
  } finally {
    hasResponse = true;
  }
}

/** How a trigger failed, for its record. */
export interface TriggerFailure {
  exit: Exit;
  /** `exit` as a number. */
  code: number;
  reason: string;
  /** The id that the service gave the request, sanitized. */
  requestId: string | undefined;
  /** Whether a run may exist: then nothing is recorded, and the state stays `sent`. */
  isUnknown: boolean;
}

/** Returns the members of an event that say why a trigger failed, without secrets. */
export function causeOf({ reason, requestId }: TriggerFailure, secrets: SecretMask) {
  return {
    reason: secrets.mask(reason),
    ...(requestId !== undefined && { requestId: secrets.mask(requestId) }),
  };
}

/** Describes the error of a trigger. Throws OutputError and internal errors, which are no outcome of a trigger. */
export function describeFailure(error: unknown): TriggerFailure {
  const exit = exitOfError(error);
  if (exit === ExitCode.internalError || exit === ExitCode.outputNotWritten) throw error;
  const isUnknown =
    error instanceof UnknownOutcomeError ||
    (error instanceof InterruptedError && error.sendState === 'complete');
  const requestId = requestIdOfError(error);
  return { exit, code: toExitCode(exit), reason: errorText(error), requestId, isUnknown };
}
