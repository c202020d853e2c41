/** Finds commands of CI runners in output that is printed as it is. */

/** A line that begins with `::`, or `##[`, `##vso[` and the like anywhere, in a text that begins with a line feed. */
const COMMAND = /[\r\n][^\S\r\n]*::|##[A-Za-z]*\[/;
/** Characters in which a command begins that a chunk divides. */
const MAX_START = 200;

/** What to say about output with such commands: it is exact, so the danger is the reader's. */
export const COMMANDS_WARNING =
  'the output has lines that a CI runner acts on where it is printed to the log, such as ::add-mask:: or ##vso[; write it to a file instead';

/** Returns a function that takes the chunks of an output one by one, and returns whether a command was in one so far. */
export function createCommandFinder(): (chunk: string | Uint8Array) => boolean {
  let tail = '\n';
  let isFound = false;
  return (chunk) => {
    if (isFound) return true;
    // A character for each byte: a chunk may end within one of several bytes.
    const text = tail + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1'));
    isFound = COMMAND.test(text);
    tail = text.slice(-MAX_START);
    return isFound;
  };
}
