/** A batch: every row once, whatever happens. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Pace } from '../src/batch/pace.js';
import { runCli, Signals, temporaryFolder, type World } from './helpers/cli.js';
import { VirtualClock } from './helpers/clock.js';
import { ROOT } from './helpers/process.js';
import { FAILING, INVOICE, SLOW, sandboxWorld } from './helpers/sandbox.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from './helpers/service.js';

interface Event {
  event: string;
  row?: number;
  id?: string;
  exit?: number;
  reason?: string;
  digest?: string;
  run?: { id: string; status: string };
}

function eventsIn(path: string): Event[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

/** The kinds of event of each row, in their order. */
function stories(path: string): Record<number, string[]> {
  const found: Record<number, string[]> = {};
  for (const { event, row } of eventsIn(path)) {
    if (row !== undefined) found[row] = [...(found[row] ?? []), event];
  }
  return found;
}

const WHOLE = ['intent', 'sent', 'accepted', 'ended'];

/** A folder with files in it. */
function folderWith(files: Record<string, string>): string {
  const cwd = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return cwd;
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => `{"n":${n + 1}}\n`).join('');

/** A service that finishes each run at the second look, and knows which row triggered what. */
async function service(onPost?: Handler) {
  const triggered: unknown[] = [];
  const looks = new Map<string, number>();
  const scripted = await scriptedService(async (request, reply) => {
    if (request.method === 'POST') {
      const body = await request.body();
      // A request that is broken off starts no run.
      if (body.length < Number(request.headers['content-length'])) return;
      if (onPost !== undefined) return onPost(request, reply);
      const { inputs } = JSON.parse(body.toString());
      triggered.push(inputs);
      return reply.send(201, aRun({ id: `run-${triggered.length}`, status: 'PENDING' }));
    }
    const id = request.path.split('/').at(-1) ?? '';
    const look = (looks.get(id) ?? 0) + 1;
    looks.set(id, look);
    reply.send(200, { ...(look > 1 ? aFinishedRun() : aRun()), id });
  });
  const wfr = (args: string[], world: World = {}) =>
    runCli(args, { ...world, env: { WFR_BASE_URL: scripted.baseUrl, ...world.env } });
  return { ...scripted, triggered, wfr };
}

const BATCH = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl', '--rate', '0'];

describe('rows', () => {
  test('of JSON Lines run through the sandbox, each written down step by step', async () => {
    const { env, clock, posts } = await sandboxWorld();
    const cwd = folderWith({
      'rows.jsonl':
        '{"customer":"A","invoice":{"$document":"scan.pdf"}}\n\n{"invoice":{"$document":"scan.pdf"}}',
    });
    copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
    const args = ['batch', INVOICE, '--rows', 'rows.jsonl', '--results', 'out.jsonl', '-i', 'customer=B'];
    const { exitCode, stdout, stderr } = await runCli(args, { env, clock, cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    expect(stderr).toMatch(/2 rows: 2 FINISHED\n$/);
    expect(posts()).toBe(2);
    expect(stories(join(cwd, 'out.jsonl'))).toEqual({ 1: WHOLE, 2: WHOLE });
    const customers = eventsIn(join(cwd, 'out.jsonl')).flatMap(({ row, run }) =>
      run === undefined ? [] : [[row, (run as unknown as { output: { customer: string } }).output.customer]],
    );
    expect(customers.sort()).toEqual([
      [1, 'A'],
      [2, 'B'],
    ]);
  });

  test('of CSV say name and type in the header, and their cells are taken as they are', async () => {
    const { triggered, wfr } = await service();
    mkdirSync(join(temporaryFolder(), 'x'));
    const cwd = folderWith({
      'rows.csv':
        '\ufeffname, amount:=,note=@,scan@,tags:=@\r\n"A, ""Inc""",12.50,note.txt,s.pdf,t.json\r\n@home,,,,\r\n=x,"{""a"":1}",,s;type=a/b,\r\n',
      'note.txt': 'hello\n',
      's.pdf': '%PDF',
      s: 'raw',
      't.json': '[1.0]',
    });
    const args = [
      'batch',
      'w',
      '--rows',
      'rows.csv',
      '--results',
      'out.jsonl',
      '--concurrency',
      '1',
      '--rate',
      '0',
    ];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([
      {
        name: 'A, "Inc"',
        amount: 12.5,
        note: 'hello\n',
        scan: 'data:application/pdf;base64,JVBERg==',
        tags: [1],
      },
      { name: '@home' },
      { name: '=x', amount: { a: 1 }, scan: 'data:a/b;base64,cmF3' },
    ]);
  });

  test('of --each are files, and those of --rows may come from standard input', async () => {
    const { triggered, wfr } = await service();
    const cwd = folderWith({ 'a.pdf': 'a', 'b.pdf': 'b' });
    const each = [
      'batch',
      'w',
      '--each',
      'scan',
      'a.pdf',
      'b.pdf',
      '--results',
      'x.jsonl',
      '--concurrency',
      '1',
    ];
    expect((await wfr(each, { cwd })).exitCode).toBe(0);
    const rows = ['batch', 'w', '--rows', '-', '--results', 'y.jsonl', '--concurrency', '1'];
    expect((await wfr(rows, { cwd, stdin: '{"n":1}\n{"n":2}\n' })).exitCode).toBe(0);
    expect(triggered).toEqual([
      { scan: 'data:application/pdf;base64,YQ==' },
      { scan: 'data:application/pdf;base64,Yg==' },
      { n: 1 },
      { n: 2 },
    ]);
  });

  test('paths in a table are relative to it', async () => {
    const { triggered, wfr } = await service();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data/rows.csv'), 'note=@\nn.txt\n');
    writeFileSync(join(cwd, 'data/n.txt'), 'here');
    await wfr(['batch', 'w', '--rows', 'data/rows.csv'], { cwd });
    expect(triggered).toEqual([{ note: 'here' }]);
  });

  test('that are bad are said with their line and counted, and the others go on', async () => {
    const { triggered, wfr } = await service();
    const cwd = folderWith({
      'rows.jsonl': '{"n":1}\n{"n":\n[2]\n{"d":{"$document":"none.pdf"}}\n{"n":5}\n',
    });
    const { exitCode, stderr } = await wfr(BATCH, { cwd });
    expect(exitCode).toBe(3);
    expect(triggered).toEqual(expect.arrayContaining([{ n: 1 }, { n: 5 }]));
    expect(triggered).toHaveLength(2);
    expect(stderr).toMatch(/row 2 {2}rows\.jsonl:2: not JSON/);
    expect(stderr).toMatch(/row 3 {2}rows\.jsonl:3: holds JSON that is not an object/);
    expect(stderr).toMatch(/row 4 {2}rows\.jsonl:4: d: none\.pdf: no such file \(ENOENT\)/);
    expect(stderr).toMatch(/5 rows: 2 FINISHED, 3 bad\n/);
    expect(eventsIn(join(cwd, 'out.jsonl')).filter(({ exit }) => exit === 2)).toHaveLength(3);
  });

  test('are all checked by --check, which sends nothing and writes nothing', async () => {
    const { requests, wfr } = await service();
    const cwd = folderWith({ 'rows.csv': 'a,b:=\n1,x\n2,2,3\n3,4\n' });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('wfr: rows.csv:2: b:=x: ');
    expect(stderr).toContain('  rows.csv:3: has 3 cells, and the header has 2; quote a cell');
    writeFileSync(join(cwd, 'rows.csv'), 'a,b:=\n1,2\n');
    const right = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(right).toMatchObject({ exitCode: 0, stderr: '1 row is right; nothing was sent.\n' });
    expect(requests).toEqual([]);
  });

  test.each([
    ['x=@y,b\n', 'rows.csv:1: x=@y: has text behind "=@"; name the column x=@'],
    ['a,=\n', 'is a column without a name'],
    ['a,b,a:=\n', 'has two columns for "a"'],
    ['a\n"x\n', 'is not CSV'],
  ])('a table %j cannot be read on: exit 2', async (text, complaint) => {
    const { requests, wfr } = await service();
    const cwd = folderWith({ 'rows.csv': text });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--results', 'o'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(complaint);
    expect(requests).toEqual([]);
  });

  test('--fail-fast sends no further row once one has failed', async () => {
    const { posts, wfr } = await service((_request, reply) => reply.send(422, { message: 'no' }));
    const cwd = folderWith({ 'rows.jsonl': rowsOf(10) });
    const flags = ['--fail-fast', '--concurrency', '1', '--workflow-id-field', 'workflowId'];
    const { exitCode, stderr } = await wfr([...BATCH, ...flags], { cwd });
    expect(posts()).toHaveLength(1);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('--fail-fast: no further row was sent.');
  });
});

describe('the command line', () => {
  test('is held to what a batch needs, all at once, and nothing is sent', async () => {
    const { requests, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    const bad = ['--concurrency', '0', '--rate', 'x', '--shard', '3/2', '-i', 'bad'];
    const { stderr, exitCode } = await wfr(['batch', 'w', ...bad], { cwd });
    expect(exitCode).toBe(2);
    for (const complaint of [
      '--concurrency 0: give a whole number',
      '--rate x: give a number of requests a second',
      '--shard 3/2: write which of how many',
      'bad: is not an input',
      'give the rows: --rows <file>, or --each <name> and files',
    ]) {
      expect(stderr).toContain(complaint);
    }
    for (const [args, complaint] of [
      [['--rows', 'rows.jsonl'], 'several rows need --results'],
      [['--rows', 'none.csv'], '--rows none.csv: no such file'],
      [['--each', 'd'], '--each d: give the files'],
      [['--rows', 'rows.jsonl', 'x.pdf'], 'x.pdf: files go with --each'],
      [['--rows', 'rows.jsonl', '--report', 'json=r.json'], '--report needs --results'],
    ] as const) {
      const result = await wfr(['batch', 'w', ...args], { cwd });
      expect([args, result.exitCode]).toEqual([args, 2]);
      expect(result.stderr).toContain(complaint);
    }
    expect(requests).toEqual([]);
  });

  test('a single row needs no results file, and --results - writes the events to stdout', async () => {
    const { wfr } = await service();
    const cwd = folderWith({ 'one.jsonl': rowsOf(1), 'rows.jsonl': rowsOf(2) });
    expect((await wfr(['batch', 'w', '--rows', 'one.jsonl'], { cwd })).exitCode).toBe(0);
    const { stdout } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', '-'], { cwd });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Event).event);
    expect(events.filter((event) => event === 'ended')).toHaveLength(2);
  });
});

describe('what was begun', () => {
  test('is not begun again: the same command goes on, and does nothing where nothing is left', async () => {
    const { posts, requests, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(5) });
    expect((await wfr(BATCH, { cwd })).exitCode).toBe(0);
    const before = requests.length;
    const again = await wfr(BATCH, { cwd });
    expect(again).toMatchObject({ exitCode: 0, stderr: '5 rows: 5 FINISHED\n' });
    expect(requests).toHaveLength(before);
    expect(posts()).toHaveLength(5);
  });

  test('is on the disk as sent before its request is complete, whatever else is not', async () => {
    const cwd = folderWith({ 'rows.jsonl': rowsOf(3) });
    const seen: boolean[] = [];
    const { wfr } = await service(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      const story = stories(join(cwd, 'out.jsonl'))[inputs.n] ?? [];
      seen.push(story.includes('sent'));
      reply.send(201, aFinishedRun());
    });
    await wfr(BATCH, { cwd });
    expect(seen).toEqual([true, true, true]);
  });

  test('with an id is watched again, not sent again', async () => {
    const { posts, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    expect((await wfr([...BATCH, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    expect(stories(join(cwd, 'out.jsonl'))).toEqual({ 1: WHOLE.slice(0, 3), 2: WHOLE.slice(0, 3) });
    expect((await wfr(BATCH, { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
    expect(stories(join(cwd, 'out.jsonl'))).toEqual({ 1: WHOLE, 2: WHOLE });
  });

  test('and is of unknown outcome is listed with exit 6, and sent again only with --resend-unknown', async () => {
    let isBroken = true;
    let count = 0;
    const { posts, wfr } = await service((_request, reply) => {
      count++;
      if (isBroken && count === 2) reply.socket.destroy();
      else reply.send(201, { ...aFinishedRun(), id: `run-${count}` });
    });
    const cwd = folderWith({ 'rows.jsonl': rowsOf(3) });
    const args = [...BATCH, '--concurrency', '1'];
    const first = await wfr(args, { cwd });
    expect(first.exitCode).toBe(6);
    expect(first.stderr).toContain('3 rows: 2 FINISHED, 1 unknown\n');
    expect(first.stderr).toContain('Unknown, a run may exist: row 2. Look at the service');
    expect(stories(join(cwd, 'out.jsonl'))[2]).toEqual(['intent', 'sent']);
    isBroken = false;
    expect((await wfr(args, { cwd })).exitCode).toBe(6);
    expect(posts()).toHaveLength(3);
    expect((await wfr([...args, '--resend-unknown'], { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(4);
  });

  test('and FAILED or was refused is triggered anew only with --retry-failed; what never left is sent', async () => {
    let isRight = false;
    const { posts, wfr } = await service(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (isRight) return reply.send(201, { ...aFinishedRun(), id: `new-${inputs.n}` });
      if (inputs.n === 1) return reply.send(422, { message: 'no' });
      reply.send(201, aRun({ id: 'x', status: 'FAILED', error: { step: 'Read', message: 'm' } }));
    });
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2}\n{"n":3,"d":{"$document":"later.pdf"}}\n' });
    const args = [...BATCH, '--workflow-id-field', 'workflowId'];
    const first = await wfr(args, { cwd });
    expect(first.exitCode).toBe(3);
    expect(first.stderr).toMatch(/Failed at step Read: 1\n/);
    expect(posts()).toHaveLength(2);
    isRight = true;
    writeFileSync(join(cwd, 'later.pdf'), 'x');
    expect((await wfr(args, { cwd })).exitCode).toBe(3);
    expect(posts()).toHaveLength(3);
    expect((await wfr([...args, '--retry-failed'], { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(5);
  });

  test('with another table, workflow, service or shard is refused, and nothing is sent', async () => {
    const { requests, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(3) });
    await wfr(BATCH, { cwd });
    const before = requests.length;
    const refused = async (args: string[], world: World = {}) => {
      const { exitCode, stderr } = await wfr(args, { cwd, ...world });
      expect(exitCode).toBe(2);
      return stderr;
    };
    expect(await refused(['batch', 'v', ...BATCH.slice(2)])).toContain(
      'is of a batch with the workflow w, not v',
    );
    expect(await refused([...BATCH, '--shard', '1/2'])).toContain('with the shard 1/1, not 1/2');
    expect(await refused(BATCH, { env: { WFR_BASE_URL: 'http://127.0.0.1:1' } })).toContain(
      'with the baseUrl',
    );
    expect(await refused([...BATCH, '-i', 'more=1'])).toContain('rows.jsonl:1: row 1 is not what it was');
    writeFileSync(join(cwd, 'rows.jsonl'), '{"n":1}\n{"n":0}\n{"n":3}\n');
    expect(await refused(BATCH)).toContain('rows.jsonl:2: row 2 is not what it was when out.jsonl was begun');
    writeFileSync(join(cwd, 'rows.jsonl'), rowsOf(2));
    expect(await refused(BATCH)).toContain('the table has 2 rows, and out.jsonl knows row 3');
    writeFileSync(join(cwd, 'rows.jsonl'), rowsOf(4));
    expect((await wfr(BATCH, { cwd })).exitCode).toBe(0);
    expect(requests.length).toBeGreaterThan(before);
  });

  test('a torn last line is repaired, and a line that is none is refused by its place', async () => {
    const { posts, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    await wfr(BATCH, { cwd });
    const path = join(cwd, 'out.jsonl');
    const whole = readFileSync(path, 'utf8');
    // Killed while the end of a row was written: the row is watched again.
    const cut = whole.slice(0, whole.lastIndexOf('"ended"') + 20);
    writeFileSync(path, cut);
    expect((await wfr(BATCH, { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
    expect(eventsIn(path).filter(({ event }) => event === 'ended')).toHaveLength(2);
    writeFileSync(path, `${whole.replace('"intent"', 'intent')}`);
    const { exitCode, stderr } = await wfr(BATCH, { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/out\.jsonl:\d+: is not a line of a batch's results/);
  });

  test('is one process at a time: the lock names its owner, and one whose owner is dead is taken over', async () => {
    const { requests, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    const lock = join(cwd, 'out.jsonl.lock');
    writeFileSync(lock, '{"host":"test-host","pid":4242,"space":"test","token":"x"}');
    const alive = await wfr(BATCH, { cwd });
    expect(alive.exitCode).toBe(2);
    expect(alive.stderr).toContain('--results out.jsonl: process 4242 on test-host is at work on it');
    writeFileSync(lock, '{"host":"elsewhere","pid":4242,"space":"test","token":"x"}');
    const isAlive = () => false;
    const remote = await wfr(BATCH, { cwd, self: { isAlive } });
    expect(remote.stderr).toContain('process 4242 on elsewhere is at work on it');
    expect(requests).toEqual([]);
    writeFileSync(lock, '{"host":"test-host","pid":4242,"space":"test","token":"x"}');
    expect((await wfr(BATCH, { cwd, self: { isAlive } })).exitCode).toBe(0);
    expect(existsSync(lock)).toBe(false);
  });

  test('Ctrl-C ends it with what is known written down, and the same command goes on', async () => {
    const signals = new Signals();
    const { triggered, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(20) });
    const args = [...BATCH, '--concurrency', '2', '-v'];
    const first = await wfr(args, {
      cwd,
      signals,
      onOutput: (text) => text.includes('row 2 ') && signals.raise('SIGINT'),
    });
    expect(first.exitCode).toBe(130);
    expect(triggered.length).toBeLessThan(10);
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toHaveLength(20);
    const whole = Object.values(stories(join(cwd, 'out.jsonl'))).map((story) => story.at(-1));
    expect(whole).toEqual(Array(20).fill('ended'));
  });
});

describe('what could send a row twice, or say the wrong thing of it', () => {
  test('a file that is no results file is left as it is, to its last byte', async () => {
    const { requests, wfr } = await service();
    const cwd = folderWith({
      'rows.jsonl': '{"n":1}\n{"n":2}',
      'note.txt': 'one line',
      'a.pdf': '%PDF\n%%EOF',
    });
    for (const name of ['rows.jsonl', 'note.txt', 'a.pdf']) {
      const before = readFileSync(join(cwd, name), 'utf8');
      const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', name], {
        cwd,
      });
      expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
      expect(stderr).toContain(`${name}:1: is not a line of a batch's results; the file was left as it is`);
      expect(readFileSync(join(cwd, name), 'utf8')).toBe(before);
    }
    expect(requests).toEqual([]);
  });

  test('a results file behind a link has one lock', async () => {
    const { wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    await wfr(BATCH, { cwd });
    symlinkSync('out.jsonl', join(cwd, 'link.jsonl'));
    writeFileSync(join(cwd, 'out.jsonl.lock'), '{"host":"test-host","pid":4242,"space":"test","token":"x"}');
    const linked = [...BATCH.slice(0, 4), '--results', 'link.jsonl'];
    expect((await wfr(linked, { cwd })).stderr).toContain('process 4242 on test-host is at work on it');
  });

  test('an owner in another container is watched: one that touches its lock is alive, one that does not is dead', async () => {
    const clock = new VirtualClock();
    const { wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(2) });
    const path = join(cwd, 'out.jsonl.lock');
    const theirs = '{"host":"test-host","pid":1,"space":"another","token":"x"}';
    writeFileSync(path, theirs);
    const touching = wfr(BATCH, { cwd, clock });
    clock.after(5_000, () => utimesSync(path, new Date(), new Date(Date.now() + 60_000)));
    expect((await touching).stderr).toContain('process 1 on test-host is at work on it');
    writeFileSync(path, theirs);
    expect((await wfr(BATCH, { cwd, clock })).exitCode).toBe(0);
  });

  test('a batch whose results another process has taken over sends nothing any more', async () => {
    const cwd = folderWith({ 'rows.jsonl': rowsOf(5) });
    let count = 0;
    const { wfr } = await service((_request, reply) => {
      count++;
      writeFileSync(join(cwd, 'out.jsonl.lock'), '{"host":"h","pid":1,"space":"s","token":"theirs"}');
      reply.send(201, { ...aFinishedRun(), id: `r${count}` });
    });
    const { exitCode, stderr } = await wfr([...BATCH, '--concurrency', '1'], { cwd });
    expect(count).toBe(1);
    expect(exitCode).toBe(74);
    expect(stderr).toContain('another process has taken it over');
    expect(readFileSync(join(cwd, 'out.jsonl.lock'), 'utf8')).toContain('theirs');
  });

  test('a signal is the exit also where no row came to it, and with a report', async () => {
    for (const report of [[], ['--report', 'json=r.json']]) {
      const signals = new Signals();
      const { wfr } = await service((_request, reply) => {
        signals.raise('SIGINT');
        reply.send(201, aFinishedRun());
      });
      const cwd = folderWith({ 'rows.jsonl': rowsOf(6) });
      const { exitCode, stderr } = await wfr([...BATCH, ...report, '--concurrency', '1'], { cwd, signals });
      expect(exitCode).toBe(130);
      expect(stderr).toContain(
        '1 row: 1 FINISHED\nInterrupted: the same command goes on with what is left.\n',
      );
    }
  });

  test('a row that is sent again in vain stays what it was: unknown, or FAILED', async () => {
    let mode: 'drop' | 'fail' | 'busy' | 'refuse' | 'fine' = 'drop';
    const { posts, wfr } = await service((_request, reply) => {
      if (mode === 'drop') return void reply.socket.destroy();
      if (mode === 'busy') return reply.send(503, {}, { 'retry-after': '100000' });
      if (mode === 'refuse') return reply.send(422, { message: 'no' });
      reply.send(201, mode === 'fail' ? aRun({ status: 'FAILED', error: { step: 'S' } }) : aFinishedRun());
    });
    const cwd = folderWith({ 'rows.jsonl': rowsOf(1) });
    const args = [...BATCH, '--workflow-id-field', 'workflowId'];
    expect((await wfr(args, { cwd })).exitCode).toBe(6);
    for (mode of ['busy', 'refuse'] as const) {
      const again = await wfr([...args, '--resend-unknown'], { cwd });
      expect(again.stderr).toContain('1 row: 1 unknown\n');
      const before = posts().length;
      expect((await wfr(args, { cwd })).exitCode).toBe(6);
      expect(posts()).toHaveLength(before);
    }
    mode = 'fail';
    expect((await wfr([...args, '--resend-unknown'], { cwd })).exitCode).toBe(1);
    mode = 'busy';
    expect((await wfr([...args, '--retry-failed'], { cwd })).stderr).toContain('1 row: 1 FAILED\n');
    const before = posts().length;
    expect((await wfr(args, { cwd })).exitCode).toBe(1);
    expect(posts()).toHaveLength(before);
    mode = 'fine';
    expect((await wfr([...args, '--retry-failed'], { cwd })).exitCode).toBe(0);
  });

  test('a bad row may be mended, and a refused token may be changed: the same command goes on', async () => {
    const { triggered, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":\n' });
    const first = await wfr(BATCH, { cwd });
    expect(first.exitCode).toBe(3);
    expect(first.stderr).toContain('2 rows: 1 FINISHED, 1 bad\n  Bad: row 2. Mend them');
    writeFileSync(join(cwd, 'rows.jsonl'), rowsOf(2));
    expect((await wfr(BATCH, { cwd })).exitCode).toBe(0);
    expect(triggered).toHaveLength(2);

    let isWelcome = false;
    const guarded = await service((_request, reply) =>
      isWelcome ? reply.send(201, aFinishedRun()) : reply.send(401, { message: 'who?' }),
    );
    const elsewhere = folderWith({ 'rows.jsonl': rowsOf(3) });
    const args = [...BATCH, '--workflow-id-field', 'workflowId'];
    expect((await guarded.wfr(args, { cwd: elsewhere })).exitCode).toBe(4);
    isWelcome = true;
    expect((await guarded.wfr(args, { cwd: elsewhere })).exitCode).toBe(0);
  });

  test('rows that are refused before their request is complete are refused, not unknown', async () => {
    const { baseUrl } = await scriptedService((request, reply) => {
      if (request.method === 'POST') reply.send(422, { message: 'no' });
    });
    const cwd = folderWith({ 'rows.jsonl': rowsOf(16) });
    const args = [...BATCH, '--workflow-id-field', 'workflowId', '--concurrency', '16'];
    const { exitCode, stderr } = await runCli(args, { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(stderr).toContain('16 rows: 16 refused\n');
    expect(exitCode).toBe(5);
    expect((await runCli(['results', 'out.jsonl'], { cwd })).stdout).toContain('16 rows: 16 refused\n');
  });

  test('an error of the service is not hammered', async () => {
    const { posts, wfr } = await service((_request, reply) => reply.send(500, { message: 'broken' }));
    const cwd = folderWith({ 'rows.jsonl': rowsOf(1) });
    await wfr(BATCH, { cwd });
    expect(posts()).toHaveLength(1);
  });

  test('a table that Excel has written in another way is not sent as something else', async () => {
    const { requests, wfr } = await service();
    const cwd = temporaryFolder();
    const check = async (bytes: Buffer | string) => {
      writeFileSync(join(cwd, 'rows.csv'), bytes);
      const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
      expect(exitCode).toBe(2);
      return stderr;
    };
    expect(await check(Buffer.from('name,n:=\nJos\xe9,1\n', 'latin1'))).toContain(
      'rows.csv:2: holds bytes that are not UTF-8',
    );
    expect(await check('a,b,c\n1,2,3\n4\n')).toContain('rows.csv:3: has 1 cells, and the header has 3');
    expect(await check('name;city\nA;B\n')).toContain(
      'rows.csv:1: has no comma; separate the columns with commas',
    );
    expect(requests).toEqual([]);
  });

  test('on stdout the service cannot act on a terminal, and without a reader nothing more is sent', async () => {
    const hostile = { ...aFinishedRun(), id: 'a\u009b31m\u202e##[x' };
    const { posts, wfr } = await service((_request, reply) => reply.send(201, hostile));
    const cwd = folderWith({ 'rows.jsonl': rowsOf(10) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', '-', '--concurrency', '1'];
    const { stdout } = await wfr(args, { cwd });
    expect(stdout).toContain('\\u009b31m\\u202e#\\u0023[x');
    expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]|##\[/);
    const before = posts().length;
    const gone = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'EPIPE' })),
    });
    const { exitCode, stderr } = await wfr(args, { cwd, stdout: gone });
    expect(exitCode).toBe(74);
    expect(stderr).toContain('its reader has gone away');
    expect(posts().length - before).toBeLessThan(2);
  });
});

describe('the pace', () => {
  test('gives turns in their order, as many as fit, half as many after a complaint, and all of them again later', async () => {
    const clock = new VirtualClock();
    const pace = new Pace(10, clock);
    const { signal } = new AbortController();
    const turnsAt = async (count: number) => {
      const at: number[] = [];
      const turns = Array.from({ length: count }, () =>
        pace.turn(signal).then(() => at.push(clock.monotonic())),
      );
      await Promise.all(turns);
      return at.map((time) => time - (at[0] ?? 0));
    };
    expect(await turnsAt(4)).toEqual([0, 100, 200, 300]);
    pace.answered(429, undefined);
    pace.answered(503, 2_000);
    expect(pace.rate).toBe(5);
    const before = clock.monotonic();
    expect(await turnsAt(3)).toEqual([0, 200, 400]);
    expect(clock.monotonic() - before).toBe(2_400);
    for (let second = 0; second < 12; second++) {
      clock.advance(1_000);
      pace.answered(200, undefined);
    }
    expect(pace.rate).toBe(10);
    for (let complaint = 0; complaint < 9; complaint++) {
      clock.advance(1_000);
      pace.answered(429, undefined);
    }
    // It falls no lower than a tenth, so that a batch still ends.
    expect(pace.rate).toBe(1);
  });

  test('without a limit is found when the service complains, and lost again when it no longer does', async () => {
    const clock = new VirtualClock();
    const pace = new Pace(Number.POSITIVE_INFINITY, clock);
    for (let turn = 0; turn < 100; turn++) await pace.turn(new AbortController().signal);
    clock.advance(1_000);
    pace.answered(429, undefined);
    expect(pace.rate).toBe(50);
    for (let second = 0; second < 40; second++) {
      clock.advance(1_000);
      pace.answered(200, undefined);
    }
    expect(pace.rate).toBe(Number.POSITIVE_INFINITY);
  });

  test('lets go of who no longer wants a turn', async () => {
    const clock = new VirtualClock();
    const pace = new Pace(1, clock);
    const leaving = new AbortController();
    await pace.turn(leaving.signal);
    const turn = pace.turn(leaving.signal);
    leaving.abort(new Error('left'));
    await expect(turn).rejects.toThrow('left');
    await expect(pace.turn(leaving.signal)).rejects.toThrow('left');
  });

  test('is at most --rate requests a second for triggers and polls together', async () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        at.push(request.at);
        await request.body();
        reply.send(
          200,
          request.method === 'POST' ? aRun({ id: 'x', status: 'PENDING' }) : { ...aFinishedRun(), id: 'x' },
        );
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': rowsOf(30) });
    const args = [
      'batch',
      'w',
      '--rows',
      'rows.jsonl',
      '--results',
      'o.jsonl',
      '--rate',
      '5',
      '--concurrency',
      '30',
    ];
    expect((await runCli(args, { cwd, clock, env: { WFR_BASE_URL: baseUrl } })).exitCode).toBe(0);
    expect(at).toHaveLength(60);
    // 60 requests at 5 a second take 12 s and little more: nobody starves.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(11_700);
    expect(clock.monotonic()).toBeLessThan(20_000);
  });

  test('slows down for all when the service asks for it, waits as long as it says, and no row is lost', async () => {
    const clock = new VirtualClock();
    const posts: number[] = [];
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        if (request.method === 'GET')
          return reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
        posts.push(request.at);
        if (posts.length === 5) return reply.send(429, { message: 'too many' }, { 'retry-after': '30' });
        reply.send(201, aRun({ id: `r${posts.length}`, status: 'PENDING' }));
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': rowsOf(12) });
    const args = [
      'batch',
      'w',
      '--rows',
      'rows.jsonl',
      '--results',
      'o.jsonl',
      '--rate',
      '10',
      '--concurrency',
      '2',
    ];
    expect((await runCli(args, { cwd, clock, env: { WFR_BASE_URL: baseUrl } })).exitCode).toBe(0);
    expect(posts).toHaveLength(13);
    const gaps = posts.slice(1).map((time, n) => time - (posts[n] ?? 0));
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(29_000);
  });

  test('--concurrency is how many runs are under way at most', async () => {
    let underWay = 0;
    let most = 0;
    let count = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') {
        most = Math.max(most, ++underWay);
        return reply.send(201, aRun({ id: `r${++count}`, status: 'PENDING' }));
      }
      underWay--;
      reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
    });
    const cwd = folderWith({ 'rows.jsonl': rowsOf(30) });
    await runCli([...BATCH, '--concurrency', '3'], { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(count).toBe(30);
    expect(most).toBe(3);
  });

  test('stops where no other row can be triggered: a refused token, a service that is not there', async () => {
    const refusing = await service((_request, reply) => reply.send(401, { message: 'who?' }));
    const cwd = folderWith({ 'rows.jsonl': rowsOf(200) });
    const flags = [...BATCH, '--concurrency', '2', '--workflow-id-field', 'workflowId'];
    const refused = await refusing.wfr(flags, { cwd });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('The service refused the token: no further row was sent.');
    expect(refusing.posts().length).toBeLessThan(5);
    const elsewhere = folderWith({ 'rows.jsonl': rowsOf(200) });
    const env = { WFR_BASE_URL: 'http://127.0.0.1:1' };
    const { exitCode, stderr } = await runCli(flags, { cwd: elsewhere, env });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('The service cannot be reached: no further row was sent.');
    expect(Object.keys(stories(join(elsewhere, 'out.jsonl'))).length).toBeLessThan(30);
  });
});

describe('shards', () => {
  test('take every n-th row, and wfr results joins them, missing and double rows being found', async () => {
    const { triggered, wfr } = await service();
    const cwd = folderWith({ 'rows.jsonl': rowsOf(7) });
    const shard = (n: number) =>
      wfr(
        [
          'batch',
          'w',
          '--rows',
          'rows.jsonl',
          '--results',
          `s${n}.jsonl`,
          '--shard',
          `${n}/3`,
          '--rate',
          '0',
        ],
        { cwd },
      );
    await shard(1);
    await shard(2);
    const missing = await wfr(['results', 's1.jsonl', 's2.jsonl'], { cwd });
    expect(missing.exitCode).toBe(2);
    expect(missing.stderr).toContain('2 of 7 rows are in none of the files; the first is row 3');
    await shard(3);
    expect(triggered.map((inputs) => (inputs as { n: number }).n).sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const joined = await wfr(['results', 's1.jsonl', 's2.jsonl', 's3.jsonl', '--report', 'json=r.json'], {
      cwd,
    });
    expect(joined).toMatchObject({ exitCode: 0, stdout: '7 rows: 7 FINISHED\n', stderr: '' });
    expect(JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs).toHaveLength(7);
    copyFileSync(join(cwd, 's3.jsonl'), join(cwd, 's4.jsonl'));
    const double = await wfr(['results', 's1.jsonl', 's2.jsonl', 's3.jsonl', 's4.jsonl'], { cwd });
    expect(double.exitCode).toBe(2);
    expect(double.stderr).toContain('row 3 is in s3.jsonl and in s4.jsonl');
    expect((await wfr(['results', 'none.jsonl'], { cwd })).exitCode).toBe(2);
  });
});

describe('what one sees', () => {
  test('on a pipe is a line for each row that ends, then the summary, and reports have every row', async () => {
    const { env, clock } = await sandboxWorld();
    const cwd = folderWith({ 'rows.jsonl': '{"customer":"a"}\n{"customer":"b"}\n' });
    const args = [
      'batch',
      FAILING,
      '--rows',
      'rows.jsonl',
      '--results',
      'o.jsonl',
      '--report',
      'junit=r.xml',
    ];
    const { exitCode, stderr } = await runCli(args, { env, clock, cwd });
    expect(exitCode).toBe(1);
    expect(
      stderr.split('\n').filter((line) => /Z row [12] {2}\S+ {2}FAILED {2}1\/3 {2}Check credit: /.test(line)),
    ).toHaveLength(2);
    expect(stderr).toContain('2 rows: 2 FAILED\n  Failed at step Check credit: 2\n');
    expect(readFileSync(join(cwd, 'r.xml'), 'utf8').match(/<failure/g)).toHaveLength(2);
  });

  test('on a terminal is one line with the counts, and no line for a row', async () => {
    const { env, clock } = await sandboxWorld();
    const cwd = folderWith({ 'rows.jsonl': '{"label":"a"}\n{"label":"b"}\n{"label":"c"}\n' });
    const args = ['batch', SLOW, '--rows', 'rows.jsonl', '--results', 'o.jsonl', '--concurrency', '2'];
    const terminal = { terminal: 90, env: { ...env, TERM: 'xterm', NO_COLOR: '1' } };
    const { exitCode, stderr } = await runCli(args, { ...terminal, clock, cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/[\u2800-\u28ff] 0 of 3 done, 2 running, 1 waiting {2}\d+s/);
    expect(stderr).toMatch(/2 of 3 done, 1 running/);
    expect(stderr).not.toContain('row 1');
  });
});
