/** The files of src/ and what they import, for the tests of the architecture. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toPosix } from './files.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

export interface Import {
  from: string;
  /** Relative to src, or a package's name. */
  to: string;
  isTypeOnly: boolean;
  isDynamic: boolean;
}

/** The text of every source file, by its path in src. */
export function readSources(): ReadonlyMap<string, string> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).map(toPosix);
  const sources = files.filter((file) => /(?<!\.d)\.ts$/.test(file));
  return new Map(sources.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));
}

/** Returns every import of `sources`, dynamic ones included. */
export function findImports(sources: ReadonlyMap<string, string>): Import[] {
  return [...sources].flatMap(([from, source]) => importsOf(from, source));
}

function importsOf(from: string, source: string): Import[] {
  const found = source.matchAll(/^(?:import|export)\b([^;']*?)from '([^']+)'|\bimport\('([^']+)'\)/gm);
  return [...found].map(([, what = '', specifier, dynamic]) => {
    const target = specifier ?? dynamic ?? '';
    const to = target.startsWith('.')
      ? toPosix(relative(SRC, join(SRC, dirname(from), target))).replace(/\.js$/, '.ts')
      : target;
    const names = what.replace(/[{}]/g, '').split(',');
    const isTypeOnly =
      /^\s*type\b/.test(what) || (what.includes('{') && names.every((name) => /^\s*(type\b.*)?$/.test(name)));
    return { from, to, isTypeOnly, isDynamic: dynamic !== undefined };
  });
}
