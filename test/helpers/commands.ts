/** The commands of wfr, as `wfr help --json` lists them, without the parts of one such as `config show`. */
import { runCli } from './cli.js';

interface Listed {
  commands: { name: string }[];
}

const { commands } = JSON.parse((await runCli(['help', '--json'])).stdout) as Listed;

export const COMMANDS: readonly string[] = commands.flatMap(({ name }) => (name.includes(' ') ? [] : [name]));
