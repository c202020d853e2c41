/** The mask of secrets: any encoding, any division into chunks. */

import { describe, expect, test } from 'vitest';
import { createSecretMask } from '../../src/text/secret-mask.js';
import { effort } from '../helpers/effort.js';
import fc from '../helpers/properties.js';

describe('property: masked secrets', () => {
  const ascii = fc.string({
    unit: fc.constantFrom(...'abcdefghABCDEFGH0123456789-._~+/="\\<>&%#;'),
    minLength: 12,
  });
  const encodings: ((secret: string) => string)[] = [
    (secret) => secret,
    (secret) => JSON.stringify(secret).slice(1, -1),
    (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    (secret) => secret.replace(/./gs, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
    (secret) => encodeURIComponent(secret),
    (secret) => secret.replace(/./gs, (c) => `%${c.charCodeAt(0).toString(16)}`),
    (secret) => secret.replace(/./gs, (c) => `&#${c.charCodeAt(0)};`),
    (secret) =>
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;'),
  ];

  test('property: a secret is masked in any encoding, and the text around it stays', () => {
    fc.assert(
      fc.property(ascii, fc.constantFrom(...encodings), (secret, encode) => {
        const mask = createSecretMask();
        mask.add(secret, '(the token)');
        const masked = mask.mask(`é before ${encode(secret)} after é`);
        expect(masked).toBe('é before (the token) after é');
      }),
      { numRuns: effort(2_000) },
    );
  });

  test('property: a secret is masked in a stream of chunks wherever they divide it', () => {
    fc.assert(
      fc.property(fc.nat(200_000), fc.nat(4), fc.integer({ min: 1, max: 70_000 }), (at, encoding, size) => {
        const secret = 'Abc/def"0123456789';
        const mask = createSecretMask();
        mask.add(secret, '(hidden)');
        const whole = `${'é'.repeat(at / 2)}${encodings[encoding]?.(secret)}${'x'.repeat(100_000)}`;
        const bytes = Buffer.from(whole);
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        );
        const masked = Buffer.concat(
          [...mask.maskChunks(chunks)].map((chunk) => Buffer.from(chunk as Uint8Array)),
        ).toString();
        expect(masked === `${'é'.repeat(at / 2)}(hidden)${'x'.repeat(100_000)}`).toBe(true);
      }),
      { numRuns: effort(30) },
    );
  });

  test('mask: what is left of a secret where the text was cut is masked, also after half an escape', () => {
    const mask = createSecretMask();
    mask.add('s3cret/token-4711', '(the token)');
    for (const rest of [
      's3cr',
      's3cret/token',
      's3cret\\u002ftok\\u00',
      's3cret%2Ftok%6',
      's3cret&#47;tok&#1',
    ])
      expect(mask.mask(`a ${rest}… (12 more characters)`)).toBe(
        `a (the token)${rest.replace(/^.*?(\\u00|%6|&#1)?$/, '$1')}… (12 more characters)`,
      );
    expect(mask.mask('s3c… and s3cret/other…')).toBe('s3c… and s3cret/other…');
  });

  test('mask: a secret of fewer than 8 characters stays, as it would match ordinary words', () => {
    const mask = createSecretMask();
    mask.add('run', '(hidden)');
    expect(mask.mask('run 1')).toBe('run 1');
  });
});
