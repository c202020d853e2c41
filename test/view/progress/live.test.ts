/** The live line on a terminal. */
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createSecretMask } from '../../../src/text/secret-mask.js';
import { PLAIN } from '../../../src/view/presentation.js';
import { drawBar, fitLines, type Progress } from '../../../src/view/progress/painter.js';
import {
  type BatchCounts,
  type ProgressTools,
  showBatch,
  showRuns,
  type Upload,
} from '../../../src/view/progress/progress.js';
import { runCli } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { folderWithSparseFile } from '../../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const TERMINAL = { terminal: 80, env: { TERM: 'xterm', NO_COLOR: '1' } };

/** Opens a progress at the time 0; returns it, and its line at the time `now`. */
function openAt0<T>(show: (tools: ProgressTools) => T) {
  let progress: Progress | undefined;
  const opened = show({
    clock: Object.assign(new VirtualClock(), { monotonic: () => 0 }),
    style: PLAIN,
    secrets: createSecretMask(),
    canContinue: true,
    open(shown) {
      progress = shown;
      return { changed() {}, updated() {}, stop() {} };
    },
  });
  const bar = (share: number | undefined) => drawBar(share);
  const lineAt = (now: number, width: number) =>
    fitLines(progress?.lines(now, bar) ?? [], width, (text) => text).join('\n');
  return { opened, lineAt };
}
function uploadText(upload: Upload, width: number) {
  const { opened, lineAt } = openAt0((tools) => showRuns(tools));
  opened.sending(upload);
  return lineAt(3_000, width);
}
function batchText(counts: BatchCounts, now: number, width: number) {
  return openAt0((tools) => showBatch(tools, () => counts)).lineAt(now, width);
}

/** Returns the texts that the live line showed, each once. */
function frames(stderr: string): string[] {
  const shown = [...stderr.matchAll(/[\u2800-\u28ff] \u001b\[\?7l(.*?)\u001b\[\?7h/g)].map(([, text = '']) =>
    text.trim(),
  );
  return shown.filter((text, index) => text !== shown[index - 1]);
}

describe('live line', () => {
  test.each([
    [80, true],
    [40, false],
  ])(
    'live line: at %i columns, what Ctrl-C does is below the line, and the watch command, unless it would be cut',
    async (terminal, isShown) => {
      const id = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
      const runs = [aRun(), aRun(), aFinishedRun()].map((run) => ({ ...run, id }));
      const { baseUrl } = await scriptedService((_request, { send }) => send(200, runs.shift()));
      const env = { ...TERMINAL.env, WFR_BASE_URL: baseUrl };
      const { stderr } = await runCli(['run', 'w'], { terminal, env, clock: new VirtualClock() });
      const shown = stderr.match(/(To watch it|Ctrl-C).*?(?=\u001b)/g);
      const command = `To watch it again: wfr watch ${id}`;
      expect([...new Set(shown)]).toEqual([
        'Ctrl-C stops watching, not the run',
        ...(isShown ? [command] : []),
      ]);
    },
  );

  test('live line: shows how much of a large body has been sent, then that wfr waits, then the run', async () => {
    const cwd = folderWithSparseFile(30_000_000);
    let looks = 0;
    const service = await scriptedService(async (request, reply) => {
      // Slow enough for a frame or two.
      if (request.method === 'POST') {
        await request.atLeast(5_000_000);
        reply.socket.pause();
        setTimeout(() => reply.socket.resume(), 200);
      }
      await request.body();
      if (request.method === 'POST') setTimeout(() => reply.send(201, aRun({ stepsCompleted: 0 })), 100);
      else reply.send(200, looks++ === 0 ? aRun() : aFinishedRun());
    });
    const { stderr, exitCode } = await runCli(['run', 'w', 'd@large.pdf'], {
      ...TERMINAL,
      cwd,
      env: { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl },
    });
    expect(exitCode).toBe(0);
    const texts = frames(stderr);
    const order = [
      /^Connecting/,
      /^Sending {2}[\d.]+ MB of 40\.0 MB, as base64 {2}█/,
      /^Sent; waiting for the response/,
      /^RUNNING {2}1 of 4 steps {2}███░/,
    ];
    const places = order.map((pattern) => texts.findIndex((text) => pattern.test(text)));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
  });

  test('live line: shows no upload progress for a small body', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(200, aFinishedRun());
    });
    const { stderr } = await runCli(['run', 'w', 'a=1'], {
      ...TERMINAL,
      env: { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl },
    });
    expect(stderr).not.toContain('Sending');
  });

  test('live line: estimates the remaining time once two steps have completed, and not before', async () => {
    let looks = 0;
    const service = await scriptedService((_request, reply) => {
      const completed = Math.floor(looks++ / 2);
      reply.send(
        200,
        aRun({ steps: 10, stepsCompleted: completed, status: completed >= 10 ? 'FINISHED' : 'RUNNING' }),
      );
    });
    const clock = new VirtualClock();
    const { stderr } = await runCli(['watch', 'run-1', '--max-interval', '2s'], {
      ...TERMINAL,
      env: { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl },
      clock,
    });
    const texts = frames(stderr);
    for (const text of texts.filter((line) => /RUNNING {2}[01] of/.test(line)))
      expect(text).not.toContain('left');
    // Two steps in 8 s: eight more need 32 s, which is rounded to 5 s.
    expect(texts.some((text) => /^RUNNING {2}2 of 10 steps {2}██░+ {2}8s, ~30s left$/.test(text))).toBe(true);
    const estimates = texts.flatMap((text) => /about (\d+)s left/.exec(text)?.[1] ?? []).map(Number);
    expect(estimates.every((seconds) => seconds > 0)).toBe(true);
  });

  /** A service whose run is queued for `queued` polls, then completes a step with every second poll. */
  async function stepping(queued: number) {
    let looks = 0;
    return scriptedService((_request, reply) => {
      const completed = Math.max(0, Math.floor((looks++ - queued) / 2));
      const status = looks <= queued ? 'PENDING' : completed >= 10 ? 'FINISHED' : 'RUNNING';
      reply.send(200, aRun({ steps: 10, stepsCompleted: completed, status }));
    });
  }

  test('live line: leaves time in the queue out of the estimate', async () => {
    const { baseUrl } = await stepping(20);
    const { stderr } = await runCli(['watch', 'run-1', '--max-interval', '2s'], {
      ...TERMINAL,
      env: { ...TERMINAL.env, WFR_BASE_URL: baseUrl },
      clock: new VirtualClock(),
    });
    expect(frames(stderr).some((text) => /^RUNNING {2}2 of 10 .* ~30s left$/.test(text))).toBe(true);
  });

  test('live line: where there is no room for both, has the time left instead of the bar', async () => {
    const { baseUrl } = await stepping(0);
    const { stderr } = await runCli(['watch', 'run-1', '--max-interval', '2s'], {
      ...{ ...TERMINAL, terminal: 42, clock: new VirtualClock() },
      env: { ...TERMINAL.env, WFR_BASE_URL: baseUrl },
    });
    expect(frames(stderr)).toContainEqual(
      expect.stringMatching(/^RUNNING {2}2 of 10 steps {2}8s, ~30s left$/),
    );
  });

  test('live line: keeps the elapsed time and a bar in 40 columns', async () => {
    const { baseUrl } = await stepping(0);
    const { stderr } = await runCli(['watch', 'run-1', '--max-interval', '2s'], {
      terminal: 40,
      env: { ...TERMINAL.env, WFR_BASE_URL: baseUrl },
      clock: new VirtualClock(),
    });
    const texts = frames(stderr);
    expect(texts).toContain('RUNNING  2 of 10 steps  █░░░░░  8s');
    expect(texts.some((text) => /^RUNNING {2}0 of 10 steps {2}░{6} {2}\ds$/.test(text))).toBe(true);
  });

  test.each([
    [97, 'Sending  12.0 MB of 48.0 MB, as base64  ███░░░░░░░░░  4.0 MB/s  ~9s left'],
    [71, 'Sending  12.0 MB of 48.0 MB, as base64  4.0 MB/s  ~9s left'],
    [57, 'Sending  12.0 MB of 48.0 MB  4.0 MB/s  ~9s left'],
    [36, '12.0 MB of 48.0 MB  ~9s left'],
  ])('live line: an upload of documents in %i columns is shown as %j', (width, text) => {
    expect(uploadText({ sent: 12e6, total: 48e6, isBase64: true }, width)).toBe(text);
  });

  test.each([
    [72, 'Sending  12.0 MB of 48.0 MB  ███░░░░░░░░░  4.0 MB/s  ~9s left'],
    [57, 'Sending  12.0 MB of 48.0 MB  4.0 MB/s  ~9s left'],
    [36, '12.0 MB of 48.0 MB  ~9s left'],
    [25, '12.0 MB of 48.0 MB'],
    [10, '12.0 MB o…'],
  ])('live line: an upload in %i columns is shown as %j', (width, text) => {
    expect(uploadText({ sent: 12e6, total: 48e6, isBase64: false }, width)).toBe(text);
  });

  test.each([
    [
      62,
      '█░░░░░░░░░░░  1,204/9,000  1m, ~6m left  1,204/min',
      '1,199 finished, 4 failed, 1 unknown, 50 running, 7,746 waiting',
    ],
    [
      60,
      '█░░░░░░░░░░░  1,204/9,000  1m, ~6m left  1,204/min',
      '1,199 finished, 4 failed, 1 unknown, 50 running,\n  7,746 waiting',
    ],
    [
      59,
      '█░░░░░░░░░░░  1,204/9,000  1m, ~6m left',
      '1,199 finished, 4 failed, 1 unknown, 50 running,\n  7,746 waiting',
    ],
    [
      42,
      '█░░░░░░░░░░░  1,204/9,000  ~6m left',
      '1,199 finished, 4 failed, 1 unknown,\n  50 running, 7,746 waiting',
    ],
    [35, '1,204/9,000  1m, ~6m left', '1,199 finished, 4 failed,\n  1 unknown, 50 running,\n  7,746 waiting'],
    [34, '1,204/9,000  ~6m left', '1,199 finished, 4 failed,\n  1 unknown, 50 running,\n  7,746 waiting'],
    [19, '1,204/9,000', '1,199 finished, 4 …'],
    [8, '1,204/9…', '1,199 f…'],
  ])('live line: a batch in %i columns is shown as %j, above %j', (width, progress, states) => {
    const ended = [
      ['finished', 1_199],
      ['failed', 4],
      ['unknown', 1],
    ] as const;
    const counts = { ended, running: 50, total: 9_000, paced: 1_204, inProgress: [], wait: undefined };
    expect(batchText(counts, 60_000, width)).toBe(`${progress}\n${states}`);
  });

  test('live line: a count and its word stay in one line, also in color', () => {
    const bad = (text: string) => `\u001b[31m${text}\u001b[39m`;
    const ended = [
      ['finished', 1e9],
      ['failed', 4],
    ] as const;
    const counts = { ended, running: 8, total: 2e9, paced: 9, inProgress: [], wait: undefined };
    const { lineAt } = openAt0((tools) => showBatch({ ...tools, style: { ...PLAIN, bad } }, () => counts));
    expect(lineAt(9_000, 30)).toContain(`\n1,000,000,000 finished,\n  ${bad('4 failed')}, 8 running,\n`);
    const statuses = [
      [['10/14 runs', 0]],
      [['59s', 0]],
      [
        ['7 FINISHED', 0],
        ['3 FAILED', 0],
      ],
    ] as const;
    expect(fitLines([statuses], 31, (text) => text)).toEqual(['10/14 runs  59s  7 FINISHED,', '  3 FAILED']);
    expect(fitLines([statuses], 30, (text) => text)).toEqual(['10/14 runs  59s  7 FINISHED,', '  3 FAILED']);
  });

  test('live line: where a line is cut, it has no color that would not end', () => {
    const good = (text: string) => `\u001b[32m${text}\u001b[39m`;
    const counts = {
      ended: [['finished', 1e9]] as const,
      running: 8,
      total: 2e9,
      paced: 9,
      inProgress: [],
      wait: undefined,
    };
    const { lineAt } = openAt0((tools) => showBatch({ ...tools, style: { ...PLAIN, good } }, () => counts));
    expect(lineAt(9_000, 80)).toContain(good('1,000,000,000 finished'));
    expect(lineAt(9_000, 29).split('\n')[1]).toBe('1,000,000,000 finished, 8 ru…');
  });

  test.each([115, 75, 55, 35])(
    'live line: in %i columns, a batch always has the same parts, however long its times and its rate are',
    (width) => {
      const ended = [
        ['finished', 40],
        ['failed', 2],
      ] as const;
      const shapes = [9, 59, 70, 600, 3_599, 80_000].flatMap((seconds) =>
        [9, 10].map((running) => {
          const counts = { ended, running, total: 99, paced: 42, inProgress: [], wait: undefined };
          return batchText(counts, seconds * 1_000, width)
            .replace(/, ~.* left/, '')
            .replace(/ {2}~.* left/, ' time')
            .replace(/[\d.,]+\/min/, 'rate')
            .replace(/ {2}\d[\dms h]+(?=\n| {2})/, ' time')
            .replace(/\d+ (?=running|waiting)/g, '');
        }),
      );
      expect([...new Set(shapes)]).toHaveLength(1);
      expect(shapes[0]).toMatch(/^█+░+ {2}42\/99 time(.*rate)?\n.*2 failed/);
    },
  );

  test('live line: the estimate of a batch begins after two waves, counts down, and never rises', () => {
    const counts = { ended: [['finished', 0]] as [[string, number]], running: 8, total: 60, paced: 0 };
    const { lineAt } = openAt0((tools) =>
      showBatch(tools, () => ({ ...counts, inProgress: [], wait: undefined })),
    );
    const lefts: (number | undefined)[] = [];
    // Each row takes 5 s.
    for (let second = 1; second <= 40; second++) {
      for (let row = 0; second % 5 === 0 && row < 8 && counts.paced < 60; row++) {
        counts.ended[0][1] = ++counts.paced;
        counts.running = Math.min(8, 60 - counts.paced);
        lineAt(second * 1_000, 100);
      }
      const [, left] = /~(\d+)s left/.exec(lineAt(second * 1_000, 100)) ?? [];
      lefts.push(left === undefined ? undefined : Number(left));
    }
    expect(lefts.slice(0, 9).filter(Boolean)).toEqual([]);
    expect(lefts.slice(9)).toEqual([...Array.from({ length: 30 }, (_, index) => 30 - index), undefined]);
  });

  test('live line: a time left is rounded to 5 s above 30 s, and to minutes above 5 minutes', () => {
    const ended = [['finished', 10]] as const;
    const counts = { ended, running: 1, paced: 10, inProgress: [], wait: undefined };
    expect(batchText({ ...counts, total: 39 }, 10_000, 100)).toMatch(/10s, ~29s left /);
    expect(batchText({ ...counts, total: 53 }, 10_000, 100)).toMatch(/10s, ~45s left /);
    expect(batchText({ ...counts, total: 342 }, 10_000, 100)).toMatch(/10s, ~6m left /);
    // Rows that --limit leaves waiting are not waited for.
    expect(batchText({ ...counts, total: 342, left: 19 }, 10_000, 100)).toMatch(/10s, ~20s left /);
    expect(batchText({ ...counts, total: 39, left: 60 }, 10_000, 100)).toMatch(/10s, ~29s left /);
  });

  test('live line: the bar of a batch is empty only before a row has ended, and full only when every row has', () => {
    const finished = (count: number) => ({ ended: [['finished', count]] as const });
    const counts = { running: 1, total: 61, paced: 60, inProgress: [], wait: undefined };
    expect(batchText({ ...counts, ...finished(0) }, 0, 77)).toMatch(/^░{12} {2}0\/61/);
    expect(batchText({ ...counts, ...finished(1) }, 0, 77)).toMatch(/^█░{11} {2}1\/61/);
    expect(batchText({ ...counts, ...finished(60) }, 0, 77)).toMatch(/^█{11}░ {2}60\/61/);
    expect(batchText({ ...counts, ...finished(61), running: 0 }, 0, 77)).toMatch(/^█{12} {2}61\/61/);
  });

  test('live line: once no row of a batch waits, the first three of those that run are named', () => {
    const ended = [['finished', 9]] as const;
    const inProgress = ['rows.csv:4', 'rows.csv:7 (ACME)', 'rows.csv:8', 'rows.csv:9', 'rows.csv:10'];
    const counts = { ended, running: 5, total: 14, paced: 9, inProgress, wait: undefined };
    const named = (changes: object) =>
      batchText({ ...counts, ...changes }, 9_000, 90)
        .split('\n')
        .slice(1);
    const first = 'line 4, line 7 (ACME), line 8';
    expect(named({})).toEqual(['9 finished', `5 running: ${first} and 2 more`]);
    expect(named({ inProgress: inProgress.slice(0, 3) })).toEqual(['9 finished', `5 running: ${first}`]);
    expect(named({ total: 15 })).toEqual(['9 finished, 5 running, 1 waiting']);
    const narrow = batchText({ ...counts, inProgress: inProgress.slice(0, 3) }, 9_000, 30);
    expect(narrow.split('\n').slice(1)).toEqual([
      '9 finished',
      '5 running: line 4,',
      '  line 7 (ACME), line 8',
    ]);
    // Its run goes on although nobody watches it.
    expect(named({ inProgress: [] })).toEqual(['9 finished, 5 running']);
  });

  const BUSY = 'service busy (503): retry in 4s';
  test.each([
    [70, ['█░░░░░░░░░░░  3/30  12s', BUSY, '1 finished, 2 failed, 1 running, 26 waiting']],
    [35, ['█░░░░░░░░░░░  3/30  12s', BUSY, '1 finished, 2 failed, 1 running,', '  26 waiting']],
    [29, ['3/30  12s', 'service busy (503): retry in…', '1 finished, 2 failed, 1 runn…']],
  ])('live line: a batch that waits for a busy service in %i columns is shown as %j', (width, lines) => {
    const counts = {
      ended: [
        ['finished', 1],
        ['failed', 2],
      ] as const,
      running: 1,
      total: 30,
      paced: 3,
      inProgress: [],
      wait: { status: 503, until: 15_500 },
    };
    expect(batchText(counts, 12_000, width).split('\n')).toEqual(lines);
  });

  test('live line: the time of a run that is watched is that since it was triggered, as in its last line', async () => {
    let polls = 0;
    const { baseUrl } = await scriptedService((_request, reply) =>
      reply.send(200, { ...(polls++ > 2 ? aFinishedRun() : aRun()), createdAt: '2026-01-02T03:03:40Z' }),
    );
    const { stderr } = await runCli(['watch', 'run-1'], {
      ...TERMINAL,
      env: { ...TERMINAL.env, WFR_BASE_URL: baseUrl },
    });
    const [first, second = ''] = frames(stderr);
    expect([first, second]).toEqual(['Connecting  1s', expect.stringMatching(/^RUNNING .* {2}25s$/)]);
    expect(stderr).toMatch(/Finished: 4 of 4 steps in 3\ds\n/);
  });

  test('live line: counts the runs in progress, also after one has ended', async () => {
    let looks = 0;
    const service = await scriptedService((request, reply) => {
      const id = request.path.slice('/runs/'.length);
      reply.send(200, { ...(id === 'a' || looks++ > 3 ? aFinishedRun() : aRun()), id });
    });
    const { stderr } = await runCli(['watch', 'a', 'b'], {
      ...TERMINAL,
      env: { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl },
    });
    expect(
      frames(stderr).some((text) => /^█{6}░{6} {2}1\/2 runs {2}\d+s {2}1 FINISHED, 1 RUNNING$/.test(text)),
    ).toBe(true);
  });

  test('live line: reports progress to a terminal that displays it, and clears it at the end', async () => {
    let looks = 0;
    const service = await scriptedService((_request, reply) =>
      reply.send(200, looks++ > 1 ? aFinishedRun() : aRun()),
    );
    const progress = async (env: Record<string, string>) => {
      const all = { ...TERMINAL.env, ...env, WFR_BASE_URL: service.baseUrl };
      const { stderr } = await runCli(['watch', 'run-1'], { ...TERMINAL, env: all });
      looks = 0;
      return [...stderr.matchAll(/\u001b\]9;4;([\d;]*)\u001b\\/g)].map(([, state]) => state);
    };
    const shown = await progress({ WT_SESSION: 'x' });
    expect([...new Set(shown)]).toEqual(['3;0', '1;25', '1;100', '0;0']);
    expect(shown.at(-1)).toBe('0;0');
    expect(await progress({ WT_SESSION: 'x', TMUX: '/tmp/tmux' })).toEqual([]);
    expect(await progress({ VTE_VERSION: '8003' })).not.toEqual([]);
    expect(await progress({ VTE_VERSION: '7802' })).toEqual([]);
    expect(await progress({ TERM_PROGRAM: 'iTerm.app', TERM_FEATURES: 'T3CwLrMPcB' })).toEqual([]);
    expect(await progress({ TERM_PROGRAM: 'iTerm.app', TERM_FEATURES: 'T3CwLrMP' })).not.toEqual([]);
  });

  test.each([100, 30, 20, 10])(
    'live line: a window of 80 columns that gets %i is cleared as far as it has wrapped the line, and no further',
    async (columns) => {
      let written = '';
      const stderr = new Writable({
        write(chunk, _encoding, done) {
          written += chunk;
          done();
        },
      });
      let before = '';
      let polls = 0;
      const service = await scriptedService((_request, reply) => {
        if (polls++ === 2) {
          before = written;
          Object.assign(stderr, { columns });
          stderr.emit('resize');
        }
        reply.send(200, polls > 4 ? aFinishedRun() : aRun());
      });
      const env = { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl };
      await runCli(['watch', 'run-1'], { ...TERMINAL, env, stderr });
      const [line = ''] = frames(before).slice(-1);
      expect(line).toMatch(/^RUNNING {2}1 of 4 steps {2}███░+ {2}\ds$/);
      // The spinner and a space are before it.
      const wrapped = Math.ceil((line.length + 2) / columns) - 1;
      const [, up] = /\u001b\[(\d+)A\u001b\[J/.exec(written.slice(before.length)) ?? [];
      expect(up).toBe(wrapped === 0 ? undefined : String(wrapped));
    },
  );

  test('live line: fits a narrow terminal', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    const { stderr } = await runCli(['watch', 'run-1'], {
      terminal: 20,
      env: { ...TERMINAL.env, WFR_BASE_URL: service.baseUrl },
    });
    for (const text of frames(stderr)) expect(text.length).toBeLessThanOrEqual(17);
  });
});
