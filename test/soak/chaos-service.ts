/** A service that injects faults drawn from a seed, and records the runs that it created. */
import { createServer, type Server, type Socket } from 'node:net';
import { LACKS } from '../helpers/system.js';
import { drawPoll, drawTrigger, type End, type TriggerPlan } from './plan.js';
import type { Random } from './random.js';

export interface RecordedRun {
  id: string;
  completed: number;
  ending: 'FINISHED' | 'FAILED';
}

/** The record of one trigger at the service. */
export interface SeenTrigger {
  plan: TriggerPlan;
  bodyLength: number;
  received: number;
  created: RecordedRun | undefined;
  /** The status of a response that was written completely and after which the connection was closed cleanly. */
  responseStatus: number | undefined;
}

const STEPS = 3;

export class ChaosService {
  readonly triggers: SeenTrigger[] = [];
  readonly runs = new Map<string, RecordedRun>();
  /** Called at each step of a request, so that signals can come at any of them. */
  onStep: () => void = () => {};
  readonly #random: Random;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  static statusOf({ completed, ending }: RecordedRun): string {
    return completed >= STEPS ? ending : 'RUNNING';
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {});
    let pending = Buffer.alloc(0);
    let trigger: TriggerInProgress | undefined;
    socket.on('data', (chunk: Buffer) => {
      this.onStep();
      if (trigger !== undefined) return trigger.take(chunk.length);
      pending = Buffer.concat([pending, chunk]);
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = pending.subarray(0, end).toString('latin1');
      const rest = pending.length - end - 4;
      pending = Buffer.alloc(0);
      if (head.startsWith('GET '))
        return this.#poll(socket, decodeURIComponent(head.split(' ')[1]?.split('/').at(-1) ?? ''));
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      trigger = new TriggerInProgress(this, socket, drawTrigger(this.#random), length, this.#random);
      this.triggers.push(trigger.seen);
      trigger.take(rest);
    });
  }

  #poll(socket: Socket, id: string): void {
    const run = this.runs.get(id);
    const plan = drawPoll(this.#random);
    if (run === undefined) return write(socket, responseText(404, {}));
    switch (plan.kind) {
      case 'advance':
        run.completed = Math.min(STEPS, run.completed + 1);
        return write(socket, responseText(200, runObject(run)));
      case 'show':
        return write(socket, responseText(200, runObject(run)));
      case 'other-run':
        return write(socket, responseText(200, { ...runObject(run), id: `${id}-other`, status: 'FINISHED' }));
      case 'nonsense':
        return write(socket, responseText(200, 'nonsense'));
      case 'status':
        return write(socket, responseText(plan.status, {}));
      case 'broken':
        return endSocket(socket, plan.end);
      case 'broken-in-answer': {
        const text = responseText(200, runObject(run));
        write(socket, text.slice(0, Math.floor(plan.at * (text.length - 1))));
        return endSocket(socket, plan.end);
      }
    }
  }

  create(): RecordedRun {
    const run: RecordedRun = {
      id: `run-${this.runs.size + 1}`,
      completed: 0,
      ending: this.#random.pick(['FINISHED', 'FAILED']),
    };
    this.runs.set(run.id, run);
    return run;
  }
}

/** One trigger, until its plan is executed. */
class TriggerInProgress {
  readonly seen: SeenTrigger;
  #done = false;

  constructor(
    private readonly service: ChaosService,
    private readonly socket: Socket,
    plan: TriggerPlan,
    bodyLength: number,
    private readonly random: Random,
  ) {
    this.seen = { plan, bodyLength, received: 0, created: undefined, responseStatus: undefined };
    if (plan.kind === 'broken-at-accept' || plan.kind === 'broken-in-headers')
      this.#finish(() => endSocket(socket, plan.end));
  }

  take(bytes: number): void {
    this.seen.received += bytes;
    const { plan, bodyLength, received } = this.seen;
    const share = 'at' in plan && plan.kind !== 'broken-in-answer' ? plan.at : 1;
    if (this.#done || received < Math.floor(share * bodyLength)) return;
    this.#finish(() => this.#act(plan));
  }

  #finish(act: () => void): void {
    this.#done = true;
    act();
    this.service.onStep();
  }

  #act(plan: TriggerPlan): void {
    const { seen, service, socket } = this;
    if ('creates' in plan && plan.creates && seen.received >= seen.bodyLength)
      seen.created = service.create();
    switch (plan.kind) {
      case 'accept':
      case 'accept-ended': {
        seen.created = service.create();
        if (plan.kind === 'accept-ended') seen.created.completed = STEPS;
        seen.responseStatus = 201;
        return write(socket, responseText(201, runObject(seen.created)), this.random.chance(0.3));
      }
      case 'refused':
      case 'not-now':
      case 'server-error': {
        const headers = 'retryAfter' in plan ? { 'retry-after': plan.retryAfter } : undefined;
        seen.responseStatus = plan.status;
        write(socket, responseText(plan.status, { message: 'amount is wrong' }, headers));
        return void setImmediate(() => (LACKS.dataBeforeReset ? socket.end() : socket.destroySoon()));
      }
      case 'broken-in-answer': {
        seen.created = service.create();
        const text = responseText(201, runObject(seen.created));
        write(socket, text.slice(0, Math.floor(plan.at * (text.length - 1))));
        return endSocket(socket, plan.end);
      }
      case 'nonsense':
        return void socket.end(plan.text);
      default:
        return 'end' in plan ? endSocket(socket, plan.end) : undefined;
    }
  }
}

function runObject(run: RecordedRun): Record<string, unknown> {
  const status = ChaosService.statusOf(run);
  const output = status === 'FINISHED' ? { of: run.id } : null;
  const error = status === 'FAILED' ? { error: { message: 'm', step: 's' } } : {};
  return {
    id: run.id,
    versionName: 'v',
    status,
    createdAt: 'now',
    steps: STEPS,
    stepsCompleted: run.completed,
    output,
    ...error,
  };
}

function responseText(status: number, body: unknown, headers: Record<string, string> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = Object.entries({ ...headers, 'content-length': String(text.length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n${text}`;
}

function write(socket: Socket, text: string, inPieces = false): void {
  if (!inPieces) return void socket.write(text);
  const middle = Math.floor(text.length / 2);
  socket.write(text.slice(0, middle));
  setImmediate(() => socket.write(text.slice(middle)));
}

function endSocket(socket: Socket, end: End): void {
  if (end === 'reset') socket.resetAndDestroy();
  else if (end === 'close') socket.end();
  else socket.pause();
}
