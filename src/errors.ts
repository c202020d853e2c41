/**
 * What wfr expects to fail. An error has its texts for people and its facts for programs from the start, so that all of it
 * is written where the failure is found. Anything else that is thrown is an internal error.
 */
import { ERROR_CODES, type ErrorCode, type SignalName } from './exit-code.js';
import { findNearest } from './text/nearest.js';

/** A response that an error is about, unsanitized. */
export interface ErrorResponse {
  status?: number | undefined;
  /** The service's own message. */
  message?: string | undefined;
  /** The id that the service gave the request. */
  requestId?: string | undefined;
  /** Retry-After in milliseconds. */
  retryAfter?: number | undefined;
}

/** All that is known of an error, as plain data; no text is sanitized. */
export interface Facts {
  code: ErrorCode;
  /** What happened, one line each. */
  summary: readonly string[];
  /** How many lines of the summary, from its first, are a problem each; undefined if all are about one. */
  problemCount?: number;
  /** The summary of one of several runs, equal for all that have the same error. */
  shared: readonly string[];
  /** That, and the service's message, as one text. */
  text: string;
  /** How to fix it, one line each. */
  hints: readonly string[];
  /** The service's own message, or the start of a response that cannot be read. */
  serverMessage?: string | undefined;
  response?: ErrorResponse | undefined;
  /** How many requests to trigger the run were sent; undefined if the error is not about a trigger. */
  attempts?: number;
  /** An id that a response named and the service did not confirm. */
  candidateId?: string | undefined;
  /** The run that --once recorded for another command, and the inputs that differ. */
  recorded?: { runId: string | undefined; differs: readonly string[] };
  /** Whether a run may exist whose id is unknown. */
  runMayExist: boolean;
  /** Whether the error proves that the command created no run. */
  createdNothing: boolean;
  /** Whether the same command might succeed without any change. */
  isTemporary: boolean;
  /** Whether the service no longer knows the run. */
  isLost?: boolean;
  /** The signal that ended the work. */
  signal?: SignalName;
  /** Where wfr itself failed, line by line. */
  stack?: readonly string[];
}

type ErrorState = 'lost' | (typeof ERROR_CODES)[ErrorCode][1];

/** Returns the state that an error leaves its run in (outcome/outcome.ts). */
export function stateOfError({ code, isLost }: Pick<Facts, 'code' | 'isLost'>): ErrorState {
  return isLost ? 'lost' : ERROR_CODES[code][1];
}

/** The facts that an error does not have by default, which may be those of another one: of these, code and texts do not count. */
export type FurtherFacts = Partial<Omit<Facts, 'code' | 'summary' | 'text'>>;

export class WfrError extends Error {
  readonly facts: Facts;

  constructor(
    code: ErrorCode,
    summary: readonly string[],
    further: FurtherFacts = {},
    options?: ErrorOptions,
  ) {
    super(summary.join('\n'), options);
    this.name = new.target.name;
    const { shared = summary, serverMessage } = further;
    const text = [...shared, ...(serverMessage ? [serverMessage] : [])].join('\n');
    const none = { hints: [], runMayExist: false, createdNothing: false, isTemporary: false };
    this.facts = { ...none, ...further, code, summary, shared, text };
  }
}

/** Invalid flags, inputs, files or configuration: all problems of one command line at once. */
export class UsageError extends WfrError {
  readonly problems: readonly string[];

  constructor(
    problems: string | readonly string[],
    readonly hint?: string,
    /** What helps with the problems, and is none itself. */
    readonly notes: readonly string[] = [],
    /** The stderr of a program that failed. */
    quoted?: string,
  ) {
    const hints = hint === undefined ? [] : [`See: ${hint}`];
    const all = [problems].flat();
    const problemCount = all.length;
    super('usage', [...all, ...notes], { problemCount, hints, serverMessage: quoted, createdNothing: true });
    this.problems = all;
  }
}

/** Throws an error of any other class. */
export function throwUnless<E>(error: unknown, expected: new (...args: never[]) => E): asserts error is E {
  if (!(error instanceof expected)) throw error;
}

/** Throws UsageError with all problems, if there are any. What is false, empty or undefined is none. */
export function throwProblems(problems: readonly (string | false | undefined)[], hint?: string): void {
  const found = problems.flatMap((problem) => problem || []);
  if (found.length > 0) throw new UsageError(found, hint);
}

/** Returns the error of two flags, or of what they say, that cannot be given together. */
export function exclusive(one: string, other: string): UsageError {
  return new UsageError(`${one} and ${other} exclude each other`);
}

/** Returns the error of a name that is none of `names`: after `start`, it suggests the nearest, or all. */
export function unknownName(
  start: string,
  name: string,
  names: readonly string[],
  hint?: string,
): UsageError {
  const [begun, another] = names.filter((known) => name.length > 2 && known.startsWith(name));
  const nearest = findNearest(name, names) ?? (another === undefined ? begun : undefined);
  const fix = nearest === undefined ? `choose one of ${names.join(', ')}` : `did you mean ${nearest}?`;
  return new UsageError(start + fix, hint);
}

/** An input that cannot be sent: its text, or the file that it names. The message says why, and how to fix it. */
export class InputError extends UsageError {
  constructor(
    problem: string,
    /** Whether there is no such file. */
    readonly isMissing = false,
  ) {
    super(problem);
  }
}

/** Returns what handles the error of a file that is no input: it throws UsageError, with a text before the message. */
export function rewordInputError(before: string) {
  return (error: unknown): never => {
    throw error instanceof InputError ? new UsageError(before + error.message) : error;
  };
}

/** The results file or the table of a batch cannot be used: unreadable, or not the one the batch was started with. */
export class BatchFileError extends UsageError {}

/** A signal was received; by default while no trigger was in progress. */
export class InterruptedError extends WfrError {
  constructor(
    readonly signal: SignalName,
    summary: readonly string[] = ['interrupted'],
    further: FurtherFacts = {},
  ) {
    super('interrupted', summary, { isTemporary: true, signal, ...further });
  }
}

/** The last line of the error of a trigger that created no run. */
export const NOTHING_CREATED = 'no run was created';

/**
 * Throws the error; that of a signal as one that came while no request could create a run, unless it says itself what it
 * means. `fact` is what that means.
 */
export function throwAsUnsent(error: unknown, fact = NOTHING_CREATED): never {
  const isPlain =
    error instanceof InterruptedError && !error.facts.runMayExist && !error.facts.createdNothing;
  if (!isPlain) throw error;
  throw new InterruptedError(error.signal, [`cancelled; ${fact}`], { createdNothing: true });
}

/** What the error of a trigger says first that may have created a run. */
export const OUTCOME_UNKNOWN = 'the outcome is unknown: a run may have been created';

/** Returns what `use` does; if that fails, closes what was opened for it, whose own error does not count. */
export async function closeOnError<T>(
  opened: { close(): Promise<unknown> },
  use: () => Promise<T>,
): Promise<T> {
  try {
    return await use();
  } catch (error) {
    await opened.close().catch(() => {});
    throw error;
  }
}

type Steps = Record<string, () => unknown>;
/** What a step returns, some of which is open and can be closed. */
type Opened = { close?(): Promise<void> };
export type StepResults<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/**
 * Runs all steps in order and returns their results by name. Throws UsageError with the problems of all of them, after
 * closing what the other steps have opened.
 */
export async function collectUsageErrors<S extends Steps>(steps: S, hint?: string): Promise<StepResults<S>> {
  const problems: string[] = [];
  const notes: string[] = [];
  let where = hint;
  const results: Record<string, Opened | null | undefined> = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      results[name] = (await step()) as Opened;
    } catch (error) {
      throwUnless(error, UsageError);
      problems.push(...error.problems);
      notes.push(...error.notes);
      where ??= error.hint;
    }
  }
  if (problems.length === 0) return results as StepResults<S>;
  for (const result of Object.values(results)) await result?.close?.();
  throw new UsageError(problems, where, notes);
}
