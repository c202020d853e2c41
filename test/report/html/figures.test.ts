/** `--report html`: the sections with charts and reasons, at the limits of what they show. */
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

describe('--report html: the histogram of durations', () => {
  const ranges = (runs: readonly Outcome[]) => texts(section(runs, 'durations'), 'tr').slice(1);
  const bars = (runs: readonly Outcome[]) =>
    [...section(runs, 'durations').matchAll(/<rect width="([^"]*)"/g)].map(([, width]) => width);

  test('--report html: a histogram counts the runs of each range, and compares them with the largest', () => {
    const runs = [1_000, 1_100, 2_000, 3_000, 4_000].map((ms) => endedAfter(ms));
    expect(ranges(runs)).toEqual([
      '1s to 1.5s 2',
      '1.5s to 2s 0',
      '2s to 2.5s 1',
      '2.5s to 3s 0',
      '3s to 3.5s 1',
      '3.5s to 4s 0',
      '4s to 4.5s 1',
    ]);
    expect(bars(runs)).toEqual(['100.00%', '0.00%', '50.00%', '0.00%', '50.00%', '0.00%', '50.00%']);
    expect(texts(section(runs, 'durations'), 'dd')).toEqual(['1.0s', '2.0s', '4.0s', '4.0s']);
  });

  test('--report html: a few runs that took much longer share a last range without an end', () => {
    const runs = [...Array(199).fill(1_000), 30_000, 60_000].map((ms) => endedAfter(ms));
    expect(ranges(runs)).toHaveLength(11);
    expect(ranges(runs)[0]).toBe('1s to 1.1s 199');
    expect(ranges(runs).at(-1)).toBe('2s or more 2');
  });

  test('--report html: a longest run of twice the 95th percentile has an end', () => {
    const runs = [...Array(99).fill(1_000), 2_000].map((ms) => endedAfter(ms));
    expect(ranges(runs).at(-1)).toBe('2s to 2.1s 1');
  });

  test.each([
    ['a single run', [endedAfter(1_000)]],
    ['runs without a duration', [endedAfter(0), endedAfter(0)]],
    ['runs that continue', [1, 2].map(() => ({ ...endedAfter(1_000), state: 'running' as const }))],
  ])('--report html: there is no histogram of %s', (_what, runs) => {
    expect(section(runs, 'durations')).toBe('');
  });

  test.each([
    ['ms', 1, [1, 2, 5, 10, 20, 50, 100, 200, 500]],
    ['s', 1_000, [1, 2, 5, 10, 15, 30]],
    ['m', 60_000, [1, 2, 5, 10, 15, 30]],
    ['h', 3_600_000, [1, 2, 3, 6, 12]],
    ['d', 24 * 3_600_000, [3, 8]],
  ])('--report html: ranges in %s have round ends', (unit, ms, steps) => {
    for (const step of steps)
      expect(ranges([endedAfter(0), endedAfter(12 * step * ms)])[0]).toBe(`0 to ${step}${unit} 1`);
  });
});

describe('--report html: the reasons', () => {
  const failing = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      endedAfter(1_000, `reason ${String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))}`),
    );

  test('--report html: the link of a reason says how many runs it shows', () => {
    const runs = [endedAfter(1_000, 'a'), endedAfter(1_000, 'b'), endedAfter(1_000, 'b')];
    expect(section(runs, 'failures').match(/aria-label="[^"]*"/g)).toEqual([
      'aria-label="Show these 2 runs in the table"',
      'aria-label="Show this run in the table"',
    ]);
  });

  test('--report html: of more than 50 reasons, the rest is counted', () => {
    const html = section([...failing(53), ...failing(53).slice(50)], 'failures');
    expect(html.match(/<tr>/g)).toHaveLength(1 + 50);
    expect(html).toContain('<p class="note">3 more reasons, of 3 runs: see the table of all runs.</p>');
    expect(section(failing(50), 'failures')).not.toContain('see the table of all runs');
  });
});
