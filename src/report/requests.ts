/** `--report` as it was written -> what is to be opened. */
import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { DestinationError, type Opener, openReplaced } from './destination.js';
import { githubOpeners } from './github-reports.js';
import { json } from './json.js';
import { junit } from './junit.js';
import { markdown } from './markdown.js';
import type { CommandResult } from './reported-run.js';

type Format = (ended: CommandResult) => Iterable<string | Uint8Array>;

interface FileKind {
  load: () => Promise<Format>;
  example: string;
}

const FILE_KINDS: Readonly<Record<string, FileKind>> = {
  junit: { load: async () => junit, example: 'report.xml' },
  markdown: { load: async () => markdown, example: 'report.md' },
  json: { load: async () => json, example: 'report.json' },
  // Larger than the others together.
  html: { load: async () => (await import('./html/page.js')).html, example: 'report.html' },
};

/** What `--report` takes; behind those that end in `=`, a file. */
export const REPORT_KINDS: readonly string[] = [
  'github',
  ...Object.keys(FILE_KINDS).map((kind) => `${kind}=`),
];

/** What one `--report` asks for. Throws UsageError. */
export function openersOf(written: string, context: Context): Opener[] {
  const [, kind = '', path] = /^([^=]*)(?:=(.*))?$/s.exec(written) ?? [];
  const complain = (complaint: string) => new UsageError([`--report ${written}: ${complaint}`]);
  if (kind === 'github') {
    if (path !== undefined) throw complain('it takes no file; write --report github');
    return githubOpeners(context);
  }
  const known = Object.hasOwn(FILE_KINDS, kind) ? FILE_KINDS[kind] : undefined;
  if (known === undefined) {
    throw complain(
      'there is no such report; choose github, junit=<file>, markdown=<file>, json=<file> or html=<file>',
    );
  }
  if (!path) throw complain(`it needs a file, as in --report ${kind}=${known.example}`);
  if (path === '-') throw complain("stdout carries wfr's answer alone; give a file");
  return [fileOpener(`--report ${written}`, resolvePath(path, context.cwd, context), known.load)];
}

function fileOpener(name: string, path: string, load: FileKind['load']): Opener {
  return async () => {
    const format = await load();
    const { write, discard } = await openReplaced(path, randomUUID()).catch((error) => {
      throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
    });
    return { name, write: (ended) => write(format(ended)), discard };
  };
}
