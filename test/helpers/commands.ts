/** The commands of wfr, without the parts of one such as `config show`. */
import { createReference } from './reference.js';

export const COMMANDS: readonly string[] = createReference().commands.flatMap(({ name }) =>
  name.includes(' ') ? [] : [name],
);
