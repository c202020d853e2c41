/** Checks the files and programs that a config file names, without running any. Loaded only by `wfr config check`. */
import { access, constants, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { describeSystemError } from '../platform/system-error.js';
import { findPositions, lineAndColumn, pointerTo } from '../text/json/positions.js';
import { stripByteOrderMark } from '../text/utf8.js';
import type { ConfigContent, ProfileSettings } from './settings-table.js';

/** A certificate that expires within this time is a warning (ms). */
const SOON = 30 * 24 * 3_600_000;

interface Finding {
  isWarning: boolean;
  text: string;
}

type Check = (settings: ProfileSettings, folder: string, context: Context) => Promise<Finding | undefined>;

const CHECKS: Partial<Record<keyof ProfileSettings, Check>> = {
  tokenFile: ({ tokenFile = '' }, folder, context) => checkReadable(tokenFile, folder, context),
  tokenCommand: ({ tokenCommand: [program = ''] = [] }, folder, context) =>
    checkProgram(program, folder, context),
  headerFile: ({ headerFile = '' }, folder, context) => checkReadable(headerFile, folder, context),
  caFile: ({ caFile = '' }, folder, context) => checkCertificates(caFile, folder, context),
  certFile: ({ certFile = '' }, folder, context) => checkCertificates(certFile, folder, context),
  keyFile: ({ keyFile = '' }, folder, context) => checkReadable(keyFile, folder, context),
};

/** Returns `path:line:column: finding` for each file and program of a profile. The config file must be valid. */
export async function checkFiles(file: Buffer, path: string, context: Context): Promise<Finding[]> {
  const bytes = stripByteOrderMark(file);
  const { positions } = findPositions(bytes);
  const { profiles = {} } = JSON.parse(bytes.toString('utf8')) as ConfigContent;
  const findings: Finding[] = [];
  for (const [profile, settings] of Object.entries(profiles)) {
    for (const [setting, check] of Object.entries(CHECKS)) {
      const value = settings[setting as keyof ProfileSettings];
      const finding = value === undefined ? undefined : await check(settings, dirname(path), context);
      if (finding === undefined) continue;
      const pointer = ['profiles', profile, setting].reduce(pointerTo, '');
      const { line, column } = lineAndColumn(bytes, positions.get(pointer)?.value ?? 0);
      const shown = JSON.stringify(Array.isArray(value) ? value[0] : value);
      findings.push({
        ...finding,
        text: `${path}:${line}:${column}: "${setting}" ${shown}: ${finding.text}`,
      });
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
  const { findCertificates, readPemFile } = await import('./tls.js');
  try {
    const certificates = findCertificates(await readPemFile('it', name, folder, context));
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
async function checkProgram(
  program: string,
  folder: string,
  { env, platform }: Context,
): Promise<Finding | undefined> {
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
