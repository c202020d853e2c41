/** Grouping the reasons of failures, shared by the HTML report and the summaries of batches. */
import { describe, expect, test } from 'vitest';
import { createReasonGroups } from '../../src/text/reason-groups.js';
import { withoutLabel } from '../../src/text/row-label.js';
import { startTimer } from '../helpers/elapsed.js';

/** Returns the messages of the groups, the largest first. */
function groupMessages(...messages: string[]): string[] {
  const groups = createReasonGroups<string>();
  for (const message of messages) groups.add({ outcome: 'failed', step: 'Read', message }, message);
  return groups.bySize().map(({ pieces }) => pieces.join(''));
}

describe('reason groups', () => {
  test.each([
    ['paths', 'cannot read scans/a.pdf: gone', 'cannot read /tmp/b: gone', 'cannot read …: gone'],
    ['paths of Windows', String.raw`"C:\a\b" is locked`, String.raw`"D:\c" is locked`, '"…" is locked'],
    ['URLs', 'see https://x.test/runs/1.', 'see https://x.test/runs/2.', 'see ….'],
    ['names of files', 'Rechnung-ü.pdf has no text', 'scan_2.1.tiff has no text', '… has no text'],
    ['ids', 'customer 7f3a91c0-de92-4eb6-8521-d75d42000001', 'customer 00c0ffee', 'customer …'],
    ['numbers', 'page 7 of 12 took 1.5s', 'page 8 of 12 took 20s', 'page … of 12 took …s'],
    ['positions', 'row 7: no total\nat 3', 'row 8: no total\nat 4', 'row …: no total\nat …'],
  ])('reason groups: messages that differ in %s are one group', (_name, first, second, message) => {
    expect(groupMessages(first, second)).toEqual([message]);
  });

  test.each([
    ['the HTTP status', 'the service failed (502)', 'the service failed (503)'],
    ['the HTTP status at the start', '404 page not found', '410 page not found'],
    ['the media type', 'expected application/pdf', 'expected image/png'],
    ['a word', 'the total is missing', 'the date is missing'],
  ])('reason groups: messages that differ in %s are two groups', (_name, first, second) => {
    expect(groupMessages(first, second)).toEqual([first, second]);
  });

  test('reason groups: equal messages are shown unchanged', () => {
    expect(groupMessages('page 7 of /a/b.pdf', 'page 7 of /a/b.pdf')).toEqual(['page 7 of /a/b.pdf']);
  });

  test('reason groups: the largest is first, with its first members and its id', () => {
    const groups = createReasonGroups<number>();
    const ids = [1, 2, 3, 4, 5, 6].map(
      (row) =>
        groups.add({ outcome: 'failed', step: row === 1 ? 'Read' : 'Sort', message: `row ${row}` }, row).id,
    );
    expect(ids).toEqual([0, 1, 1, 1, 1, 1]);
    expect(groups.bySize()).toEqual([
      {
        ...{ id: 1, outcome: 'failed', step: 'Sort', pieces: ['row ', '…', ''] },
        ...{ count: 5, first: [2, 3, 4, 5] },
      },
      {
        ...{ id: 0, outcome: 'failed', step: 'Read', pieces: ['row ', '1', ''] },
        ...{ count: 1, first: [1] },
      },
    ]);
  });

  test('reason groups: reasons beyond the limit are counted together', () => {
    const groups = createReasonGroups<string>();
    const messages = Array.from({ length: 1_002 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    for (const message of ['a', ...messages, 'a', 'a', 'a'])
      groups.add({ outcome: 'failed', step: '', message }, message);
    const counts = groups.bySize().map(({ pieces, count }) => [pieces.join(''), count]);
    expect(counts).toHaveLength(1_001);
    expect(counts.slice(0, 3)).toEqual([
      ['a', 4],
      ['other reasons', 3],
      [messages[0], 1],
    ]);
  });

  test('reason groups: the longest messages of any form are grouped quickly', () => {
    const parts = ['a', '/', '1', 'a.', 'a-', 'aaaaaaaa-', '12345678-', '1,', '.', 'ü/', 'x=', '\\', '-'];
    const longest = parts.map((part) => part.repeat(60_000 / part.length));
    const elapsed = startTimer();
    groupMessages(...longest, ...longest.map((message) => `${message}!`));
    expect(elapsed()).toBeLessThan(5_000);
  });

  test('reason groups: the label of a row is removed from the start of each line', () => {
    expect(withoutLabel('a b.csv:2: no total\na b.csv:2: no date\nx', 'a b.csv:2')).toBe(
      'no total\nno date\nx',
    );
    expect(withoutLabel('no total', undefined)).toBe('no total');
  });
});
