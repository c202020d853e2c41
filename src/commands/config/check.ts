/** `wfr config check`: checks the config file. */
import { checkConfig } from '../../config/check-config.js';
import {
  type ConfigLocation,
  chooseProfile,
  type ProfileFlags,
  readConfigBytes,
} from '../../config/profile.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { parseJsonFile } from '../../text/json/json-file.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';

/** Checks the config file; the errors are the result, so they go to stdout, in the format that editors parse. */
export async function check(
  location: ConfigLocation,
  flags: ProfileFlags & PresentationFlags,
  context: Context,
): Promise<Exit> {
  const read = readConfigBytes(location);
  if (read === undefined) {
    await chooseProfile(flags, context);
    await context.stderr.write(`There is no config file at ${sanitize(location.path)}; none is required.\n`);
    return ExitCode.ok;
  }
  const { problems } = parseJsonFile(read.bytes, location.path, checkConfig);
  for (const problem of problems) await context.stdout.write(`${sanitize(problem)}\n`);
  if (problems.length > 0) return ExitCode.usage;
  const { warnings = [] } = (await chooseProfile(flags, context)) ?? {};
  const reporter = await Reporter.open(decidePresentation(flags, context), context);
  for (const warning of warnings) reporter.warn(warning);
  await context.stderr.write(`${sanitize(location.path)} is valid.\n`);
  return ExitCode.ok;
}
