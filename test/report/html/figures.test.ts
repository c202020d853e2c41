/** `--report html`: the durations, their histogram, and the reasons. */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/outcome/outcome.js';
import { renderPage } from '../../helpers/page.js';

const START = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Returns a run that ended after `duration` ms; `message` makes it a failed one. */
function endedAfter(duration: number, message?: string): Outcome {
  const failed = message !== undefined;
  const run = {
    id: 'r',
    status: failed ? 'FAILED' : 'FINISHED',
    versionName: 'v1',
    createdAt: undefined,
    steps: 4,
    stepsCompleted: 4,
    error: failed ? { step: 'Read', message } : undefined,
    output: undefined,
    json: new Uint8Array(),
  };
  const state = failed ? 'failed' : 'finished';
  return { id: 'r', workflowId: 'w', run, state, startedAt: START, durationMs: duration };
}

/** Returns a section of the page, by the id of its heading; empty if the page does not have it. */
function section(runs: readonly Outcome[], id: string): string {
  return new RegExp(`<h2 id="${id}">.*?</section>`, 's').exec(renderPage(runs))?.[0] ?? '';
}

const texts = (html: string, element: string) =>
  [...html.matchAll(new RegExp(`<${element}[^>]*>(.*?)</${element}>`, 'gs'))].map(([, text = '']) =>
    text
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

describe('--report html: the durations', () => {
  const durations = (runs: readonly Outcome[]) =>
    texts(renderPage(runs).split('<dl class="figures">')[2]?.split('</dl>')[0] ?? '', 'div');

  test('--report html: the durations are those of the runs that ended', () => {
    const runs = [1_000, 1_100, 2_000, 3_000, ...Array(16).fill(500)].map((ms) => endedAfter(ms));
    const running = { ...endedAfter(9_000), state: 'running' as const, run: undefined };
    expect(durations([...runs, running])).toEqual([
      'Median duration 500ms',
      '95th percentile 2.0s',
      'Longest 3.0s',
    ]);
  });

  test.each([
    ['a single run', [endedAfter(1_000)]],
    ['runs that continue', [1, 2].map(() => ({ ...endedAfter(1_000), run: undefined }))],
  ])('--report html: there are no durations of %s', (_what, runs) => {
    expect(durations(runs)).toEqual([]);
  });
});

describe('--report html: the histogram of durations', () => {
  const histogram = (durations: readonly number[]) =>
    renderPage(durations.map((ms) => endedAfter(ms)))
      .split('<figure>')[1]
      ?.split('</figure>')[0] ?? '';
  const ranges = (durations: readonly number[]) => texts(histogram(durations), 'title');

  test('--report html: a histogram counts the runs of each range, and compares them with the largest', () => {
    const durations = [1_000, 1_100, 2_000, 3_000, 4_000];
    expect(ranges(durations)).toEqual([
      '1.0s to 1.5s: 2',
      '1.5s to 2.0s: 0',
      '2.0s to 2.5s: 1',
      '2.5s to 3.0s: 0',
      '3.0s to 3.5s: 1',
      '3.5s to 4.0s: 0',
      '4.0s to 4.5s: 1',
    ]);
    const bars = [...histogram(durations).matchAll(/<rect [^>]* height="([^"]*)"/g)];
    expect(bars.map(([, height]) => height)).toEqual([
      '100.00%',
      '0.00%',
      '50.00%',
      '0.00%',
      '50.00%',
      '0.00%',
      '50.00%',
    ]);
    expect(histogram(durations)).toContain(
      'aria-label="Runs by duration: 1.0s to 1.5s: 2, 1.5s to 2.0s: 0, ',
    );
    expect(texts(histogram(durations), 'figcaption')).toEqual(['1.0s 4.0s']);
  });

  test('--report html: a few runs that took much longer share the last range', () => {
    expect(ranges([...Array(199).fill(1_000), 30_000, 60_000])).toEqual([
      '1.0s to 1.1s: 199',
      ...Array.from(
        { length: 9 },
        (_, index) => `1.${index + 1}s to ${index === 8 ? '2.0' : `1.${index + 2}`}s: 0`,
      ),
      '2.0s or more: 2',
    ]);
  });

  test('--report html: durations that differ little are told apart, as far as their texts are', () => {
    expect(ranges([6_000, 6_150, 6_250])).toEqual(['6.0s to 6.1s: 1', '6.1s to 6.2s: 1', '6.2s to 6.3s: 1']);
    expect(ranges([12_000, 12_150, 13_000])).toEqual(['12s to 13s: 2', '13s to 14s: 1']);
    expect(ranges([7_200_000, 7_210_000, 7_260_000])).toEqual(['2h to 2h 1m: 2', '2h 1m to 2h 2m: 1']);
  });

  test.each([
    ['a single run', [1_000]],
    ['runs that took the same time', [1_000, 1_000]],
    ['runs without a duration', [0, 0]],
  ])('--report html: there is no histogram of %s', (_what, durations) => {
    expect(histogram(durations)).toBe('');
  });

  test.each([
    ['100ms', 1_000],
    ['500ms', 5_000],
    ['1.0s', 10_000],
    ['15s', 150_000],
    ['1m', 600_000],
    ['15m', 9_000_000],
    ['1h', 36_000_000],
    ['12h', 432_000_000],
    ['3d', 2_500_000_000],
  ])('--report html: ranges of %s have ends that differ', (end, longest) => {
    const found = ranges([0, longest]);
    expect(found[0]).toBe(`0 to ${end}: 1`);
    expect(new Set(found.map((range) => range.split(' to ')[0])).size).toBe(found.length);
  });
});

describe('--report html: the reasons', () => {
  const links = (messages: readonly string[]) =>
    texts(
      section(
        messages.map((message) => endedAfter(1_000, message)),
        'failures',
      ),
      'a',
    );

  test('--report html: a reason links to its runs, and of several to all of them', () => {
    expect(links(['a', 'b', 'b'])).toEqual(['r', 'r', 'Show in the table', 'r']);
  });

  test('--report html: a reason links to its first ten runs', () => {
    expect(links(Array(10).fill('a'))).toEqual([...Array(10).fill('r'), 'Show in the table']);
    expect(links(Array(1_200).fill('a'))).toEqual([...Array(10).fill('r'), 'Show all 1,200']);
    const text = texts(section(Array(11).fill(endedAfter(1_000, 'a')), 'failures'), 'p').at(-1);
    expect(text).toMatch(/^(r ){10}and 1 more Show all 11$/);
  });
});
