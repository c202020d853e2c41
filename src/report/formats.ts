/**
 * The reports that are files. Help, errors, completion and the tests of hostile texts follow from this table: a kind of report
 * is one entry. The renderers are loaded only where they are requested.
 */
import type { CommandResult } from '../outcome/error-data.js';

type LoadRenderer = () => Promise<(result: CommandResult) => Iterable<string | Uint8Array>>;

/** What loads the renderer, by the kind that `--report` names. */
export const FILE_FORMATS: Readonly<Record<string, LoadRenderer>> = {
  junit: async () => (await import('./junit.js')).renderJunit,
  markdown: async () => (await import('./markdown.js')).renderMarkdown,
  json: async () => (await import('./json.js')).renderJson,
  html: async () => (await import('./html/page.js')).renderPage,
};

/** The values that `--report` takes; a file follows those that end in `=`. */
export const REPORT_KINDS: readonly string[] = [
  'github',
  ...Object.keys(FILE_FORMATS).map((kind) => `${kind}=`),
];

/** The same as a text: `github, junit=<file> or html=<file>`. */
export const REPORT_CHOICES = REPORT_KINDS.map((kind) => kind.replace('=', '=<file>'))
  .join(', ')
  .replace(/, ([^,]*)$/, ' or $1');
