/** Bounds the memory for responses to polls until they are printed: a few small ones at a time, and one large one. */

import { WfrError } from '../errors.js';
import { untilAborted } from '../platform/until-aborted.js';

/** Most bytes of a small response. */
const MAX_SMALL = 8 * 1024 * 1024;
/** Responses that wait to be printed, above which no run is polled. */
const MAX_HELD = 8;

/** There is no room for a response until others were printed: the run is to be polled again. */
export class NoRoomError extends WfrError {
  constructor(readonly isLarge: boolean) {
    // Never shown: getRunInPlace catches it.
    super('internal', ['other responses are printed first']);
  }
}

/** The responses to polls that are in memory, in the order in which they are printed. */
export class ResponseMemory {
  readonly #places = new Set<ResponsePlace>();
  readonly #waiting: (() => void)[] = [];

  /** Returns a place in the order, at the end of it as soon as it is used. */
  place(): ResponsePlace {
    return new ResponsePlace(this.#places, this.#waiting);
  }
}

/** The place of one run, until it was printed. */
export class ResponsePlace {
  #isHeld = false;

  constructor(
    private readonly places: Set<ResponsePlace>,
    /** Wakes those that wait for a change. */
    private readonly waiting: (() => void)[],
  ) {}

  /** Takes a place at the end of the order, unless it has one. */
  enter(): void {
    this.places.add(this);
  }

  /** Throws NoRoomError while too many responses wait to be printed, unless this is the one to print next. */
  assertRoom(): void {
    if (!this.#hasRoom) throw new NoRoomError(false);
  }

  /** Throws NoRoomError for the size of a response that is large, until all runs before it were printed. */
  assertRoomFor(size: number): void {
    if (size <= MAX_SMALL) return;
    this.enter();
    if (!this.#isFirst) throw new NoRoomError(true);
  }

  /** Resolves when there is room. Throws the signal's reason. */
  async waitForRoom({ isLarge }: NoRoomError, signal: AbortSignal): Promise<void> {
    while (!(isLarge ? this.#isFirst : this.#hasRoom)) {
      const change = new Promise<void>((resolve) => this.waiting.push(resolve));
      await untilAborted(change, signal);
    }
  }

  /** Keeps the place for a response in memory. */
  hold(): void {
    this.enter();
    this.#isHeld = true;
  }

  /** Leaves the order: the response was printed, or there is none. */
  end(): void {
    this.#isHeld = false;
    this.places.delete(this);
    for (const wake of this.waiting.splice(0)) wake();
  }

  get #hasRoom(): boolean {
    return this.#isFirst || [...this.places].filter((place) => place.#isHeld).length < MAX_HELD;
  }

  get #isFirst(): boolean {
    const [first] = this.places;
    return first === undefined || first === this;
  }
}
