/** Runs wfr many times against a chaotic service, and compares each result with the record of the service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock } from '../helpers/clock.js';
import { ChaosService, type RecordedRun, type SeenTrigger } from './chaos-service.js';
import { Random } from './random.js';

export interface SoakResult {
  invocations: number;
  runsCreated: number;
  /** Of those: created before a 429 response, after which a trigger may be retried although a run exists. */
  runsBehind429: number;
  faults: Map<string, number>;
  exits: Map<number, number>;
  /** Each with the seed that replays it. */
  violations: string[];
}

/** The capacity of the buffers between two sockets: a sender cannot know whether these bytes were read. */
const BUFFERS = 8_000_000;

export async function soak(firstSeed: number, invocations: number): Promise<SoakResult> {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'small.pdf'), 'x'.repeat(1_000));
  writeFileSync(join(cwd, 'middle.pdf'), Buffer.alloc(700_000, 1));
  writeFileSync(join(cwd, 'large.pdf'), Buffer.alloc(12_000_000, 2));
  const result: SoakResult = {
    invocations,
    runsCreated: 0,
    runsBehind429: 0,
    faults: new Map(),
    exits: new Map(),
    violations: [],
  };
  for (let seed = firstSeed; seed < firstSeed + invocations; seed++) {
    const { outcome, service } = await invoke(seed, cwd);
    result.runsCreated += service.runs.size;
    result.runsBehind429 += service.triggers.filter(isBehind429).length;
    count(result.exits, outcome.exitCode);
    for (const { plan } of service.triggers)
      count(result.faults, 'end' in plan ? `${plan.kind} (${plan.end})` : plan.kind);
    const violation = findViolation(outcome, service);
    if (violation !== undefined) {
      const triggers = service.triggers.map((trigger) => JSON.stringify(trigger)).join('\n  ');
      result.violations.push(
        `seed ${seed}: ${violation}; exit ${outcome.exitCode}\n  ${triggers}\n${outcome.stderr}`,
      );
    }
  }
  return result;
}

function count<K>(into: Map<K, number>, key: K): void {
  into.set(key, (into.get(key) ?? 0) + 1);
}

interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

async function invoke(seed: number, cwd: string): Promise<{ outcome: Outcome; service: ChaosService }> {
  const random = new Random(seed);
  const service = new ChaosService(random);
  const signals = new Signals();
  const clock = new AutoAdvancingClock(25);
  if (random.chance(0.2)) interruptAt(1 + random.below(8), service, signals, random);
  const items = random.pick([[], ['a=1'], ['d@small.pdf'], ['d@middle.pdf', 'a=1'], ['d@large.pdf']]);
  const timeout = random.chance(0.3) ? ['--timeout', random.pick(['0', '3s', '1m'])] : [];
  try {
    const env = { WFR_BASE_URL: await service.listen() };
    const args = ['run', 'w', ...items, ...timeout];
    const outcome = await runCli(args, { env, cwd, clock, signals, limits: { stall: 40 } });
    return { outcome, service };
  } finally {
    service.close();
  }
}

/** Raises a signal at the n-th step of the service. */
function interruptAt(step: number, service: ChaosService, signals: Signals, random: Random): void {
  let steps = 0;
  const signal = random.pick(['SIGINT', 'SIGINT', 'SIGTERM'] as const);
  service.onStep = () => {
    if (++steps === step) setImmediate(() => signals.raise(signal));
  };
}

/** The documented exception: 429 means that nothing was created, but this service violates that. */
const isBehind429 = ({ created, responseStatus }: SeenTrigger) =>
  created !== undefined && responseStatus === 429;

/** Returns what wfr reported or did that the record contradicts. */
function findViolation(outcome: Outcome, service: ChaosService): string | undefined {
  const created = service.triggers.flatMap((trigger) =>
    trigger.created === undefined || isBehind429(trigger) ? [] : [trigger.created],
  );
  if (created.length > 1) return 'two runs from one invocation';
  const id = /^Run (\S+)/m.exec(outcome.stderr)?.[1];
  const run = id === undefined ? undefined : service.runs.get(id);
  if (id !== undefined && run === undefined) return `named ${id}, which does not exist`;
  return findUnsafeResend(service.triggers) ?? findContradiction(outcome, run, created[0], service.triggers);
}

/** Returns a trigger that was retried although the one before may have been accepted. */
function findUnsafeResend(triggers: readonly SeenTrigger[]): string | undefined {
  const wrong = triggers
    .slice(0, -1)
    .find(({ responseStatus, received, bodyLength }) => responseStatus !== 429 && received >= bodyLength);
  return wrong === undefined ? undefined : `retried after ${JSON.stringify(wrong)}`;
}

function findContradiction(
  { exitCode, stdout }: Outcome,
  run: RecordedRun | undefined,
  created: RecordedRun | undefined,
  triggers: readonly SeenTrigger[],
): string | undefined {
  const status = run === undefined ? undefined : ChaosService.statusOf(run);
  switch (exitCode) {
    case 0:
      if (status !== 'FINISHED') return `reported FINISHED for a run that is ${status}`;
      return JSON.parse(stdout).of === run?.id ? undefined : 'printed the output of another run';
    case 1:
      return status === 'FAILED' ? undefined : `reported FAILED for a run that is ${status}`;
    case 8:
      return status === 'RUNNING' ? undefined : `reported a running run that is ${status}`;
    case 4:
    case 5:
    case 7:
      return run === undefined && created !== undefined
        ? 'reported that no run was created, but one was'
        : undefined;
    case 6:
      return run === undefined
        ? findAvoidableUnknown(triggers.at(-1))
        : 'reported an unknown outcome for a run that it named';
    case 130:
    case 143:
      return run === undefined && created !== undefined ? findLostRun(created, triggers) : undefined;
    default:
      return 'ended with an unexpected exit code';
  }
}

/** Returns why exit 6 was wrong: the outcome of the last trigger could have been known. */
function findAvoidableUnknown(last: SeenTrigger | undefined): string | undefined {
  if (last === undefined) return 'outcome unknown without a trigger';
  const { plan, responseStatus, received, bodyLength } = last;
  if (plan.kind === 'accept' || plan.kind === 'accept-ended')
    return 'outcome unknown although the Run was in the response';
  if (responseStatus === 429 || (plan.kind === 'refused' && responseStatus !== undefined))
    return `outcome unknown of a trigger rejected with ${responseStatus}`;
  const couldNotTell = bodyLength - received < BUFFERS;
  return couldNotTell ? undefined : 'outcome unknown of a trigger whose body was incomplete';
}

/** Returns a violation unless the body was complete: only then a signal may leave the outcome unknown. */
function findLostRun(_created: RecordedRun, triggers: readonly SeenTrigger[]): string | undefined {
  const last = triggers.at(-1);
  return last !== undefined && last.received >= last.bodyLength ? undefined : 'lost a run to a signal';
}
