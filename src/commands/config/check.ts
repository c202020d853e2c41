/** `wfr config check`: checks the config file; with --connect, reads what it names and asks the service. */
import { checkConfig } from '../../config/check-config.js';
import { loadCredentials } from '../../config/credentials.js';
import { type ConfigLocation, chooseProfile, readConfigBytes } from '../../config/profile.js';
import type { ServiceFlags } from '../../config/resolve-setting.js';
import { resolveServiceSettings } from '../../config/service.js';
import { collectUsageErrors } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { exitOfError } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { parseJsonFile } from '../../text/json/json-file.js';
import { sanitize } from '../../text/sanitize.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';
import { runCommand } from '../shared/session.js';
import { pollOnce } from '../shared/watch-run.js';

interface CheckFlags extends ServiceFlags, PresentationFlags {
  connect?: boolean;
}

/** Checks the config file; the errors are the result, so they go to stdout, in the format that editors parse. */
export async function check(location: ConfigLocation, flags: CheckFlags, context: Context): Promise<Exit> {
  const exit = await checkConfigFile(location, flags, context);
  return flags.connect === true && exit === ExitCode.ok ? connect(flags, context) : exit;
}

async function checkConfigFile(location: ConfigLocation, flags: CheckFlags, context: Context): Promise<Exit> {
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

/** An id that no run has: a service that looks for it has accepted the token. */
const NO_RUN = '00000000-0000-0000-0000-000000000000';

/** Asks the service for a run that cannot exist. Throws UsageError, and WfrError without a token. */
function connect(flags: CheckFlags, context: Context): Promise<Exit> {
  return runCommand({}, [], context, async (resources) => {
    const profile = await chooseProfile(flags, context);
    const sources = { flags, profile, context };
    const plan = await collectUsageErrors({
      settings: () => resolveServiceSettings(sources),
      credentials: () => loadCredentials(sources),
      presentation: () => decidePresentation(flags, context),
    });
    const session = await resources.openSession({ ...plan, warnings: [], subjects: [] });
    const { error, thrown } = await pollOnce(NO_RUN, undefined, session);
    if (error === undefined || error.code === 'no-such-run') {
      const { source } = plan.credentials;
      const token = source === undefined ? 'no token was sent' : `the token from ${source} is accepted`;
      const said = error?.response?.message;
      const message = said === undefined ? '' : ` (404: ${said})`;
      session.reporter.notice(sanitize(`${plan.settings.baseUrl.href} answers${message}, and ${token}.`));
      return { runs: [], exit: ExitCode.ok };
    }
    if (error.code === 'internal') throw thrown;
    session.reporter.error(error);
    return { runs: [], exit: exitOfError(error), failure: error };
  });
}
