/** Which process owns a journal, as the journal's own lines say. */

/** A process that has opened a journal to write to it. */
export interface Owner {
  host: string;
  pid: number;
  /** Where process ids mean the same: this boot of this machine, and a namespace of processes. */
  space: string;
  /** Eight hexadecimal digits that no other owner has. */
  token: string;
}

/** An owner's `open` line. */
export interface Claim {
  owner: Owner;
  /** The file that was claimed, as `device:inode`, so that a copy of it can be told. */
  file: string;
  /** The token of the dead owner that it replaces. */
  after?: string;
  /** Set where the line before it may be half of one, which nobody can read. */
  torn?: true;
}

/** Takes in the lines of a journal, in their order, and knows its owner after each of them. */
export class Ownership {
  #claim: Claim | undefined;
  readonly #replaced = new Set<string>();

  /** The claim of the present owner; undefined where nobody has the journal open. */
  get claim(): Claim | undefined {
    return this.#claim;
  }

  /** Takes in a line, parsed; one that is about no owner changes nothing. */
  apply(line: unknown): void {
    const { event, by } = (line ?? {}) as Record<string, unknown>;
    if (event === 'close' && by === this.#claim?.owner.token) this.#claim = undefined;
    if (event === 'open' && isClaim(line)) this.#open(line);
  }

  /** Whether a token is that of an owner that was taken for dead: what it wrote since does not count. */
  isReplaced(token: unknown): boolean {
    return typeof token === 'string' && this.#replaced.has(token);
  }

  #open(claim: Claim): void {
    const before = this.#claim?.owner.token;
    // Of several claims at once, the first one counts: the others name an owner that is no longer there.
    if (before !== undefined && claim.after !== before) return;
    if (before !== undefined) this.#replaced.add(before);
    this.#claim = claim;
  }
}

/** Whether a line is about owners, so that only its beginning has to be compared. */
export function isOwnershipLine(line: Uint8Array): boolean {
  const text = Buffer.from(line.buffer, line.byteOffset, Math.min(line.byteLength, 16)).toString('latin1');
  return text.startsWith('{"event":"open"') || text.startsWith('{"event":"close"');
}

/** Whether a line says that the one before it may be half a line. */
export function followsTornLine(line: unknown): boolean {
  return isClaim(line) && line.torn === true;
}

/** Whether a value has the members of a claim. */
export function isClaim(value: unknown): value is Claim {
  const { owner, file, after } = (value ?? {}) as Partial<Claim>;
  const { host, pid, space, token } = (owner ?? {}) as Partial<Owner>;
  const texts = [host, space, token, file, after ?? ''];
  return texts.every((text) => typeof text === 'string') && Number.isSafeInteger(pid);
}
