/** What stdout is to carry. */
import { UsageError } from '../../errors.js';

export const OUTPUT_FORMATS = ['text', 'json', 'jsonl', 'id'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface OutputFlags {
  output?: string;
  json?: boolean;
}

/** The form of stdout. Throws UsageError. */
export function outputFormat({ output, json }: OutputFlags): OutputFormat {
  const written = output ?? (json === true ? 'json' : 'text');
  const format = OUTPUT_FORMATS.find((candidate) => candidate === written);
  if (format === undefined)
    throw new UsageError([`--output ${written}: choose one of ${OUTPUT_FORMATS.join(', ')}`]);
  if (json === true && format !== 'json')
    throw new UsageError([`--json and --output ${format} exclude each other`]);
  return format;
}
