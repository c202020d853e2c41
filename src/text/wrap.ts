/** Text broken into lines at words. */

/** Lines of at most `width` characters; a word that is longer stands on a line of its own, whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    // A CI log would take a line that begins with :: for a command.
    if (line !== '' && line.length + 1 + word.length > width && !word.startsWith('::')) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/** Narrower than this, broken lines are harder to read than those that the terminal breaks. */
const MIN_WIDTH = 30;

/**
 * The lines as they fit a terminal of `width` columns; a width of 0 is none. What continues a line stands two columns
 * further in, or behind `| ` where the service speaks.
 */
export function wrapLines(lines: readonly string[], width: number): string[] {
  if (width < MIN_WIDTH) return [...lines];
  return lines.flatMap((line) => {
    const [start = ''] = /^(\| | *)/.exec(line) ?? [];
    const indent = start === '| ' ? start : `${start}  `;
    const [first = '', ...rest] = wrap(line.slice(start.length), width - indent.length);
    return [start + first, ...rest.map((part) => indent + part)];
  });
}
