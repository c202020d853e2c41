/** How to mend JSON that is none. */
import type { JsonSyntaxError } from '../text/json/scanner.js';

/** By what is wrong, and by the text at which JSON ends: what other formats take, and what is mistyped easily. */
const MENDS: readonly (readonly [wrong: RegExp, at: RegExp, mend: string])[] = [
  [/too early/, /^/, 'the file may have been cut off: close what is open'],
  [/without end/, /^/, 'close it with a double quote'],
  [/control character/, /^/, 'write \\n for a new line and \\t for a tab'],
  [/escape/, /^/, 'write \\\\ for a backslash'],
  [/number/, /^/, 'write it as in 0.5'],
  [/surrogate/, /^/, 'write the whole character'],
  [/nothing more/, /^/, 'remove what follows the object'],
  [/^/, /^(\/[/*]|#)/, 'JSON has no comments: remove this one'],
  [/^/, /^'/, 'write text in double quotes'],
  [/comma/, /^["{[]/, 'write a comma before it'],
  [/^/, /^[}\]]/, 'remove the comma before it, or add what should follow'],
  [/^/, /^[A-Za-z_$]/, 'write text and names in double quotes'],
];

/** What is wrong at the place of a JsonSyntaxError, and how to mend it. */
export function syntaxFix({ reason, offset }: JsonSyntaxError, bytes: Buffer): string {
  if (bytes.toString('utf8').trim() === '') return 'the file is empty; write {"profiles": {}}';
  const rest = bytes.subarray(offset, offset + 2).toString('utf8');
  const mend = MENDS.find(([wrong, at]) => wrong.test(reason) && at.test(rest))?.[2];
  return mend === undefined ? reason : `${reason}; ${mend}`;
}
