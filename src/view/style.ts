/** The colors of messages and results. Nothing depends on them. */
import type { Tone } from '../outcome/outcome.js';
import type { JsonColors } from '../text/json/format-json.js';

export type Paint = (text: string) => string;

export interface Style {
  success: Paint;
  error: Paint;
  warning: Paint;
  dim: Paint;
  bold: Paint;
}

/** No colors. */
export const PLAIN: Style = {
  success: (text) => text,
  error: (text) => text,
  warning: (text) => text,
  dim: (text) => text,
  bold: (text) => text,
};

/** Returns the style of an output; chalk is loaded only for colors. */
export async function createStyle(color: boolean): Promise<Style> {
  if (!color) return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return { success: chalk.green, error: chalk.red, warning: chalk.yellow, dim: chalk.dim, bold: chalk.bold };
}

/** Returns the color of a tone. */
export function paintOf(tone: Tone, { success, error, warning }: Style): Paint {
  return { good: success, bad: error, doubt: warning, open: (text: string) => text }[tone];
}

/** The colors of jq 1.7. They are sequences, as a string of any length is colored without holding it. */
export const JSON_COLORS: JsonColors = {
  key: '\u001b[1;34m',
  string: '\u001b[32m',
  null: '\u001b[90m',
  punctuation: '\u001b[1m',
  end: '\u001b[0m',
};

/** Returns how a status is colored: green and red for the two ends, yellow for a run in progress. */
export function statusPaint(status: string | undefined, style: Style): Paint {
  switch (status) {
    case 'FINISHED':
      return style.success;
    case 'FAILED':
      return style.error;
    case 'RUNNING':
      return style.warning;
    default:
      return style.dim;
  }
}
