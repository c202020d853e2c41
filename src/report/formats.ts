/** The kinds of reports, from which help, errors and completion follow; a start loads no renderer. */

/** The kinds that are files. */
export const FILE_FORMATS = ['junit', 'markdown', 'json', 'html'] as const;

/** The values that `--report` takes; a file follows those that end in `=`. */
export const REPORT_KINDS: readonly string[] = ['github', ...FILE_FORMATS.map((kind) => `${kind}=`)];

/** The same as a text: `github, junit=<file> or html=<file>`. */
export const REPORT_CHOICES = REPORT_KINDS.map((kind) => kind.replace('=', '=<file>'))
  .join(', ')
  .replace(/, ([^,]*)$/, ' or $1');
