/** Config files for tests. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './cli.js';

/** Writes a config file to a new folder, and returns the environment variables that select it. */
export function writeTestConfig(content: object | string | Buffer, env: Record<string, string> = {}) {
  const root = temporaryFolder();
  const folder = join(root, 'wfr');
  const path = join(folder, 'config.json');
  mkdirSync(folder);
  const isText = typeof content === 'string' || Buffer.isBuffer(content);
  writeFileSync(path, isText ? content : JSON.stringify(content, undefined, 1), { mode: 0o600 });
  return { env: { XDG_CONFIG_HOME: root, ...env } as Record<string, string>, path, folder };
}
