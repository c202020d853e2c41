/** Finds the words of a command line that are not inputs, such as those of `invoice scan.pdf` and `customer = ACME`. */
import { isFile } from '../platform/files.js';
import { shellCommand } from '../text/shell-quote.js';
import {
  escapeName,
  INPUT_SYNTAX,
  type Item,
  isPlainPath,
  isSeparator,
  NotAnInputError,
  parseItem,
} from './item.js';

/** Words that are listed at most. */
const MAX_LISTED = 10;

/** Returns the words that are inputs, valid or not, and what is wrong with the others. */
export async function findLooseWords(
  words: readonly string[],
  cwd: string,
): Promise<{ items: string[]; problems: string[] }> {
  const items: string[] = [];
  const loose: string[] = [];
  const problems: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const [word = '', ...next] = words.slice(index, index + 3);
    if (!isLoose(word)) {
      items.push(word);
      continue;
    }
    const meant = await findMeant(word, next, cwd);
    if (meant === undefined) {
      loose.push(word);
      continue;
    }
    const rest = next.slice(0, meant.taken);
    problems.push(`${[word, ...rest].join(' ')}: is not an input; did you mean ${meant.item}?`);
    index += meant.taken;
  }
  return { items, problems: [...problems, ...describeLoose(loose)] };
}

function isLoose(word: string): boolean {
  try {
    parseItem(word);
  } catch (error) {
    return error instanceof NotAnInputError;
  }
  return false;
}

/** Returns the input that a word may stand for together with the next ones, and how many of these it takes. */
async function findMeant(name: string, [next = '', value]: readonly string[], cwd: string) {
  if (name === '') return undefined;
  const input = (rest: string) => shellCommand([escapeName(name) + rest]);
  if (isSeparator(next) && value !== undefined && (!next.startsWith('@') || isPlainPath(value)))
    return { item: input(next + value), taken: 2 };
  if (isLoose(next) && isPlainPath(next) && (await isFile(next, cwd)))
    return { item: input(`@${next}`), taken: 1 };
  return undefined;
}

function describeLoose(words: readonly string[]): string[] {
  const [only, another] = words;
  if (only === undefined) return [];
  if (another === undefined) return [new NotAnInputError(only).message];
  const shown = words.slice(0, MAX_LISTED).map((word) => word || '""');
  const more = words.length > shown.length ? ` and ${words.length - shown.length} more` : '';
  return [`${shown.join(', ')}${more}: are not inputs; use ${INPUT_SYNTAX}`];
}

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
