import { describe, expect, test } from 'vitest';
import { findNearest } from '../../src/text/nearest.js';

describe('findNearest', () => {
  test.each([
    ['invice', ['claims', 'invoice'], 'invoice'],
    ['inovice', ['claims', 'invoice'], 'invoice'],
    ['Customer_Name', ['name', 'customerName'], 'customerName'],
    ['id', ['x', 'ids'], 'ids'],
    ['ivnoic', ['invoices', 'invoice'], 'invoice'],
    ['naem', ['name'], 'name'],
    ['fsh', ['zsh', 'fish', 'ash'], 'fish'],
    ['x', ['y'], undefined],
    ['total', ['invoice', 'customer'], undefined],
    ['', ['a'], undefined],
    ['a', [], undefined],
    ['a'.repeat(300), ['a'.repeat(301)], undefined],
  ])('nearest: %j among %j is %j', (text, candidates, expected) => {
    expect(findNearest(text, candidates)).toBe(expected);
  });
});
