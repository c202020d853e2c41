/** Writes a help text, laid out for a terminal. */
import type { Context } from '../../platform/context.js';
import type { Output } from '../../platform/output.js';

/** Writes a help text to stdout or stderr; `color` is the value of --color. Throws OutputError. */
export async function writeHelp(
  text: string,
  color: string | undefined,
  output: Output,
  { env }: Pick<Context, 'env'>,
): Promise<void> {
  if (!output.isTerminal) return output.write(text);
  const { layOutHelp } = await import('../../view/help-layout.js');
  const { hasColor } = await import('../../view/presentation.js');
  const { createStyle } = await import('../../view/style.js');
  const style = await createStyle(hasColor(color, env, output));
  await output.write(layOutHelp(text, { style, width: output.columns }));
}
