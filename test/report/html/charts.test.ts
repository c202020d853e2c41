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
  test('--report html: a histogram has a bar with its range and count for each bin that has runs, and marks the median', () => {
    const html = section(
      [1_000, 1_100, 2_000, 3_000, 4_000].map((ms) => endedAfter(ms)),
      'durations',
    );
    expect(texts(html, 'title')).toEqual([
      '1s to 1.2s: 2 runs',
      '2s to 2.2s: 1 run',
      '3s to 3.2s: 1 run',
      '4s to 4.2s: 1 run',
    ]);
    expect(html.match(/<rect x=[^>]*>/g)).toEqual([
      '<rect x="21.08%" y="0" width="3.67%" height="140">',
      ...['41.92', '62.75', '83.58'].map((x) => `<rect x="${x}%" y="70" width="3.67%" height="70">`),
    ]);
    expect(html.match(/<line x1="[^"]*"/g)).toEqual(['<line x1="41.67%"', '<line x1="83.33%"']);
    expect(texts(html, 'text')).toEqual(['0', '800ms', '1.6s', '2.4s', '3.2s', '4.8s']);
    expect(texts(html, 'dd')).toEqual(['1.0s', '2.0s', '4.0s', '4.0s']);
    expect(html).toContain('the highest bar is 2 runs');
  });

  test('--report html: a few runs that took much longer share a last bar without an end, which stays visible', () => {
    const html = section(
      [...Array(199).fill(1_000), 60_000].map((ms) => endedAfter(ms)),
      'durations',
    );
    expect(texts(html, 'title')).toEqual(['1s to 1.1s: 199 runs', '1.5s or more: 1 run']);
    expect(html).toContain('<rect x="94.13%" y="138" width="5.50%" height="2">');
    expect(texts(html, 'text')).toEqual(['0', '400ms', '800ms', 'longer']);
  });

  test('--report html: a longest run of three times the 95th percentile has a bar of its own', () => {
    const html = section(
      [...Array(99).fill(1_000), 3_000].map((ms) => endedAfter(ms)),
      'durations',
    );
    expect(texts(html, 'title')).toEqual(['1s to 1.2s: 99 runs', '3s to 3.2s: 1 run']);
  });

  test.each([
    ['a single run', [endedAfter(1_000)]],
    ['runs without a duration', [endedAfter(0), endedAfter(0)]],
    ['runs that continue', [1, 2].map(() => ({ ...endedAfter(1_000), state: 'running' as const }))],
  ])('--report html: there is no histogram of %s', (_what, runs) => {
    expect(section(runs, 'durations')).toBe('');
  });

  test('--report html: axes of minutes, hours and days have round steps', () => {
    const labels = (longest: number) =>
      texts(section([endedAfter(longest / 2), endedAfter(longest)], 'durations'), 'text');
    expect(labels(600_000).slice(0, 3)).toEqual(['0', '2m', '4m']);
    expect(labels(24 * 3_600_000).slice(0, 3)).toEqual(['0', '4h', '8h']);
    expect(labels(96 * 24 * 3_600_000).slice(0, 3)).toEqual(['0', '16d', '32d']);
  });
});

describe('--report html: the axis of durations', () => {
  test.each([
    ['ms', 1, [1, 2, 5, 10, 20, 50, 100, 200, 500]],
    ['s', 1_000, [1, 2, 5, 10, 15, 30]],
    ['m', 60_000, [1, 2, 5, 10, 15, 30]],
    ['h', 3_600_000, [1, 2, 3, 6, 12, 24]],
  ])('--report html: steps in %s are round, and at most 24 cover the longest', (unit, ms, steps) => {
    for (const [index, step] of steps.entries()) {
      // As long as 24 steps of this size, and longer than 24 of the one before.
      for (const span of [24 * step, 24 * (steps[index - 1] ?? step) + (index === 0 ? 0 : 1)]) {
        const html = section([endedAfter(0), endedAfter(span * ms)], 'durations');
        expect(html).toContain(`<title>0 to ${step}${unit}: 1 run</title>`);
      }
    }
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
