/** Temporary files that vanish with the process. */
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Opens a new file in `folder` for reading and writing, readable by us alone, and takes its name away. */
export async function createSpool(folder: string): Promise<FileHandle> {
  const { randomUUID } = await import('node:crypto');
  const path = join(folder, `.wfr-${randomUUID()}.tmp`);
  const handle = await open(path, 'wx+', 0o600);
  // Windows keeps the name of an open file; there the system's own clean-up takes it.
  await unlink(path).catch(() => {});
  return handle;
}
