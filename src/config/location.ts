/** Where the config file is. */
import { isAbsolute, join } from 'node:path';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/path.js';

export interface ConfigLocation {
  path: string;
  /** Whether WFR_CONFIG names it, so that it has to be there. */
  isNamed: boolean;
}

/**
 * WFR_CONFIG, else the platform's folder for settings; undefined for a user without a home folder. The working folder is
 * never looked in: the file can name a command, and a folder may come from somebody else.
 */
export function configLocation(context: Context): ConfigLocation | undefined {
  const { env, home, platform } = context;
  if (env.WFR_CONFIG) return { path: resolvePath(env.WFR_CONFIG, context.cwd, context), isNamed: true };
  const folder =
    platform === 'win32'
      ? env.APPDATA || join(home, 'AppData', 'Roaming')
      : // One that is relative is to be ignored (XDG Base Directory Specification).
        absolute(env.XDG_CONFIG_HOME) || join(home, '.config');
  if (!isAbsolute(folder)) return undefined;
  return { path: join(folder, 'wfr', 'config.json'), isNamed: false };
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}
