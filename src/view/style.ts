/** The colors of stderr. No message depends on them. */

export type Paint = (text: string) => string;

export interface Style {
  success: Paint;
  error: Paint;
  warning: Paint;
  dim: Paint;
  bold: Paint;
}

const PLAIN: Style = {
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
