/** Bounds the memory for responses to polls until they are printed: a few small ones at a time, and one large one. */

import { WfrError } from '../errors.js';
import { untilAborted } from '../platform/until-aborted.js';

/** Most bytes of a small response. */
export const MAX_SMALL = 8 * 1024 * 1024;
/** Responses that wait to be printed, above which no run is polled. */
const MAX_HELD = 8;

/** There is no room for a response until others were printed: the run is to be polled again. */
export class NoRoomError extends WfrError {
  constructor() {
    // Never shown: followRun catches it.
    super('internal', ['other responses are printed first']);
  }
}

/** The responses to polls that are in memory, in the order in which they are printed. */
export class ResponseMemory {
  readonly places = new Set<ResponsePlace>();
  /** Wakes those that wait for a change. */
  readonly waiting: (() => void)[] = [];

  /** Returns a place in the order, at the end of it as soon as it is used. */
  place(): ResponsePlace {
    return new ResponsePlace(this);
  }
}

/** The place of one run, until it was printed. */
export class ResponsePlace {
  #isHeld = false;
  #isLarge = false;

  constructor(private readonly memory: ResponseMemory) {}

  /** Takes a place at the end of the order, unless it has one. */
  enter(): void {
    this.memory.places.add(this);
  }

  /** Throws NoRoomError while too many responses wait to be printed, unless this is the one to print next. */
  assertRoom(): void {
    if (!this.#hasRoom) throw new NoRoomError();
  }

  /** Throws NoRoomError for the size of a response that is large, until all runs before it were printed. */
  assertRoomFor(size: number): void {
    if (size <= MAX_SMALL) return;
    this.#isLarge = true;
    this.enter();
    this.assertRoom();
  }

  /** Resolves when there is room. Throws the signal's reason. */
  async waitForRoom(signal: AbortSignal): Promise<void> {
    while (!this.#hasRoom) {
      const change = new Promise<void>((resolve) => this.memory.waiting.push(resolve));
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
    this.memory.places.delete(this);
    for (const wake of this.memory.waiting.splice(0)) wake();
  }

  get #hasRoom(): boolean {
    const places = [...this.memory.places];
    const isFirst = places[0] === undefined || places[0] === this;
    return isFirst || (!this.#isLarge && places.filter((place) => place.#isHeld).length < MAX_HELD);
  }
}
