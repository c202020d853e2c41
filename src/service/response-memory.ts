/** Bounds the memory for responses to polls until they are printed: a few small ones at a time, and one large one. */

import { untilAborted } from '../platform/until-aborted.js';

/** Most bytes of a small response. */
const MAX_SMALL = 8 * 1024 * 1024;
/** Responses that wait to be printed, above which no run is polled. */
const MAX_HELD = 8;

/** There is no room for a response until others were printed: the run is to be polled again. Never shown: followRun catches it. */
export const NO_ROOM = new Error('other responses are printed first');

/** Returns a place in the order in which the responses to polls are printed, at the end of it as soon as it is used. */
export type OpenPlace = ReturnType<typeof createResponseMemory>;
/** The place of one run, until it was printed. */
export type ResponsePlace = ReturnType<OpenPlace>;

/** Returns what opens places in an order that is still empty. */
export function createResponseMemory() {
  const places = new Set<{ isHeld: boolean }>();
  /** Wakes those that wait for a change. */
  const waiting: (() => void)[] = [];
  return () => {
    const own = { isHeld: false };
    let isLarge = false;
    const hasRoom = () => {
      const [first = own] = places;
      const held = [...places].filter(({ isHeld }) => isHeld);
      return first === own || (!isLarge && held.length < MAX_HELD);
    };
    /** Takes a place at the end of the order, unless it has one. */
    const enter = () => void places.add(own);
    /** Throws NO_ROOM while too many responses wait to be printed, unless this is the one to print next. */
    const assertRoom = () => {
      if (!hasRoom()) throw NO_ROOM;
    };
    return {
      maxSmall: MAX_SMALL,
      enter,
      assertRoom,
      /** Throws NO_ROOM for the size of a response that is large, until all runs before it were printed. */
      assertRoomFor(size: number) {
        if (size <= MAX_SMALL) return;
        isLarge = true;
        enter();
        assertRoom();
      },
      /** Resolves when there is room. Throws the signal's reason. */
      async waitForRoom(signal: AbortSignal) {
        while (!hasRoom()) await untilAborted(new Promise<void>((wake) => waiting.push(wake)), signal);
      },
      /** Keeps the place for a response in memory. */
      hold() {
        enter();
        own.isHeld = true;
      },
      /** Leaves the order: the response was printed, or there is none. */
      end() {
        own.isHeld = false;
        places.delete(own);
        for (const wake of waiting.splice(0)) wake();
      },
    };
  };
}
