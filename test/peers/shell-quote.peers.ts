/** The commands that wfr prints, pasted into real shells. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shellCommand } from '../../src/text/shell-quote.js';
import { temporaryFolder } from '../helpers/cli.js';
import fc from '../helpers/properties.js';

const SPECIAL = `'"\\#[]{}()$\`!~=*?&|;<>^% aé€😀`;

describe('printed commands', () => {
  test.each([['bash', '--norc'], ['dash'], ['zsh', '-f'], ['fish', '--no-config']])(
    '%s: 200 random ids in a printed command arrive unchanged',
    (shell, ...flags) => {
      const word = fc.string({
        unit: fc.oneof(fc.constantFrom(...SPECIAL), fc.string({ minLength: 1, maxLength: 1 })),
      });
      const ids = ["r1\\'; touch X; #", '=ls', '~', '-n', '', '##vso[x]', ...fc.sample(word, 200)];
      const script = join(temporaryFolder(), 'script');
      writeFileSync(script, `${shellCommand([process.execPath, '-e', PRINT_WORDS, '--', ...ids])}\n`);
      const printed = execFileSync(shell, [...flags, script], { encoding: 'utf8' });
      expect(JSON.parse(printed)).toEqual(ids);
    },
  );
});

const PRINT_WORDS = 'console.log(JSON.stringify(process.argv.slice(1)))';
