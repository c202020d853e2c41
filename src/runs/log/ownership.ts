/** Tracks which process owns a journal, from its `open` and `close` lines (lock.ts). */

/** A process that opened a journal for writing. */
export interface Owner {
  host: string;
  pid: number;
  /** The scope of process ids: the boot of the machine and the PID namespace. */
  space: string;
  /** When it started, so that a later process with its id is told from it; undefined if its system does not say. */
  started?: string;
  /** Eight random hexadecimal digits. */
  token: string;
}

/** The `open` line of an owner. */
export interface Claim {
  owner: Owner;
  /** `device:inode` of the claimed file; differs in a copy of it. */
  file: string;
  /** The token of the dead owner that this one replaces. */
  after?: string;
  /** Set if the line before it may be incomplete. */
  torn?: true;
}

/** The owner of a journal after each of its lines, applied in order. */
export class Ownership {
  #claim: Claim | undefined;
  readonly #replaced = new Set<string>();

  /** The claim of the current owner; undefined if there is none. */
  get claim(): Claim | undefined {
    return this.#claim;
  }

  /** Applies a parsed line; ignores all but `open` and `close`. */
  apply(line: unknown): void {
    const { event, by } = (line ?? {}) as Record<string, unknown>;
    if (event === 'close' && by === this.#claim?.owner.token) this.#claim = undefined;
    if (event === 'open' && isClaim(line)) this.#applyClaim(line);
  }

  /** Returns whether the owner with this token was replaced: its later lines are ignored. */
  isReplaced(token: unknown): boolean {
    return typeof token === 'string' && this.#replaced.has(token);
  }

  #applyClaim(claim: Claim): void {
    const before = this.#claim?.owner.token;
    // The first of several rival claims wins: the others name an owner that is already replaced.
    if (before !== undefined && claim.after !== before) return;
    if (before !== undefined) this.#replaced.add(before);
    this.#claim = claim;
  }
}

/** Returns whether a line is an `open` or `close` line; compares only its first bytes. */
export function isOwnershipLine(line: Uint8Array): boolean {
  const text = Buffer.from(line.buffer, line.byteOffset, Math.min(line.byteLength, 16)).toString('latin1');
  return text.startsWith('{"event":"open"') || text.startsWith('{"event":"close"');
}

/** Returns whether a line is a claim that marks the line before it as possibly incomplete. */
export function followsTornLine(line: unknown): boolean {
  return isClaim(line) && line.torn === true;
}

/** Returns whether a value has the members of a claim. */
export function isClaim(value: unknown): value is Claim {
  const { owner, file, after } = (value ?? {}) as Partial<Claim>;
  const { host, pid, space, token } = (owner ?? {}) as Partial<Owner>;
  const texts = [host, space, token, file, after ?? ''];
  return texts.every((text) => typeof text === 'string') && Number.isSafeInteger(pid);
}
