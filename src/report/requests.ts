/** `--report` as it was written -> what is to be opened. */
import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { DestinationError, type Opener, openAtomicFile } from './destination.js';
import { githubOpeners } from './github-reports.js';
import { renderJson } from './json.js';
import { renderJunit } from './junit.js';
import { renderMarkdown } from './markdown.js';
import type { CommandResult } from './reported-run.js';

type Renderer = (ended: CommandResult) => Iterable<string | Uint8Array>;

interface FileFormat {
  load: () => Promise<Renderer>;
  example: string;
}

const FILE_FORMATS: Readonly<Record<string, FileFormat>> = {
  junit: { load: async () => renderJunit, example: 'report.xml' },
  markdown: { load: async () => renderMarkdown, example: 'report.md' },
  json: { load: async () => renderJson, example: 'report.json' },
  // Larger than the others together.
  html: { load: async () => (await import('./html/page.js')).renderPage, example: 'report.html' },
};

/** What `--report` takes; behind those that end in `=`, a file. */
export const REPORT_KINDS: readonly string[] = [
  'github',
  ...Object.keys(FILE_FORMATS).map((kind) => `${kind}=`),
];

/** What one `--report` asks for. Throws UsageError. */
export function parseReportRequest(written: string, context: Context): Opener[] {
  const [, kind = '', path] = /^([^=]*)(?:=(.*))?$/s.exec(written) ?? [];
  const complain = (complaint: string) => new UsageError([`--report ${written}: ${complaint}`]);
  if (kind === 'github') {
    if (path !== undefined) throw complain('it takes no file; write --report github');
    return githubOpeners(context);
  }
  const known = Object.hasOwn(FILE_FORMATS, kind) ? FILE_FORMATS[kind] : undefined;
  if (known === undefined) {
    throw complain(
      'there is no such report; choose github, junit=<file>, markdown=<file>, json=<file> or html=<file>',
    );
  }
  if (!path) throw complain(`it needs a file, as in --report ${kind}=${known.example}`);
  if (path === '-') throw complain("stdout carries wfr's answer alone; give a file");
  return [fileOpener(`--report ${written}`, resolvePath(path, context.cwd, context), known.load)];
}

function fileOpener(name: string, path: string, load: FileFormat['load']): Opener {
  return async () => {
    const format = await load();
    const { write, discard } = await openAtomicFile(path, randomUUID()).catch((error) => {
      throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
    });
    return { name, write: (ended) => write(format(ended)), discard };
  };
}
