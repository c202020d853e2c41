/** Properties that are true for any input, checked with random inputs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseValuePointer } from '../src/commands/shared/output-flags.js';
import { parseItems } from '../src/inputs/item.js';
import { compactJson, formatJson, type JsonColors, rawString } from '../src/text/json/format-json.js';
import { findPositions } from '../src/text/json/json-file.js';
import { followPointer } from '../src/text/json/pointer.js';
import { escapeCharacter, isUnsafe, quoteLines, sanitize } from '../src/text/sanitize.js';
import { shellCommand } from '../src/text/shell-quote.js';
import { runCli, temporaryFolder } from './helpers/cli.js';
import { effort } from './helpers/effort.js';
import fc from './helpers/properties.js';
import { aRun, scriptedService } from './helpers/service.js';

/** Every character but surrogates; the unit 'binary' has the same, but takes half a second to be set up. */
const character = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
const text = fc.string({ unit: character });
const name = fc.string({ unit: character, minLength: 1 }).filter((key) => !key.includes('\ufffd'));
const escaped = (key: string) => key.replace(/[\\=:@]/g, '\\$&');

/** Any JSON text, with unusual numbers, duplicate keys and white space. */
const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      'null',
      'true',
      'false',
      '0',
      '-0',
      '1.0',
      '1e400',
      '-1.5E-7',
      '9007199254740993',
      '""',
      '"\\ud83d\\ude00"',
      '"\\/"',
    ),
    text.filter((s) => !/[\ud800-\udfff]/.test(s)).map((s) => JSON.stringify(s)),
    fc.array(tie('value')).map((values) => `[ ${values.join(' ,\n')}]`),
    fc
      .array(fc.tuple(text, tie('value')))
      .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}\t:${value}`).join(',')} }`),
  ),
})).value;

const all = (chunks: Iterable<Uint8Array>) => Buffer.concat([...chunks]).toString('utf8');

const split = (json: string): string[] => json.match(/"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/gs) ?? [];

/** Returns the tokens of a JSON text, with every escape of a single code unit decoded. */
function tokens(json: string): string[] {
  return split(json).map((token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token));
}

const COLORS: JsonColors = { key: '<k>', string: '<s>', null: '<n>', punctuation: '<p>', end: '<e>' };

/** Formats JSON one token after the other, to compare. */
function formatSlowly(json: string, isIndented: boolean, colors?: JsonColors): string {
  const found = split(json);
  let depth = 0;
  const line = () => (isIndented ? `\n${'  '.repeat(Math.min(depth, 64))}` : '');
  const texts = found.map((token, index) => {
    const [opens, closes] = [/^[[{]/.test(token), /^[\]}]/.test(token)];
    if (closes) depth--;
    const before = index > 0 && /^[[{]/.test(found[index - 1] ?? '') !== closes ? line() : '';
    const points = [...token].map((c) => (isUnsafe(c.codePointAt(0) ?? 0) ? escapeCharacter(c) : c));
    const safe = points.join('').replace(/##(?=[A-Za-z]*\[)/g, '#\\u0023');
    const color = (colors as Record<string, string> | undefined)?.[colorName(token, found[index + 1])] ?? '';
    if (opens) depth++;
    const after = token === ',' ? line() : token === ':' && isIndented ? ' ' : '';
    return `${before}${color}${safe}${color === '' ? '' : COLORS.end}${after}`;
  });
  return `${texts.join('')}\n`;
}

function colorName(token: string, next: string | undefined): keyof JsonColors | '' {
  if (token.startsWith('"')) return next === ':' ? 'key' : 'string';
  if (token === 'null') return 'null';
  return /^[[\]{},:]/.test(token) ? 'punctuation' : '';
}

describe('property: the item parser', () => {
  test('property: the item parser accepts or rejects any item, and throws nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'=:@\\;type=/-~ a\ufffd\ud800\n') }), (item) => {
        const { items, problems } = parseItems([item]);
        expect([items[0]?.raw ?? item, items.length + problems.length]).toEqual([item, 1]);
      }),
      { numRuns: effort(2_000) },
    );
  });

  test('property: the item parser returns any escaped name and any value unchanged', () => {
    fc.assert(
      fc.property(
        name,
        text.filter((value) => !value.includes('\ufffd')),
        (key, value) => {
          expect(parseItems([`${escaped(key)}=${value}`]).items[0]).toMatchObject({
            separator: '=',
            name: key,
            value,
          });
        },
      ),
    );
  });
});

describe('property: name=value', () => {
  test('property: name=value sends exactly the value, for any escaped name and whatever the value begins with', async () => {
    const bodies: Buffer[] = [];
    const { baseUrl } = await scriptedService(async (request, reply) => {
      bodies.push(await request.body());
      reply.send(201, aRun());
    });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'secret'), 'the content of a file');
    const syntax = fc.string({ unit: fc.constantFrom('=', ':', '@', '\\', ';type=', '/', '~', '-', 'a') });
    const anyName = fc.oneof(
      name,
      syntax.filter((key) => key !== ''),
    );
    const start = fc.constantFrom(
      '',
      '@',
      '=',
      '=@',
      ':=@',
      '@=',
      '@:=',
      '\\@',
      '@secret',
      '@./secret',
      '@-',
      '-',
    );
    const anyValue = fc
      .tuple(start, fc.oneof(text, syntax))
      .map((parts) => parts.join(''))
      .filter((value) => !value.includes('\ufffd'));
    await fc.assert(
      fc.asyncProperty(anyName, anyValue, async (key, value) => {
        const args = ['run', 'w', '--detach', '-i', `${escaped(key)}=${value}`];
        const { exitCode } = await runCli(args, { env: { WFR_BASE_URL: baseUrl }, cwd, stdin: 'piped' });
        expect(exitCode).toBe(0);
        const inputs = Object.entries(JSON.parse(bodies.pop()?.toString('utf8') ?? '').inputs);
        expect(inputs).toEqual([[key, value]]);
      }),
      { numRuns: effort(500) },
    );
  });
});

describe('property: printed commands', () => {
  test('property: a printed command uses only what bash, dash, zsh and fish read alike, and has the given words', () => {
    const word = fc.string({
      unit: fc.oneof(fc.constantFrom(...`'"\\#[$\`!~=*; a`), fc.string({ minLength: 1, maxLength: 1 })),
    });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        const command = shellCommand(words);
        expect(command).not.toMatch(/##[A-Za-z]*\[/);
        expect(readCommonShell(command)).toEqual(words);
      }),
      { numRuns: effort(2_000) },
    );
  });
});

/** Reads words without special characters, '…' without backslashes, and `"'"`, `"\\"` and `"#"`. Throws for anything else. */
function readCommonShell(command: string): string[] {
  const words = [''];
  for (let rest = command; rest !== ''; ) {
    const [all, bare, single, double, space] =
      /^(?:([A-Za-z0-9_@%+:,./=-]+)|'([^'\\]*)'|"('|\\\\|#)"|( ))/.exec(rest) ?? [];
    if (all === undefined) throw new Error(`not common to all shells: ${rest}`);
    if (space !== undefined) words.push('');
    else words.push(`${words.pop()}${bare ?? single ?? (double === '\\\\' ? '\\' : double)}`);
    rest = rest.slice(all.length);
  }
  return words;
}

describe('property: the body of a trigger', () => {
  test('property: the body decodes to any names, values and files, and its length equals Content-Length', async () => {
    const bodies: { length: string | undefined; body: Buffer }[] = [];
    const { baseUrl } = await scriptedService(async (request, reply) => {
      bodies.push({ length: request.headers['content-length'], body: await request.body() });
      reply.send(201, aRun());
    });
    const cwd = temporaryFolder();
    const value = fc.oneof(
      text.filter((s) => !s.includes('\ufffd')).map((s) => ({ item: `=${s}`, expected: s as unknown })),
      jsonText
        .filter((s) => !s.includes('\ufffd'))
        .map((s) => ({ item: `:=${s}`, expected: JSON.parse(s) as unknown })),
      fc
        .uint8Array({ maxLength: 3_000 })
        .map((bytes) => ({ bytes, item: '@', expected: undefined as unknown })),
    );
    const inputs = fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(inputs, async (given) => {
        const expected = given.map(
          ([key, { item, expected: value, ...rest }], index): [string, string, unknown] => {
            if (!('bytes' in rest)) return [escaped(key) + item, key, value];
            writeFileSync(join(cwd, `${index}.bin`), rest.bytes);
            const base64 = Buffer.from(rest.bytes).toString('base64');
            return [`${escaped(key)}@${index}.bin;type=a/b`, key, `data:a/b;base64,${base64}`];
          },
        );
        const args = expected.flatMap(([item]) => ['-i', item]);
        const { exitCode, stderr } = await runCli(['run', 'w', '--detach', ...args], {
          env: { WFR_BASE_URL: baseUrl },
          cwd,
        });
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.anything() });
        const { length, body } = bodies.pop() ?? { length: '', body: Buffer.alloc(0) };
        expect(length).toBe(String(body.length));
        const received = new Map(Object.entries(JSON.parse(body.toString('utf8')).inputs));
        // JSON.parse creates __proto__ as an own property.
        expect([...received.keys()].sort()).toEqual(expected.map(([, key]) => key).sort());
        for (const [, key, value] of expected) expect(received.get(key)).toEqual(value);
      }),
      { numRuns: effort(150) },
    );
  });
});

describe('property: JSON output', () => {
  test('property: JSON output has the same tokens as its input, indented or on one line', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const bytes = Buffer.from(json);
        expect(tokens(all(formatJson(bytes)))).toEqual(tokens(json));
        const line = all(compactJson(bytes));
        expect(tokens(line)).toEqual(tokens(json));
        expect(line.indexOf('\n')).toBe(line.length - 1);
      }),
      { numRuns: effort(500) },
    );
  });

  test('property: JSON output of any length differs from its input only in white space, escapes and colors', () => {
    // Strings are read four bytes at a time, and long ones are not copied.
    const unit = fc.oneof(character, fc.constantFrom('#', '##[', '"', '\\', '\u0085', '\u2028', 'é', 'abc'));
    const filler = fc.integer({ min: 0, max: 200_000 }).map((length) => 'x'.repeat(length));
    const long = fc
      .tuple(
        fc.string({ unit }),
        fc.oneof({ weight: 4, arbitrary: fc.string({ unit }) }, filler),
        fc.string({ unit }),
      )
      .map((parts) => JSON.stringify(parts.join('')));
    const digits = fc.integer({ min: 1, max: 2_000 }).map((length) => '9'.repeat(length));
    const texts = fc
      .array(fc.oneof(jsonText, long, digits))
      .map((values) => `[${values.join(', ')},{"": {} , "n":[[ ]\n]}]`);
    fc.assert(
      fc.property(texts, fc.boolean(), (json, hasColors) => {
        const bytes = Buffer.from(json);
        const colors = hasColors ? COLORS : undefined;
        expect(all(formatJson(bytes, colors)) === formatSlowly(json, true, colors)).toBe(true);
        expect(all(compactJson(bytes, colors)) === formatSlowly(json, false, colors)).toBe(true);
      }),
      { numRuns: effort(500) },
    );
  });

  test('property: JSON output is indented as by JSON.stringify, where that keeps the tokens', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: character }), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.parse(all(formatJson(Buffer.from(json))))).toEqual(JSON.parse(json));
        if (/^[\x20-\x7e]*$/.test(json) && !json.includes('##[')) {
          expect(all(formatJson(Buffer.from(json)))).toBe(`${JSON.stringify(JSON.parse(json), null, 2)}\n`);
        }
      }),
    );
  });
});

describe('property: text on a terminal', () => {
  const hostile = fc.string({
    unit: fc.constantFrom(
      '\u001b',
      '\u009b',
      '\u0000',
      '\n',
      '\r',
      '\t',
      ':',
      '#',
      '[',
      '"',
      '\\',
      '\u2028',
      '\u202e',
      'a',
      ' ',
      '\u00a0',
      '::',
      '##[',
      'é',
      '😀',
      '\u007f',
    ),
  });
  const sanitized = /^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e]*$/;

  test('property: text on a terminal has no control characters but line feed and tab, and no CI command', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, text), (given) => {
        expect(sanitize(given)).toMatch(/^[^\n\t]*$/);
        for (const shown of [
          sanitize(given),
          quoteLines(given).join('\n'),
          all(formatJson(Buffer.from(JSON.stringify(given)))),
        ]) {
          expect(shown).toMatch(sanitized);
          expect(shown).not.toContain('##[');
          expect(shown).not.toMatch(/^\s*::/m);
        }
      }),
      { numRuns: effort(2_000) },
    );
  });

  test('property: sanitized JSON has the same value', () => {
    fc.assert(
      fc.property(
        fc.oneof(hostile, text).filter((given) => given.isWellFormed()),
        (given) => {
          expect(JSON.parse(all(formatJson(Buffer.from(JSON.stringify(given)))))).toBe(given);
        },
      ),
      { numRuns: effort(2_000) },
    );
  });
});

describe('property: JSON Pointer', () => {
  test('property: every pointer into a JSON text leads to the value that JSON.parse gives it', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const bytes = Buffer.from(json);
        for (const pointer of findPositions(bytes).positions.keys()) {
          const { segments } = parseValuePointer(pointer);
          const expected = segments.reduce<unknown>(childOf, JSON.parse(json));
          const { value, depth } = followPointer(bytes, segments);
          // Of duplicate names the last one counts, which may have no such children.
          if (expected === undefined) expect(depth).toBeLessThan(segments.length);
          else expect(JSON.parse(Buffer.from(value).toString())).toEqual(expected);
        }
      }),
    );
  });

  test('property: a raw string is the text of the JSON string and a line feed, except for control characters', () => {
    fc.assert(
      fc.property(text, (value) => {
        const printed = all(rawString(Buffer.from(JSON.stringify(value))));
        const expected = [...value.toWellFormed()].map((character) =>
          /[^\P{Cc}\t\n\v\f\r]/u.test(character)
            ? `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`
            : character,
        );
        expect(printed).toBe(`${expected.join('')}\n`);
      }),
    );
  });
});

function childOf(value: unknown, segment: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined;
  return (value as Record<string, unknown>)[segment];
}
