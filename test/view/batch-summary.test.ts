/** The closing block of a batch: line breaks and colors. */
import { expect, test } from 'vitest';
import { formatBatchSummary } from '../../src/view/batch-summary.js';
import { PLAIN } from '../../src/view/presentation.js';

test('closing block: its lines fit the window, and a command is broken as shells take it', () => {
  const style = { ...PLAIN, bad: (text: string) => `<${text}>` };
  const summary = {
    counts: [['failed', 3]] as const,
    reasons: [
      {
        ...{ state: 'failed' as const, code: undefined, count: 3, step: '', message: 'no' },
        rows: ['mixed.csv:18 (Customer 17)', 'mixed.csv:19 (Customer 18)', 'mixed.csv:20 (Customer 19)'],
      },
    ],
    isRead: true,
    notes: [],
    next: [{ text: 'To continue', command: 'wfr batch w --rows mixed.csv --retry-failed' }],
  };
  expect(formatBatchSummary(summary, { ...style, bold: style.bad }, 40)).toEqual([
    '3 rows: <3 failed>',
    '  <3 failed>: no',
    '    mixed.csv:18 (Customer 17),',
    '      19 (Customer 18), 20 (Customer 19)',
    '',
    'To continue:',
    '<  wfr batch w --rows mixed.csv \\>',
    '<    --retry-failed>',
  ]);
});

test.each([
  [['a.csv:2', 'a.csv:12 (ACME)'], 'a.csv:2, 12 (ACME)'],
  [['a.csv:2', 'b.csv:2', 'a.csv:3'], 'a.csv:2, b.csv:2, a.csv:3'],
  [['at 10:30 (1).csv:2', 'at 10:30 (1).csv:3'], 'at 10:30 (1).csv:2, 3'],
  [['scans/1.pdf', 'scans/2.pdf'], 'scans/1.pdf, scans/2.pdf'],
  [['a.csv:2', 'a.csv:3', 'a.csv:4', 'a.csv:6', 'a.csv:7'], 'a.csv:2-4, 6, 7'],
  [['a.csv:2 (1)', 'a.csv:3', 'a.csv:4', 'a.csv:5 (6)'], 'a.csv:2 (1), 3, 4, 5 (6)'],
  [['1', '2', '3'], '1, 2, 3'],
])('closing block: the rows %j are listed as %s', (rows, listed) => {
  const reason = {
    state: 'failed' as const,
    code: undefined,
    count: rows.length,
    step: '',
    message: 'no',
    rows,
  };
  const summary = { counts: [['failed', rows.length]] as const, isRead: true, notes: [], next: [] };
  expect(formatBatchSummary({ ...summary, reasons: [reason] }, PLAIN, 0).at(-1)).toBe(`    ${listed}`);
});

test('closing block: names of rows are wrapped only where they are longer than a line, and 20 are listed', () => {
  const name = (row: number, text: string) => `a.csv:${row} (${text})`;
  const long = 'a name of several words that is longer than a line';
  const rows = [name(2, 'Müller GmbH'), name(3, 'Smith & Sons'), name(4, long)];
  const others = Array.from({ length: 17 }, (_, index) => `a.csv:${index + 5}`);
  const reason = { state: 'failed' as const, code: undefined, count: 30, step: '', message: 'no' };
  const summary = { counts: [['failed', 30]] as const, isRead: true, notes: [], next: [] };
  const reasons = [{ ...reason, rows: [...rows, ...others] }];
  expect(formatBatchSummary({ ...summary, reasons }, PLAIN, 40).slice(2)).toEqual([
    '    a.csv:2 (Müller GmbH),',
    '      3 (Smith & Sons), 4 (a name of',
    '      several words that is longer than',
    '      a line), 5-21 and 10 more',
  ]);
});
