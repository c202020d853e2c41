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
    '    mixed.csv:18 (Customer 17)',
    '    19 (Customer 18)',
    '    20 (Customer 19)',
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

test.each([
  ['failed', 6, 6],
  ['failed', 30, 5],
  ['unknown', 30, 19],
] as const)(
  'closing block: of %s rows with names, %i in all, %i have a line where one line is too short',
  (state, count, listed) => {
    const name = (index: number) => `a.csv:${index + 2} (Customer)`;
    const rows = Array.from({ length: Math.min(count, 20) }, (_, index) => name(index));
    const reason = { state, code: undefined, count, step: '', message: 'no', rows };
    const summary = { counts: [[state, count]] as const, isRead: true, notes: [], next: [] };
    const [, , first, ...others] = formatBatchSummary({ ...summary, reasons: [reason] }, PLAIN, 40);
    expect(first).toBe('    a.csv:2 (Customer)');
    expect(others[0]).toBe('    3 (Customer)');
    expect(others.length).toBe(listed - 1 + Number(count > listed));
    expect(others.at(-1)).toBe(
      count > listed ? `    and ${count - listed} more` : `    ${count + 1} (Customer)`,
    );
  },
);
