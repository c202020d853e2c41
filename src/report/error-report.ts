/** `--report json` of a command that ran nothing: written although its other reports may not even be known. */
import { randomUUID } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import type { CommandResult } from '../outcome/error-data.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { assertDistinctFiles, type NamedFile } from '../platform/same-file.js';
import { errorCode } from '../platform/system-error.js';
import { openAtomicFile } from './destination.js';
import { REPORT_START, renderJson } from './json.js';

interface OtherOutput {
  /** Files that the command writes, too. */
  taken: readonly (string | undefined)[];
  /** Whether nothing else may be on stdout. */
  isStdoutFree: boolean;
}

/**
 * Writes the JSON reports among the values of `--report`, except where the command writes something else. One that cannot
 * be written is left out: the error of the command counts.
 */
export async function writeError(
  requested: readonly string[],
  { taken, isStdoutFree }: OtherOutput,
  result: CommandResult,
  context: Context,
): Promise<void> {
  const requests = new Set(requested);
  const ofStdout = [...requests].filter((request) => request.endsWith('=-'));
  for (const request of requests) {
    const [, name] = /^json=(.+)$/s.exec(request) ?? [];
    if (name === '-' && isStdoutFree && ofStdout.length === 1)
      await writeToStdout(result, context).catch(() => {});
    if (name === undefined || name === '-') continue;
    const [path = '', ...others] = [name, ...taken.filter((other) => other !== undefined)].map((file) =>
      resolvePath(file, context.cwd, context),
    );
    const files = [path, ...others].map((file) => ({ name: file, path: file, isWritten: true }));
    if ((await areDistinct(files)) && (await mayReplace(path)))
      await writeReport(path, result, context).catch(() => {});
  }
}

function areDistinct(files: readonly NamedFile[]): Promise<boolean> {
  return assertDistinctFiles(files).then(
    () => true,
    () => false,
  );
}

async function writeReport(path: string, result: CommandResult, context: Context): Promise<void> {
  const { write, discard } = await openAtomicFile(path, randomUUID(), context);
  await write(context.secrets.maskChunks(renderJson(result))).finally(discard);
}

async function writeToStdout(result: CommandResult, { stdout, secrets }: Context): Promise<void> {
  for (const chunk of secrets.maskChunks(renderJson(result))) await stdout.write(chunk);
}

/** Returns whether nothing is lost: a mistyped command may name one of its inputs as the report. */
async function mayReplace(path: string): Promise<boolean> {
  try {
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) return true;
    const handle = await open(path);
    try {
      const { bytesRead, buffer } = await handle.read({ length: REPORT_START.length });
      return bytesRead === 0 || buffer.toString('utf8', 0, bytesRead) === REPORT_START;
    } finally {
      await handle.close();
    }
  } catch (error) {
    return errorCode(error) === 'ENOENT';
  }
}
