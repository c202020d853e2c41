/** `--report html`: the durations and the reasons. */
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
      '95th percentile 2s',
      'Longest 3s',
    ]);
  });

  test.each([
    ['a single run', [endedAfter(1_000)]],
    ['runs that continue', [1, 2].map(() => ({ ...endedAfter(1_000), run: undefined }))],
  ])('--report html: there are no durations of %s', (_what, runs) => {
    expect(durations(runs)).toEqual([]);
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
