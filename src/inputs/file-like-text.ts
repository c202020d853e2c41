/** Finds inputs such as `note=@note.txt`, which send that text, although the user may mean the file. */
import { isFile } from '../platform/files.js';
import { shellCommand } from '../text/shell-quote.js';
import { escapeName, type Item, isPlainPath } from './item.js';

/** Returns a warning for each text that is `@` and the path of a file. */
export async function findFileLikeTexts(items: readonly Item[], cwd: string): Promise<string[]> {
  const warnings: string[] = [];
  for (const item of items) {
    if (item.type !== 'string' || !item.text.startsWith('@')) continue;
    const path = item.text.slice(1);
    if (!isPlainPath(path) || !(await isFile(path, cwd))) continue;
    const fix = shellCommand([`${escapeName(item.name)}@=${path}`]);
    warnings.push(`${item.raw}: sends the text "@${path}"; to send the text of the file, write ${fix}`);
  }
  return warnings;
}
