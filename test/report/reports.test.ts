/** `--report`: reports for CI, however a run ends and whatever the service sends. */
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { REPORT_CHOICES } from '../../src/report/formats.js';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { readPageRows } from '../helpers/page.js';
import { bash } from '../helpers/process.js';
import { HOSTILE_TEXT, parseTableRows, REPORT_NAMES, runWithReports } from '../helpers/reports.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const RUN = ['run', 'w', 'x=1'];
const failed = { status: 'FAILED', error: { message: 'broken', step: 'Two' } };
const refuses: Handler = async (request, reply) => {
  await request.body();
  reply.send(422, { message: 'x is missing' });
};
const vanishes: Handler = async (request, reply) => {
  await request.body();
  reply.reset();
};
/** Shows the run once, then fails. */
function isLost(): Handler {
  let looks = 0;
  return (_request, reply) => (looks++ === 0 ? reply.send(200, aRun()) : reply.send(500));
}
/** Raises a signal as soon as stderr contains a message. */
function interruptedAt(message: string, signal: 'SIGINT' | 'SIGTERM' = 'SIGINT'): CliOptions {
  const signals = new Signals();
  return { signals, onOutput: (text) => text.includes(message) && signals.raise(signal) };
}
const byPath: Handler = (request, reply) => {
  const id = decodeURIComponent(request.path.slice('/runs/'.length));
  const isFailed = id.startsWith('failed');
  reply.send(200, { ...(isFailed ? aRun(failed) : aFinishedRun({ of: id })), id });
};

interface Ending {
  name: string;
  handler: Handler;
  args?: readonly string[];
  world?: CliOptions;
  exitCode: number;
  id: string | null;
  status: string;
  /** The start of the JUnit element in the test case, or undefined. */
  junit: string | undefined;
  /** The outcome on the HTML page. */
  outcome: string;
  /** The message in the table, the annotation and the JSON. */
  message: string;
}

const signals = new Signals();
const ENDINGS: readonly Ending[] = [
  {
    name: 'FINISHED',
    handler: acceptThenShow(aFinishedRun()),
    exitCode: 0,
    id: 'run-1',
    status: 'FINISHED',
    junit: undefined,
    outcome: 'finished',
    message: '',
  },
  {
    name: 'FAILED',
    handler: acceptThenShow(aRun(failed)),
    exitCode: 1,
    id: 'run-1',
    status: 'FAILED',
    junit: '<failure type="failed" message="failed at step Two; broken">',
    outcome: 'failed',
    message: 'broken',
  },
  {
    name: 'detached',
    handler: acceptThenShow(),
    args: [...RUN, '--detach'],
    exitCode: 0,
    id: 'run-1',
    status: 'PENDING',
    junit: undefined,
    outcome: 'accepted',
    message: '',
  },
  {
    name: 'a timeout',
    handler: acceptThenShow(aRun()),
    args: [...RUN, '--timeout', '6s'],
    exitCode: 8,
    id: 'run-1',
    status: 'RUNNING',
    junit: '<error type="running" ',
    outcome: 'running',
    message: 'still RUNNING (1 of 4 steps) after 6.0s; the run continues',
  },
  {
    name: 'Ctrl-C while it is watched',
    handler: acceptThenShow(aRun()),
    world: interruptedAt('RUNNING'),
    exitCode: 130,
    id: 'run-1',
    status: 'RUNNING',
    junit: '<error type="interrupted" ',
    outcome: 'interrupted',
    message: 'interrupted',
  },
  {
    name: 'SIGTERM while it is watched',
    handler: acceptThenShow(aRun()),
    world: interruptedAt('RUNNING', 'SIGTERM'),
    exitCode: 143,
    id: 'run-1',
    status: 'RUNNING',
    junit: '<error type="interrupted" ',
    outcome: 'interrupted',
    message: 'interrupted',
  },
  {
    name: 'SIGTERM while the answer is awaited',
    handler: async (request) => {
      await request.body();
      signals.raise('SIGTERM');
      signals.raise('SIGTERM');
    },
    world: { signals },
    exitCode: 143,
    id: null,
    status: '',
    junit: '<error type="interrupted" ',
    outcome: 'interrupted',
    message: 'a run may have been created',
  },
  {
    name: 'an unknown outcome',
    handler: vanishes,
    exitCode: 6,
    id: null,
    status: '',
    junit: '<error type="unknown" ',
    outcome: 'unknown',
    message: 'the outcome is unknown: a run may have been created',
  },
  {
    name: 'a refusal',
    handler: refuses,
    exitCode: 5,
    id: null,
    status: '',
    junit: '<error type="rejected" ',
    outcome: 'rejected',
    message: 'x is missing',
  },
  {
    name: 'a token that is refused',
    handler: (_request, reply) => reply.send(401),
    exitCode: 4,
    id: null,
    status: '',
    junit: '<error type="rejected" ',
    outcome: 'rejected',
    message: 'the service requires an access token (401), and none was sent',
  },
  {
    name: 'out of sight',
    handler: isLost(),
    args: ['watch', 'run-1'],
    exitCode: 7,
    id: 'run-1',
    status: 'RUNNING',
    junit: '<error type="unreachable" ',
    outcome: 'unreachable',
    message: 'the run could not be read',
  },
  {
    name: 'no token to send',
    handler: () => {},
    world: { env: { WFR_BASE_URL: 'https://workflows.example.com' } },
    exitCode: 4,
    id: null,
    status: '',
    junit: '<error type="rejected" ',
    outcome: 'rejected',
    message: 'no access token',
  },
];

describe('--report: every way to end is in every report', () => {
  test.each(ENDINGS.map((ending) => [ending.name, ending] as const))(
    '--report: every report shows a run that ended like this: %s',
    async (_name, ending) => {
      const { handler, args = RUN, world, id, message } = ending;
      const reported = await runWithReports(handler, args, world);
      const workflowId = args[0] === 'run' ? 'w' : null;
      expect(reported.exitCode).toBe(ending.exitCode);

      const run = expect.objectContaining({ id, workflowId, exitCode: ending.exitCode });
      const { exitCode } = ending;
      const error = exitCode === 0 ? null : expect.objectContaining({ exitCode });
      expect(reported.json).toEqual({ exitCode, error, runs: [run] });

      const [row = []] = parseTableRows(reported.markdown);
      expect([row[0], row[1], row[2]]).toEqual([id ?? '', workflowId ?? '', ending.outcome]);
      expect((row[5] ?? '').replaceAll('&#58;', ':')).toContain(message);
      expect(reported.summary).toContain(reported.markdown);

      expect([...reported.outputs.keys()]).toEqual(['run-id', 'status', 'output']);
      expect(reported.outputs.get('run-id')).toBe(id ?? '');
      expect(reported.outputs.get('status')).toBe(ending.status);
      expect(reported.outputs.get('output')).toBe(ending.exitCode === 0 && args === RUN ? '{"total":1}' : '');

      expect(reported.annotations.length).toBe(ending.exitCode === 0 ? 0 : 1);
      if (ending.exitCode !== 0) expect(reported.annotations[0]?.message).toContain(message);

      expect(reported.junit).toContain(
        `<testcase name="${workflowId ?? id}" classname="${workflowId ?? 'wfr'}" `,
      );
      if (ending.junit === undefined) expect(reported.junit).not.toMatch(/<(failure|error) /);
      else expect(reported.junit).toContain(ending.junit);
      const [shown = {}] = readPageRows(reported.html);
      expect(shown).toMatchObject({ id: id ?? '', workflow: workflowId ?? '', status: ending.status });
      expect(shown.outcome).toBe(ending.outcome);
      // The duration has its own column.
      expect(shown.message).toContain(message.replace(/ \(1 of 4 steps\) after 6\.0s/, ''));
      expect(reported.html).toContain(`: ${ending.outcome}</h1>`);

      const counts = [Number(ending.exitCode === 1), Number(ending.exitCode > 1)];
      expect(reported.junit).toContain(`tests="1" failures="${counts[0]}" errors="${counts[1]}"`);

      expect(readdirSync(reported.cwd).sort()).toEqual([...REPORT_NAMES, 'output.txt', 'summary.md'].sort());
    },
  );

  test('--report: every report shows Ctrl-C while standard input is read', async () => {
    const signals = new Signals();
    const stdin = new Readable({ read: () => void setTimeout(() => signals.raise('SIGINT'), 50) });
    const args = ['run', 'w', '--inputs-file', '-'];
    const { exitCode, json, service } = await runWithReports(refuses, args, { stdin, signals });
    expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 130, connections: 0 });
    expect(json.runs).toEqual([expect.objectContaining({ id: null, workflowId: 'w', exitCode: 130 })]);
    expect(json.runs[0]?.error).toBe('cancelled; no run was created');
  });

  test('--report: each of several runs has a row, a test case and a line, in the given order', async () => {
    const reported = await runWithReports(byPath, ['watch', 'a', 'failed', 'b']);
    expect(reported.exitCode).toBe(3);
    expect(reported.json.exitCode).toBe(3);
    expect(reported.json.runs.map(({ id }) => id)).toEqual(['a', 'failed', 'b']);
    expect(parseTableRows(reported.markdown).map(([id, , status]) => `${id} ${status}`)).toEqual([
      'a finished',
      'failed failed',
      'b finished',
    ]);
    expect(reported.outputs.get('run-id')).toBe('a\nfailed\nb');
    expect(reported.outputs.get('status')).toBe('FINISHED\nFAILED\nFINISHED');
    expect(JSON.parse(reported.outputs.get('output') ?? '')).toEqual([{ of: 'a' }, null, { of: 'b' }]);
    expect(reported.annotations).toEqual([{ title: 'Run failed', message: 'failed at step Two\nbroken' }]);
    expect(reported.junit).toContain('tests="3" failures="1" errors="0"');
  });

  test('--report: durations are those of watching, in seconds for JUnit and in milliseconds for JSON', async () => {
    const { junit, json, markdown } = await runWithReports(acceptThenShow(aRun(), aFinishedRun()), RUN);
    expect(junit).toContain('timestamp="2026-01-02T03:04:05"');
    expect(junit).toContain('<testcase name="w" classname="w" time="4.000"/>');
    expect(json.runs).toEqual([expect.objectContaining({ durationMs: 4000, error: null })]);
    expect(parseTableRows(markdown)).toEqual([['run-1', 'w', 'finished', '4s', '', '']]);
  });

  test('--report junit: the time of the suite is that of the whole command, whenever its runs began', async () => {
    const polls = new Map<string, number>();
    const finishedAtPoll: Handler = (request, reply) => {
      const id = request.path.slice('/runs/'.length);
      const count = (polls.get(id) ?? 0) + 1;
      polls.set(id, count);
      reply.send(200, { ...(count > (id === 'short' ? 1 : 3) ? aFinishedRun() : aRun()), id });
    };
    const args = ['watch', 'short', 'long', '--interval', '2s', '--max-interval', '2s'];
    const { junit } = await runWithReports(finishedAtPoll, args);
    expect(junit).toMatch(/<testsuite [^>]* time="6\.000">/);
    expect(junit.match(/<testcase [^>]* time="([\d.]+)"/g)?.map((text) => text.slice(-6, -1))).toEqual([
      '2.000',
      '6.000',
    ]);
  });

  test.each([
    ['no steps', { steps: undefined }, ''],
    ['no completed steps', { stepsCompleted: undefined }, '0 of 4'],
    ['steps that are no number', { steps: 'four' }, ''],
  ])('--report: a run with %s has this progress in the HTML report: %j', async (_what, changes, progress) => {
    const run = { ...aFinishedRun(), ...changes };
    const { markdown, html, junit, stderr } = await runWithReports(acceptThenShow(run), RUN);
    expect(readPageRows(html)[0]?.steps).toBe(progress);
    expect(markdown + html + junit + stderr).not.toMatch(/undefined of|of undefined|NaN/);
  });
});

describe('--report: text from the service stays text', () => {
  const evilRun = {
    ...aRun({
      id: HOSTILE_TEXT.replace('\ud800', ''),
      versionName: HOSTILE_TEXT,
      createdAt: HOSTILE_TEXT,
      [`key ${HOSTILE_TEXT}`]: HOSTILE_TEXT,
    }),
    output: { [HOSTILE_TEXT]: HOSTILE_TEXT },
  };
  const ends = [
    ['FINISHED', evilRun.output],
    ['FAILED', null],
    [HOSTILE_TEXT, null],
  ] as const;

  test.each(ends)(
    '--report: hostile text in every field of a run with the status %j stays text',
    async (status, output) => {
      const run = { ...evilRun, status, output, error: { message: HOSTILE_TEXT, step: HOSTILE_TEXT } };
      const reported = await runWithReports(
        (_request, reply) => reply.send(200, run),
        ['run', HOSTILE_TEXT.replaceAll('\0', ''), '--timeout', '0'],
      );
      const [row = []] = parseTableRows(reported.markdown);
      expect(row.join(' ').replaceAll('<br>', '')).not.toMatch(/[<>`[\]*_$@~\\]|&(?!#\d+;)|:\/\/|www\./);
      expect(reported.json.runs[0]?.run).toEqual(run);
      expect([...reported.outputs.keys()]).toEqual(['run-id', 'status', 'output']);
      const value = reported.outputs.get('output') ?? '';
      expect(value === '' ? null : JSON.parse(value)).toEqual(output);
      expect(reported.annotations.length).toBe(status === 'FINISHED' ? 0 : 1);
      for (const { title, message } of reported.annotations) {
        expect(title).toContain(' %0A%25 , = \\| \\u000d\\u000a::error title=forged::x');
        expect(message).toContain(' %0A%25 , = \\| \\u000d\\u000a::error title=forged::x');
        expect(message.startsWith('failed at step A\\u001b[2J')).toBe(status === 'FAILED');
      }
      const content = reported.junit.replace(
        /<\/?(\w|-)+( \w+="[^"<&]*(&(amp|lt|gt|quot|#39);[^"<&]*)*")*\/?>/g,
        '',
      );
      expect(content.replace(/^<\?xml[^>]*>/, '')).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#39);)/);
      const { junit, markdown, jsonText, html, summary } = reported;
      for (const text of [junit, markdown, jsonText, html, summary, value]) expectInert(text);
    },
  );

  test('--report: hostile text in an error response stays text', async () => {
    const reported = await runWithReports((_request, reply) => reply.send(400, HOSTILE_TEXT), RUN);
    expect(reported.exitCode).toBe(5);
    expect(parseTableRows(reported.markdown).length).toBe(1);
    expect(reported.annotations.length).toBe(1);
    expect(reported.outputs.size).toBe(3);
    const { junit, markdown, jsonText, html, summary } = reported;
    for (const text of [junit, markdown, jsonText, html, summary]) expectInert(text);
  });

  test('--report json: contains the Run as it was sent, with all its numbers', async () => {
    const sent = `{"id":"run-1","status":"FINISHED","steps":1.0,"output":{"big":9007199254740993,"far":1e400,"a":1,"a":2}}`;
    const { jsonText, outputs } = await runWithReports((_request, reply) => reply.send(200, sent), RUN);
    expect(jsonText).toContain(`"run": ${sent}\n`);
    expect(outputs.get('output')).toBe('{"big":9007199254740993,"far":1e400,"a":1,"a":2}');
  });

  function expectInert(text: string): void {
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/,
    );
    expect(text).not.toMatch(/^\s*::/m);
    expect(text).not.toContain('##[');
  }
});

describe('--report github: limits', () => {
  const watchMany = (count: number, handler: Handler, world: CliOptions = {}) =>
    runWithReports(handler, ['watch', ...Array.from({ length: count }, (_, n) => `failed-${n}`)], world);

  test('--report github: there are ten annotations at most', async () => {
    expect((await watchMany(10, byPath)).annotations.map(({ title }) => title).at(-1)).toBe('Run failed-9');
    const { annotations } = await watchMany(13, byPath);
    expect(annotations.length).toBe(10);
  });

  test('--report github: a job summary over 1 MiB, with what it contained before, is truncated and says so', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'summary.md'), `${'x'.repeat(300_000)}\nno line feed`);
    const long: Handler = (request, reply) =>
      reply.send(200, {
        ...aRun({ status: 'FAILED', error: { message: 'ä'.repeat(1_900), step: 's' } }),
        id: request.path.slice('/runs/'.length),
      });
    const { summary, markdown } = await watchMany(300, long, { cwd });
    expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(1024 * 1024);
    expect(Buffer.byteLength(summary)).toBeGreaterThan(1_000_000);
    expect(parseTableRows(markdown).length).toBe(300);
    const table =
      /\nno line feed\n### Workflow runs\n\n([\s\S]*)\n(\d+) more runs are omitted: a job summary is limited to 1 MiB\.\n$/;
    const [, kept = '', left] = table.exec(summary) ?? [];
    expect(parseTableRows(kept).length + Number(left)).toBe(300);
  });

  test('--report github: a full summary file stays unchanged, with a warning', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'summary.md'), 'x'.repeat(1024 * 1024));
    const { summary, stderr } = await runWithReports(acceptThenShow(aFinishedRun()), RUN, { cwd });
    expect(summary.length).toBe(1024 * 1024);
    expect(stderr).toContain('warning: the job summary is full (1 MiB at most); it does not list the runs\n');
  });

  test('--report github: an output over 1 MiB as UTF-16 is omitted with a warning', async () => {
    const withOutput = (length: number) =>
      runWithReports(acceptThenShow(aFinishedRun('y'.repeat(length))), RUN);
    const small = await withOutput(500_000);
    expect(small.outputs.get('output')?.length).toBe(500_002);
    const large = await withOutput(600_000);
    expect([...large.outputs.keys()]).toEqual(['run-id', 'status']);
    expect(large.stderr).toContain('warning: the step output output is omitted: it exceeds 1 MiB');
    expect(large.exitCode).toBe(0);
  });

  test('--report github: what earlier commands wrote is kept, even without a final line feed', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'output.txt'), 'earlier=1');
    const { outputs } = await runWithReports(acceptThenShow(aFinishedRun()), RUN, { cwd });
    expect([...outputs.keys()]).toEqual(['earlier', 'run-id', 'status', 'output']);
  });
});

describe('--report: mistakes are reported together, before anything is sent', () => {
  async function reportErrors(args: readonly string[], world: CliOptions = {}) {
    const service = await scriptedService(refuses);
    const cwd = world.cwd ?? temporaryFolder();
    const env = { WFR_BASE_URL: service.baseUrl, ...world.env };
    const result = await runCli([...args], { ...world, env, cwd });
    expect({ exitCode: result.exitCode, connections: service.connections() }).toEqual({
      exitCode: 2,
      connections: 0,
    });
    return { ...result, cwd };
  }

  test.for<[raw: string, message: string | RegExp, isLacking?: boolean]>([
    ['pdf=x', `use ${REPORT_CHOICES}`],
    ['html', `use ${REPORT_CHOICES}`],
    ['', `use ${REPORT_CHOICES}`],
    ['constructor=x', `use ${REPORT_CHOICES}`],
    ['junit', `use ${REPORT_CHOICES}`],
    ['markdown=', `use ${REPORT_CHOICES}`],
    ['json=-', 'use a file: stdout has the result'],
    ['github=x', `use ${REPORT_CHOICES}`],
    ['junit=missing/x.xml', /the folder (\/|[A-Z]:).*[/\\]missing does not exist \(ENOENT\)/],
    ['junit=.', 'it is a folder'],
    ['junit=socket', 'it is neither a file nor a pipe', LACKS.unixSockets],
    ['junit=file/x.xml', 'a part of the path is not a folder (ENOTDIR)', LACKS.pathErrors],
    [`junit=${'n'.repeat(300)}`, 'name too long (ENAMETOOLONG)', LACKS.pathErrors],
  ])('--report %s: exits 2 with the reason', async ([raw, message, isLacking = false], { skip }) => {
    skip(isLacking);
    for (const command of [RUN, ['watch', 'run-1']]) {
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'file'), '');
      const socket = createServer().listen(LACKS.unixSockets ? 0 : join(cwd, 'socket'));
      await once(socket, 'listening');
      const { stderr } = await reportErrors([...command, '--report', raw], { cwd });
      socket.close();
      expect(stderr).toContain(`--report ${raw}: `);
      expect(stderr).toMatch(
        message instanceof RegExp ? message : new RegExp(message.replace(/[.()|]/g, '\\$&')),
      );
    }
  });

  test('--report github: each missing variable outside GitHub Actions is reported', async () => {
    const { stderr } = await reportErrors([...RUN, '--report', 'github'], { env: { GITHUB_OUTPUT: '' } });
    for (const name of ['GITHUB_STEP_SUMMARY', 'GITHUB_OUTPUT'])
      expect(stderr).toContain(
        `--report github: ${name} is not set; this report works only in a step of GitHub Actions`,
      );
    const GITHUB_OUTPUT = join(temporaryFolder(), 'output.txt');
    const one = await reportErrors([...RUN, '--report', 'github'], { env: { GITHUB_OUTPUT } });
    expect(one.stderr).not.toContain('GITHUB_OUTPUT');
    const env = { GITHUB_OUTPUT, GITHUB_STEP_SUMMARY: '/nowhere/summary' };
    expect((await reportErrors([...RUN, '--report', 'github'], { env })).stderr).toContain(
      '--report github (GITHUB_STEP_SUMMARY /nowhere/summary): the folder /nowhere does not exist (ENOENT)',
    );
  });

  test('--report: mistakes are reported together with those of other flags, and no file is left behind', async () => {
    const args = [
      'run',
      'w',
      'nonsense',
      '--report',
      'junit=good.xml',
      '--report',
      'json=no/x',
      '--timeout',
      'x',
    ];
    const { stderr, cwd } = await reportErrors(args);
    for (const message of ['nonsense', '--report json=no/x: ', '--timeout x: '])
      expect(stderr).toContain(message);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.skipIf(LACKS.symlinks)('--report: one file for two reports exits 2', async () => {
    const cwd = temporaryFolder();
    symlinkSync(cwd, join(cwd, 'link'));
    writeFileSync(join(cwd, 'x'), '');
    const args = [...RUN, '--report', 'junit=x', '--report', 'json=link/x'];
    const { stderr } = await reportErrors(args, { cwd });
    expect(stderr).toContain('--report json=link/x: same file as --report junit=x; use another file\n');
    expect(readdirSync(cwd).sort()).toEqual(['link', 'x']);
  });

  test.skipIf(LACKS.fileModes)('--report: a file without write permission exits 2 (fault 72)', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'r.xml'), 'precious', { mode: 0o444 });
    chmodSync(cwd, 0o777);
    // Root may write every file, so another user is needed.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    const { stderr } = await reportErrors([...RUN, '--report', 'junit=r.xml'], { cwd }).finally(
      () => isRoot && process.seteuid?.(0),
    );
    expect(stderr).toContain('--report junit=r.xml: permission denied (EACCES)');
  });
});

describe('--report: writing', () => {
  test.skipIf(LACKS.symlinks)(
    '--report: a file is unchanged until the report is complete, and keeps its mode and the link to it (fault 74)',
    async () => {
      const cwd = temporaryFolder();
      mkdirSync(join(cwd, 'real'));
      writeFileSync(join(cwd, 'real/r.xml'), 'before', { mode: 0o600 });
      symlinkSync('real/r.xml', join(cwd, 'r.xml'));
      const seen: string[] = [];
      const accepts = acceptThenShow(aFinishedRun());
      const handler: Handler = (request, reply) => {
        seen.push(readFileSync(join(cwd, 'r.xml'), 'utf8'));
        return accepts(request, reply);
      };
      await runWithReports(handler, RUN, { cwd });
      expect(seen).toEqual(['before', 'before']);
      expect(readFileSync(join(cwd, 'real/r.xml'), 'utf8')).toContain('<testcase name="w"');
      expect(statSync(join(cwd, 'real/r.xml')).mode & 0o777).toBe(0o600);
      expect(readdirSync(join(cwd, 'real'))).toEqual(['r.xml']);
    },
  );

  test.skipIf(LACKS.devices)(
    '--report: a device is written to, even by two reports, and stays a device (fault 74)',
    async () => {
      const args = [...RUN, '--report', 'json=/dev/null', '--report', 'junit=/dev/null'];
      const { exitCode, stderr } = await runWithReports(acceptThenShow(aFinishedRun()), args);
      expect({ exitCode, errors: stderr.includes('wfr: ') }).toEqual({ exitCode: 0, errors: false });
      expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    },
  );

  test.skipIf(LACKS.fullDevice)('--report: a full device exits 74 (fault 73)', async () => {
    const args = [...RUN, '--report', 'json=/dev/full'];
    const { exitCode, stderr } = await runWithReports(acceptThenShow(aFinishedRun()), args);
    expect(exitCode).toBe(74);
    expect(stderr).toContain('cannot write --report json=/dev/full of run run-1: no space left on the disk');
  });

  /** Returns a folder with a pipe `pipe`. */
  async function withPipe(): Promise<{ cwd: string; pipe: string }> {
    const cwd = temporaryFolder();
    const pipe = join(cwd, 'pipe');
    await bash(`mkfifo '${pipe}'`);
    return { cwd, pipe };
  }

  /** Opens a pipe for reading at once, and calls `read` as soon as it has a writer. */
  async function readerOf<T>(pipe: string, read: (handle: FileHandle) => Promise<T>): Promise<T> {
    const there = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const handle = await open(pipe, 'r');
    closeSync(there);
    return read(handle).finally(() => handle.close());
  }

  test.skipIf(LACKS.fifos)(
    '--report: a pipe receives a report of any size, even if its reader starts after the trigger (fault 74)',
    async () => {
      const { cwd, pipe } = await withPipe();
      const accepts = acceptThenShow(aFinishedRun('x'.repeat(300_000)));
      let reading: Promise<string> | undefined;
      const handler: Handler = async (request, reply) => {
        reading ??= readerOf(pipe, (handle) => handle.readFile('utf8'));
        return accepts(request, reply);
      };
      const { exitCode } = await runWithReports(handler, [...RUN, '--report', 'json=pipe'], { cwd });
      expect(exitCode).toBe(0);
      expect(JSON.parse((await reading) ?? '').runs[0].run.output.length).toBe(300_000);
      expect(statSync(pipe).isFIFO()).toBe(true);
    },
  );

  test.skipIf(LACKS.fifos)(
    '--report: a pipe without a reader, or whose reader leaves, exits 74 without waiting',
    async () => {
      const { cwd, pipe } = await withPipe();
      const args = [...RUN, '--report', 'json=pipe'];
      const unread = await runWithReports(acceptThenShow(aFinishedRun()), args, { cwd });
      expect(unread.exitCode).toBe(74);
      expect(unread.stderr).toContain(
        'cannot write --report json=pipe of run run-1: no such device, or the pipe has no reader (ENXIO)',
      );
      const large = acceptThenShow(aFinishedRun('x'.repeat(300_000)));
      const reading = readerOf(pipe, (handle) => handle.read({ length: 1 }));
      const left = await runWithReports(large, args, { cwd });
      await reading;
      expect(left.exitCode).toBe(74);
      expect(left.stderr).toContain('of run run-1: the reader of the pipe is gone (EPIPE)');
    },
  );

  test.skipIf(LACKS.symlinks)(
    '--report: a link to a missing file stays a link, and the report is written to its target',
    async () => {
      const cwd = temporaryFolder();
      mkdirSync(join(cwd, 'real/deep'), { recursive: true });
      symlinkSync('real/deep', join(cwd, 'folder'));
      symlinkSync('../r.xml', join(cwd, 'real/deep/link.xml'));
      symlinkSync('folder/link.xml', join(cwd, 'r.xml'));
      const { exitCode } = await runWithReports(acceptThenShow(aFinishedRun()), RUN, { cwd });
      expect(exitCode).toBe(0);
      expect(readFileSync(join(cwd, 'real/r.xml'), 'utf8')).toContain('<testcase name="w"');
      expect(readdirSync(join(cwd, 'real')).sort()).toEqual(['deep', 'r.xml']);
      expect(readdirSync(join(cwd, 'real/deep'))).toEqual(['link.xml']);
      expect(readFileSync(join(cwd, 'r.xml'), 'utf8')).toContain('run-1');
    },
  );

  test.skipIf(LACKS.symlinks)(
    '--report: a link into a missing folder exits 2 before the trigger (fault 72)',
    async () => {
      const cwd = temporaryFolder();
      symlinkSync('/nowhere/r.xml', join(cwd, 'r.xml'));
      const { exitCode, stderr, service } = await runWithReports(refuses, RUN, { cwd });
      expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 2, connections: 0 });
      expect(stderr).toContain('--report junit=r.xml: the folder /nowhere does not exist (ENOENT)');
    },
  );

  /** Removes the folder of the JUnit report while the run is in progress. */
  async function withoutFolder(handler: Handler, world: CliOptions = {}) {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'gone'));
    const removing: Handler = (request, reply) => {
      rmSync(join(cwd, 'gone'), { recursive: true, force: true });
      return handler(request, reply);
    };
    return runWithReports(removing, [...RUN, '--report', 'junit=gone/r.xml'], { ...world, cwd });
  }
  const COMPLAINT = 'wfr: error: cannot write --report junit=gone/r.xml of run ';

  test.skipIf(LACKS.removalOfOpenFiles)(
    '--report: a report that cannot be written exits 74 with the run id, and the other reports are written (fault 73)',
    async () => {
      const { exitCode, stderr, stdout, json, junit } = await withoutFolder(acceptThenShow(aFinishedRun()));
      expect(exitCode).toBe(74);
      expect(stderr).toContain(`${COMPLAINT}run-1: no such file (ENOENT)\n`);
      expect(JSON.parse(stdout)).toEqual({ total: 1 });
      expect(json.exitCode).toBe(0);
      expect(junit).toContain('run-1');
    },
  );

  test.skipIf(LACKS.removalOfOpenFiles)(
    '--report: a write error after a rejected trigger is reported after the rejection, and exits 74',
    async () => {
      const { exitCode, stderr } = await withoutFolder(refuses);
      expect(exitCode).toBe(74);
      expect(stderr.indexOf('| x is missing')).toBeGreaterThan(0);
      expect(stderr.indexOf('| x is missing')).toBeLessThan(stderr.indexOf(`${COMPLAINT}w: no such file`));
    },
  );

  test.skipIf(LACKS.removalOfOpenFiles)(
    '--report: the exit code of a signal takes precedence over a write error',
    async () => {
      const { exitCode, stderr } = await withoutFolder(acceptThenShow(aRun()), interruptedAt('RUNNING'));
      expect(exitCode).toBe(130);
      expect(stderr).toContain(COMPLAINT);
    },
  );

  test.skipIf(LACKS.fullDevice)('--report github: a full disk exits 74', async () => {
    const env = { GITHUB_OUTPUT: '/dev/full' };
    const { exitCode, stderr, summary } = await runWithReports(acceptThenShow(aFinishedRun()), RUN, { env });
    expect(exitCode).toBe(74);
    expect(stderr).toContain(
      'cannot write --report github (GITHUB_OUTPUT /dev/full) of run run-1: no space left on the disk (ENOSPC)',
    );
    expect(summary).toContain('run-1');
  });

  test('--report: --dry-run writes no report', async () => {
    const { exitCode, service, cwd, stderr } = await runWithReports(refuses, [...RUN, '--dry-run']);
    expect({ exitCode, stderr, connections: service.connections() }).toEqual({
      exitCode: 0,
      stderr: '',
      connections: 0,
    });
    expect(readdirSync(cwd).sort()).toEqual(['output.txt', 'summary.md']);
    expect(readFileSync(join(cwd, 'output.txt'), 'utf8')).toBe('');
  });

  test('--report: stdout and stderr are the same as without reports', async () => {
    const { stdout, stderr } = await runWithReports(acceptThenShow(aFinishedRun()), RUN);
    expect(stdout).toBe('{\n  "total": 1\n}\n');
    expect(stderr).toMatch(/Finished: .*\n$/);
  });
});
