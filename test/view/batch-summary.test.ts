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
    '    mixed.csv:18 (Customer 17), 19',
    '      (Customer 18), 20 (Customer 19)',
    'To continue:',
    '  <wfr batch w --rows mixed.csv --retry-failed>',
  ]);
});
