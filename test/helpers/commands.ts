/** The commands of wfr, as `wfr help --json` lists them. */
import { runCli } from './cli.js';

interface Listed {
  commands: { name: string }[];
}

const { commands } = JSON.parse((await runCli(['help', '--json'])).stdout) as Listed;

export const COMMANDS: readonly string[] = commands.map(({ name }) => name);
