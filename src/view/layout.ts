/** How results are shown on stdout: colors, and the width of the window. */
import type { Context } from '../platform/context.js';
import type { JsonColors } from '../text/json/format-json.js';
import { hasColor } from './presentation.js';
import { createStyle, JSON_COLORS, type Style } from './style.js';

export interface Layout {
  style: Style;
  jsonColors: JsonColors | undefined;
  /** The columns that a line may have; 0 where it may have any number. */
  width: number;
}

/** Returns the layout of stdout; `color` is the value of --color. A pipe has colors only with --color always. */
export async function openLayout(
  color: string | undefined,
  { stdout, env }: Pick<Context, 'stdout' | 'env'>,
): Promise<Layout> {
  const isColored = color === 'always' || (stdout.isTerminal && hasColor(color, env, stdout));
  return {
    style: await createStyle(isColored),
    jsonColors: isColored ? JSON_COLORS : undefined,
    width: stdout.isTerminal ? stdout.columns : 0,
  };
}
