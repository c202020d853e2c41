/** `wfr config init`: writes a first config file. */
import { open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createFirstConfig, type FirstConfigFlags } from '../../config/first-config.js';
import type { ConfigLocation } from '../../config/load-config.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { mkdirp, throwForPathBelow } from '../../platform/files.js';
import { describeSystemError, errorCode } from '../../platform/system-error.js';

/** Writes the file that the flags describe, and prints its path. Throws UsageError, also if the file exists. */
export async function init(
  { path }: ConfigLocation,
  flags: FirstConfigFlags,
  context: Context,
): Promise<Exit> {
  const content = createFirstConfig(flags, context);
  await writeNewFile(path, `${JSON.stringify(content, undefined, 2)}\n`).catch((error) => {
    const isExisting = errorCode(error) === 'EEXIST';
    const reason = isExisting ? 'exists already, and is left unchanged' : describeSystemError(error);
    throw new UsageError([`the config file ${path}: ${reason}`]);
  });
  await context.stdout.write(`${path}\n`);
  const next = flags.baseUrl === undefined ? 'Set its baseUrl to the address of your service. ' : '';
  await context.stderr.write(`Created. ${next}To add workflows and their parameters, see: wfr help config\n`);
  return ExitCode.ok;
}

/** Writes a file that only its owner can read, in a folder that only its owner can read unless it exists. */
async function writeNewFile(path: string, text: string): Promise<void> {
  await mkdirp(dirname(path), 0o700).catch(throwForPathBelow);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}
