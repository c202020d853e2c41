/**
 * `wfr config check`: checks the config file, and what it names without running any of it; with --connect, asks the
 * service.
 */

import { access, constants, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type ConfigContent, checkConfig } from '../../config/check-config.js';
import { loadCredentials, requireToken } from '../../config/credentials.js';
import { type ConfigLocation, chooseProfile, readConfigBytes } from '../../config/profile.js';
import { readNamedFile, type ServiceFlags } from '../../config/resolve-setting.js';
import { resolveServiceSettings } from '../../config/service.js';
import { collectUsageErrors, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { exitOfError } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import { describeSystemError } from '../../platform/system-error.js';
import { type JsonFile, parseJsonFile } from '../../text/json/json-file.js';
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
  const file = parseJsonFile(read.bytes, location.path, checkConfig);
  for (const problem of file.problems) await context.stdout.write(`${sanitize(problem)}\n`);
  if (file.problems.length > 0) return ExitCode.usage;
  const { warnings = [] } = (await chooseProfile(flags, context)) ?? {};
  const findings = await checkFiles(file, location.path, context);
  const reporter = await Reporter.open(decidePresentation(flags, context), context);
  for (const warning of warnings) reporter.warn(warning);
  for (const { isWarning, text } of findings) {
    if (isWarning) reporter.warn(text);
    else reporter.info(sanitize(text));
  }
  await context.stderr.write(`${sanitize(location.path)} is valid.\n`);
  return ExitCode.ok;
}

/** An id that no run has: a service that looks for it has accepted the token. */
const NO_RUN = '00000000-0000-0000-0000-000000000000';

/** Asks the service for a run that cannot exist. Throws UsageError, and WfrError without a token. */
function connect(flags: CheckFlags, context: Context): Promise<Exit> {
  return runCommand({}, { subjects: [] }, context, async (resources) => {
    const profile = await chooseProfile(flags, context);
    const sources = { flags, profile, context };
    const { settings, credentials } = await collectUsageErrors({
      settings: () => resolveServiceSettings(sources),
      credentials: () => loadCredentials(sources),
    });
    await requireToken(credentials, settings.baseUrl, resources.interruption.signal);
    const presentation = decidePresentation(flags, context);
    const session = await resources.openSession({
      settings,
      credentials,
      presentation,
      warnings: [],
      subjects: [],
    });
    const { error, thrown } = await pollOnce(NO_RUN, undefined, session);
    if (error === undefined || error.code === 'no-such-run') {
      const token =
        credentials.source === undefined
          ? 'no token was sent'
          : `the token from ${credentials.source} is accepted`;
      const said = error?.response?.message;
      const message = said === undefined ? '' : ` (404: ${said})`;
      session.reporter.notice(sanitize(`${settings.baseUrl.href} answers${message}, and ${token}.`));
      return { runs: [], exit: ExitCode.ok };
    }
    if (error.code === 'internal') throw thrown;
    session.reporter.error(error);
    return { runs: [], exit: exitOfError(error), failure: error };
  });
}

/** A certificate that expires within this time is a warning (ms). */
const SOON = 30 * 24 * 3_600_000;

interface Finding {
  isWarning: boolean;
  text: string;
}

/** What checks the file or the program that a setting names. */
const CHECKS = {
  tokenFile: checkReadable,
  tokenCommand: checkProgram,
  headerFile: checkReadable,
  caFile: checkCertificates,
  certFile: checkCertificates,
  keyFile: checkReadable,
} as const;

/** Returns `path:line:column: finding` for each file and program of a profile. The config file must be valid. */
async function checkFiles(file: JsonFile, path: string, context: Context): Promise<Finding[]> {
  const { profiles = {} } = file.value as ConfigContent;
  const findings: Finding[] = [];
  for (const [profile, settings] of Object.entries(profiles)) {
    for (const [setting, check] of Object.entries(CHECKS)) {
      const value = settings[setting as keyof typeof CHECKS];
      const [name = ''] = typeof value === 'string' ? [value] : (value ?? []);
      const finding = value === undefined ? undefined : await check(name, dirname(path), context);
      if (finding === undefined) continue;
      const { line, column } = file.placeOf(['profiles', profile, setting], 'value');
      const text = `${path}:${line}:${column}: "${setting}" ${JSON.stringify(name)}: ${finding.text}`;
      findings.push({ ...finding, text });
    }
  }
  return findings;
}

const warning = (text: string): Finding => ({ isWarning: true, text });

async function checkReadable(name: string, folder: string, context: Context): Promise<Finding | undefined> {
  try {
    await access(resolvePath(name, folder, context), constants.R_OK);
    return undefined;
  } catch (error) {
    return warning(describeSystemError(error));
  }
}

/** Tells when the first of the certificates expires. */
async function checkCertificates(name: string, folder: string, context: Context): Promise<Finding> {
  const { findCertificates } = await import('../../config/tls.js');
  try {
    const certificates = findCertificates(await readNamedFile('it', name, folder, context));
    const expiry = Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
    const left = expiry - context.clock.now();
    const date = new Date(expiry).toISOString().slice(0, 10);
    return { isWarning: left < SOON, text: `${left < 0 ? 'expired' : 'expires'} on ${date}` };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return warning(error.problems.map((problem) => problem.replace(/^it: /, '')).join('; '));
  }
}

/** Looks for a program as the system does when it starts one. */
async function checkProgram(program: string, folder: string, { env, platform }: Context) {
  const isWindows = platform === 'win32';
  const isPath = program.includes('/') || (isWindows && program.includes('\\'));
  // Without PATH, the system searches folders of its own.
  if (!isPath && env.PATH === undefined) return undefined;
  const folders = isPath ? [''] : (env.PATH ?? '').split(isWindows ? ';' : ':');
  const endings = isWindows ? ['', ...(env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';')] : [''];
  for (const path of folders.flatMap((one) => endings.map((ending) => join(one, program + ending)))) {
    if (await isProgram(resolve(folder, path))) return undefined;
  }
  return warning(isPath ? 'there is no such program' : 'there is no such program in PATH');
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
