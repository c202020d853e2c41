/** config.schema.json is generated from the table of settings, and accepts the same files as wfr. */
import { type Schema, Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import schema from '../../config.schema.json' with { type: 'json' };
import { checkConfig } from '../../src/config/check-config.js';
import fc from '../helpers/properties.js';
import { createJsonSchema } from './create-json-schema.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

describe('the schema', () => {
  test('schema: config.schema.json is what the table of settings generates (npm run schema)', async () => {
    const generated = `${JSON.stringify(createJsonSchema(), undefined, 2)}\n`;
    await expect(generated).toMatchFileSnapshot('../../config.schema.json');
  });

  test('schema: accepts exactly the files that the check at every start accepts', () => {
    const text = fc.constantFrom(
      '',
      'x',
      '-x',
      '2s',
      '0s',
      '0.0001s',
      '1e3',
      '.5m',
      '1234567890s',
      'auto',
      'both',
      UUID,
      'a b',
      'https://h',
      'http://h',
      'http://[::1]:8/',
      'https://h?x',
      'ftp://h',
      'Bearer x',
      'eyJx.y',
      'x "eyJx.y"',
      'Bearer s3cret-token',
      'k=ghp_0123456789ab',
      'sk-0123456789-0123456789',
      'https://u:p@h',
      'x https://u:$P@h/',
      ' authorization: x',
      'a\u0000b',
      '\n',
      'true',
    );
    const value = fc.oneof(
      { weight: 4, arbitrary: text },
      fc.constantFrom(null, 0, 1, true, false),
      fc.array(fc.oneof(text, fc.constant(1)), { maxLength: 2 }),
      fc.dictionary(text, fc.oneof(text, fc.constant(UUID)), { maxKeys: 2 }),
    );
    const type = fc.constantFrom<unknown>('string', 'document', 'document', 'number', 'array', 'int', '', 1);
    const accept = fc.constantFrom<unknown>(
      ['application/pdf'],
      ['Image/*'],
      ['pdf'],
      ['a/b', '*/*'],
      [],
      'a/b',
    );
    const parameter = fc.oneof(
      type,
      fc.record(
        { type, description: fc.constantFrom<unknown>('x', '', 1), accept, other: type },
        { requiredKeys: [] },
      ),
      fc.record({ type, accept }),
      value,
    );
    const parameterName = fc.constantFrom('a', 'b?', '', '?', '??', 'a\nb?', '__proto__');
    const workflow = fc.oneof(
      fc.record(
        {
          id: fc.constantFrom(UUID, UUID, 'x'),
          parameters: fc.dictionary(parameterName, parameter, { maxKeys: 2 }),
        },
        { requiredKeys: ['id'] },
      ),
      value,
    );
    const good = {
      baseUrl: 'https://h',
      tokenFile: 'x',
      allowHttp: true,
      workflowIdField: 'both',
      resend503: true,
      interval: '2s',
      maxInterval: '.5',
      timeout: '0',
      workflows: { a: UUID },
    };
    const names = [...Object.keys(good), 'tokenCommand', 'other', '__proto__', 'constructor'];
    const workflows = fc.tuple(fc.constant('workflows'), fc.dictionary(fc.constantFrom('w', '-w'), workflow));
    const changes = fc.array(fc.oneof(fc.tuple(fc.constantFrom(...names), value), workflows), {
      maxLength: 1,
    });
    // As text, because an object has no duplicate keys and no own __proto__.
    const object = (members: [name: string, json: string][]) =>
      `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
    const optional = (name: string, json: string | null): [string, string][] =>
      json === null ? [] : [[name, json]];
    const profile = fc.tuple(fc.subarray(Object.entries(good)), changes).map(([kept, changed]) => {
      const members = new Map<string, unknown>([...kept, ...changed]);
      return object([...members].map(([name, member]) => [name, JSON.stringify(member)]));
    });
    const file = fc
      .tuple(
        fc.constantFrom('p', 'p', 'p', '-p', ''),
        profile,
        fc.option(fc.constantFrom('"p"', '"p"', '"p"', '"q"', 'null')),
        fc.option(
          value.map((any) => JSON.stringify(any)),
          { freq: 1 },
        ),
      )
      .map(([name, content, chosen, $schema]) =>
        object([
          ['profiles', object([[name, content]])],
          ...optional('defaultProfile', chosen),
          ...optional('$schema', $schema),
        ]),
      );
    const validator = new Validator(schema as Schema, '7');
    // What a schema cannot express.
    const beyondSchema = /^unknown profile|^"baseUrl" (?!must be a URL)/;
    let valid = 0;
    fc.assert(
      fc.property(file, (text) => {
        const content = JSON.parse(text);
        const errors = checkConfig(content).filter(({ message }) => !beyondSchema.test(message));
        expect({ text, valid: errors.length === 0 }).toEqual({
          text,
          valid: validator.validate(content).valid,
        });
        if (errors.length === 0) valid++;
      }),
      { numRuns: 2_000 },
    );
    expect(valid).toBeGreaterThan(100);
  });
});
