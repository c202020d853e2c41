/** Colours, where they are wanted; nothing else may depend on them. */

/** Colours a text. */
export type Paint = (text: string) => string;

export interface Style {
  good: Paint;
  bad: Paint;
  warning: Paint;
  dim: Paint;
  strong: Paint;
}

const PLAIN: Style = {
  good: (text) => text,
  bad: (text) => text,
  warning: (text) => text,
  dim: (text) => text,
  strong: (text) => text,
};

/** The style of one output; chalk is loaded only for colours. */
export async function createStyle(color: boolean): Promise<Style> {
  if (!color) return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return { good: chalk.green, bad: chalk.red, warning: chalk.yellow, dim: chalk.dim, strong: chalk.bold };
}
