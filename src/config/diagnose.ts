/** Everything that is wrong with a config file, by line and column. Loaded only for one that does not fit. */
import { isUtf8 } from 'node:buffer';
import { type Schema, Validator } from '@cfworker/json-schema';
import schema from '../../config.schema.json' with { type: 'json' };
import { firstNonUtf8 } from '../inputs/text.js';
import {
  type Flaw,
  findPositions,
  lineAndColumn,
  type Positions,
  pointerTo,
} from '../text/json/positions.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { baseUrlProblem, withoutUserInfo } from './base-url.js';
import { describeMistake, listed } from './describe-mistake.js';
import { syntaxFix } from './mend-syntax.js';

/** What the validator says of a value because of what is in it. */
const OF_WHAT_IS_IN_IT = new Set([
  'properties',
  'additionalProperties',
  'items',
  'propertyNames',
  'dependencies',
]);

/** `path:line:column: what; how to mend it` for each mistake, in their order. */
export function diagnose(bytes: Buffer, path: string): string[] {
  const lines = findFlaws(bytes)
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, what }) => {
      const { line, column } = lineAndColumn(bytes, offset);
      return `${path}:${line}:${column}: ${what}`;
    });
  return [...new Set(lines)];
}

function findFlaws(bytes: Buffer): Flaw[] {
  if (!isUtf8(bytes)) return [{ offset: firstNonUtf8(bytes), what: 'not UTF-8; save the file as UTF-8' }];
  try {
    const { places, flaws } = findPositions(bytes);
    const content: unknown = JSON.parse(bytes.toString('utf8'));
    return [...flaws, ...shapeFlaws(content, places), ...meaningFlaws(content, places)];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return [{ offset: error.offset, what: syntaxFix(error, bytes) }];
  }
}

/** What the schema does not allow; of each value, the first that is wrong with it. */
function shapeFlaws(content: unknown, places: Positions): Flaw[] {
  const { errors } = new Validator(schema as Schema, '7', false).validate(content);
  const found = new Map<string, Flaw>();
  for (const { keyword, keywordLocation, instanceLocation } of errors) {
    if (OF_WHAT_IS_IN_IT.has(keyword)) continue;
    const pointer = decodeURIComponent(instanceLocation).slice(1);
    const isName = keywordLocation.includes('/propertyNames/');
    // A setting that needs another one.
    const [, needy = ''] = /\/dependencies\/(\w+)\/required$/.exec(keywordLocation) ?? [];
    const at = needy === '' ? pointer : pointerTo(pointer, needy);
    const place = places.get(at) ?? { name: 0, value: 0 };
    const what = describeMistake({ keyword, pointer: at, isName, missingDependency: needy !== '' }, content);
    const isAtName = isName || keyword === 'false' || needy !== '';
    const key = `${at}\n${isAtName}`;
    if (!found.has(key)) found.set(key, { offset: isAtName ? place.name : place.value, what });
  }
  return [...found.values()];
}

/** What a schema cannot say. */
function meaningFlaws(content: unknown, places: Positions): Flaw[] {
  const flaws: Flaw[] = [];
  const { defaultProfile, profiles } = membersOf(content);
  const named = membersOf(profiles);
  if (typeof defaultProfile === 'string' && !Object.hasOwn(named, defaultProfile)) {
    const what = `there is no profile ${JSON.stringify(defaultProfile)}; ${listed(Object.keys(named))}`;
    flaws.push({ offset: places.get('/defaultProfile')?.value ?? 0, what });
  }
  for (const [name, profile] of Object.entries(named)) {
    const { baseUrl, allowHttp } = membersOf(profile);
    if (typeof baseUrl !== 'string') continue;
    const complaint = baseUrlProblem(baseUrl, allowHttp === true, '"allowHttp": true');
    if (complaint === undefined) continue;
    const what = `"baseUrl" ${withoutUserInfo(baseUrl) || '""'}: ${complaint}`;
    flaws.push({ offset: places.get(`${pointerTo('/profiles', name)}/baseUrl`)?.value ?? 0, what });
  }
  return flaws;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
