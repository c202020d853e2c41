/** The labels of rows, by which users know them: how they are written and read. Any other label is the path of a file. */

/** Characters of the text in a label. */
const MAX_TEXT = 60;

/** Returns the label of a row of a table, with the text that people know it by, if there is one. */
export function rowLabel(name: string, line: number, text = ''): string {
  const shown = text.trim().replace(/\s+/g, ' ');
  if (shown === '') return `${name}:${line}`;
  return `${name}:${line} (${shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown})`;
}

/** Matches the table at the start of such a label, `rows.csv:` of `rows.csv:12 (ACME)`, before its line and its text. */
export const ROW_LABEL = /^.*?:(?=(\d+)(?: \((.*)\))?$)/s;

/** Returns a message without the label of its row at the start of its lines, so that rows with one reason are grouped. */
export function withoutLabel(message: string, label: string | undefined): string {
  return label ? `\n${message}`.replaceAll(`\n${label}: `, '\n').slice(1) : message;
}
