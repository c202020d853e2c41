/** From a row of a table to inputs that can be sent. */
import type { Row } from '../../batch/row.js';
import { UsageError } from '../../errors.js';
import type { Item } from '../../inputs/item.js';
import { type ResolvedInputs, resolveRow } from '../../inputs/resolve.js';
import type { Context } from '../../platform/context.js';

/** Reads texts and opens documents of a row, which overrides `defaults`. Throws UsageError, naming its place. */
export async function resolveRowInputs(
  { inputs, label }: Row,
  { defaults }: { defaults: readonly Item[] },
  context: Context,
): Promise<ResolvedInputs> {
  if ('problem' in inputs) throw new UsageError([`${label}: ${inputs.problem}`]);
  return resolveRow(inputs, label, defaults, context);
}
