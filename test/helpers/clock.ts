/** Clocks for tests: their time advances while wfr sleeps, or when a test advances it. */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/platform/context.js';

interface Timer {
  at: number;
  action: () => void;
  /** Whether time may advance to it automatically. */
  isSleep: boolean;
}

export class VirtualClock implements Clock {
  /** The duration of every sleep, in milliseconds. */
  readonly sleeps: number[] = [];
  #elapsed = 0;
  #timers: Timer[] = [];
  #pumping = false;

  constructor(readonly start = Date.UTC(2026, 0, 2, 3, 4, 5)) {}

  now(): number {
    return this.start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return 1;
  }

  after(ms: number, action: () => void): () => void {
    return this.#add({ at: this.#elapsed + ms, action, isSleep: false });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps.push(ms);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const cancel = this.#add({ at: this.#elapsed + ms, action: wake, isSleep: true });
      signal?.addEventListener('abort', abort, { once: true });
      void this.#pump();
    });
  }

  /** How many timers and sleeps there are; those of a process that should end would keep it running. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Advances time by `ms`, and runs the timers that are due. */
  advance(ms: number): void {
    const until = this.#elapsed + ms;
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#elapsed = Math.max(this.#elapsed, due.at);
      due.action();
    }
    this.#elapsed = until;
  }

  /** Advances time by `ms` at once, as for a suspended process: due timers run late. */
  jump(ms: number): void {
    this.#elapsed += ms;
    this.advance(0);
  }

  /** Advances time to the next timer. */
  advanceToNext(): void {
    const next = Math.min(...this.#timers.map(({ at }) => at));
    if (Number.isFinite(next)) this.advance(Math.max(0, next - this.#elapsed));
  }

  #add(timer: Timer): () => void {
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances time to the next sleep, after pending socket events have been handled. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    await delay(1);
    await settled(/^(FSReq|GetAddrInfo)/);
    this.#pumping = false;
    const next = Math.min(...this.#timers.filter(({ isSleep }) => isSleep).map(({ at }) => at));
    if (!Number.isFinite(next)) return;
    this.advance(Math.max(0, next - this.#elapsed));
    if (this.#timers.some(({ isSleep }) => isSleep)) void this.#pump();
  }
}

/** What never ends, such as opening a FIFO, delays a virtual clock for this long (ms of real time). */
const MAX_SETTLING = 500;

/** Turns of the event loop in which a request and its response pass between two sockets of this process. */
const TURNS = 20;

/** Resolves when data that has arrived was read, and no operation is under way whose type in Node matches `operations`. */
async function settled(operations: RegExp): Promise<void> {
  const started = performance.now();
  const isBusy = () =>
    performance.now() - started < MAX_SETTLING &&
    process.getActiveResourcesInfo().some((type) => operations.test(type));
  for (let turn = 0; turn < TURNS; turn++) {
    await nextTurn();
    for (; isBusy(); turn = 0) await delay(1);
  }
}

/** A virtual clock for services that do not respond: after `idleMs` without activity it advances to the next timeout. */
export class AutoAdvancingClock extends VirtualClock {
  readonly #pending = new Set<object>();
  #nextJump: NodeJS.Timeout | undefined;

  /** `idleMs` is in real milliseconds. */
  constructor(readonly idleMs = 150) {
    super();
  }

  override after(ms: number, action: () => void): () => void {
    const timer = {};
    const finish = () => {
      this.#pending.delete(timer);
      this.#restart();
    };
    const cancel = super.after(ms, () => {
      finish();
      action();
    });
    this.#pending.add(timer);
    this.#restart();
    return () => {
      cancel();
      finish();
    };
  }

  /** Restarts the idle time: a timeout that is set or cleared shows activity. */
  #restart(): void {
    clearTimeout(this.#nextJump);
    if (this.#pending.size === 0) return;
    const jump = setTimeout(async () => {
      // On a busy machine the idle time may end before a response is read, a file was opened or a process has started.
      await settled(/^(FSReq|GetAddrInfo|ProcessWrap)/);
      if (jump !== this.#nextJump || this.#pending.size === 0) return;
      this.advanceToNext();
      this.#restart();
    }, this.idleMs);
    this.#nextJump = jump;
  }
}

/** Returns the clock, whose time passes at once when wfr sets a timeout of `ms` milliseconds. */
export function endingTimeout(clock: VirtualClock, ms: number): VirtualClock {
  const after = clock.after.bind(clock);
  clock.after = (duration, action) => {
    const cancel = after(duration, action);
    if (duration === ms) setImmediate(() => clock.advance(ms));
    return cancel;
  };
  return clock;
}

/** Real time, without randomness. */
export const realClock: Clock = { ...systemClock, random: () => 1 };
