/** Checks that the files that a config file names can be read. Loaded only by `wfr config check`. */
import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { describeSystemError } from '../platform/system-error.js';
import { findPositions, lineAndColumn, pointerTo } from '../text/json/positions.js';
import { stripByteOrderMark } from '../text/utf8.js';
import type { ConfigContent } from './settings-table.js';

const SETTINGS_WITH_FILE = ['tokenFile', 'headerFile'] as const;

/** Returns `path:line:column: problem` for each file of a profile that cannot be read. The config file must be valid. */
export async function findUnreadableFiles(file: Buffer, path: string, context: Context): Promise<string[]> {
  const bytes = stripByteOrderMark(file);
  const { positions } = findPositions(bytes);
  const { profiles = {} } = JSON.parse(bytes.toString('utf8')) as ConfigContent;
  const warnings: string[] = [];
  for (const [profile, settings] of Object.entries(profiles)) {
    for (const setting of SETTINGS_WITH_FILE) {
      const name = settings[setting];
      if (name === undefined) continue;
      const problem = await findProblem(name, dirname(path), context);
      if (problem === undefined) continue;
      const pointer = ['profiles', profile, setting].reduce(pointerTo, '');
      const { line, column } = lineAndColumn(bytes, positions.get(pointer)?.value ?? 0);
      warnings.push(`${path}:${line}:${column}: "${setting}" ${JSON.stringify(name)}: ${problem}`);
    }
  }
  return warnings;
}

async function findProblem(name: string, folder: string, context: Context): Promise<string | undefined> {
  try {
    await access(resolvePath(name, folder, context), constants.R_OK);
    return undefined;
  } catch (error) {
    return describeSystemError(error);
  }
}
