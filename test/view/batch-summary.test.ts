/** The closing block of a batch: line breaks and colors. */
import { expect, test } from 'vitest';
import { formatBatchSummary } from '../../src/view/batch-summary.js';
import { PLAIN } from '../../src/view/presentation.js';

test('closing block: its lines fit the window, and a command stays whole', () => {
  const style = { ...PLAIN, error: (text: string) => `<${text}>` };
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
  expect(formatBatchSummary(summary, { ...style, bold: style.error }, 40)).toEqual([
    '3 rows: <3 failed>',
    '  <3 failed>: no',
    '    mixed.csv:18 (Customer 17),',
    '      19 (Customer 18), 20 (Customer 19)',
    '',
    'To continue:',
    '  <wfr batch w --rows mixed.csv --retry-failed>',
  ]);
});

test.each([
  [['a.csv:2', 'a.csv:12 (ACME)'], 'a.csv:2, 12 (ACME)'],
  [['a.csv:2', 'b.csv:2', 'a.csv:3'], 'a.csv:2, b.csv:2, a.csv:3'],
  [['at 10:30 (1).csv:2', 'at 10:30 (1).csv:3'], 'at 10:30 (1).csv:2, 3'],
  [['scans/1.pdf', 'scans/2.pdf'], 'scans/1.pdf, scans/2.pdf'],
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
