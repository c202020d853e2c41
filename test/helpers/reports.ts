/** Runs a command with every report, and reads the reports as their consumers do. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILE_FORMATS } from '../../src/report/formats.js';
import { type CliOptions, type CliResult, runCli, temporaryFolder } from './cli.js';
import { VirtualClock } from './clock.js';
import { type Handler, scriptedService } from './service.js';

/** Text that would break a terminal, a CI log, a Markdown table, XML, or GitHub's files unless it is escaped. */
export const HOSTILE_TEXT = [
  'A\u001b[2J\u009b31m\u202e\u0000\u000b\ufffe\uffff\ud800 %0A%25 , = \\| ',
  '::error title=forged::x',
  ' ##[error]forged ##[group]',
  '| a | b | ]]> <!-- <script>x</script> &amp; &#124; "q" \'a\' `code` **b** [l](http://x) www.x.org @all :tada: $x$',
  '',
  '| --- |',
  'run-id<<EOF',
  'output=forged',
  '```',
].join('\r\n');

const EXTENSIONS: Readonly<Record<string, string>> = { junit: 'xml', markdown: 'md' };

/** A report file of every kind: r.xml, r.md, r.json, … */
export const REPORT_NAMES = FILE_FORMATS.map((kind) => `r.${EXTENSIONS[kind] ?? kind}`);

/** The flags for them. */
export const REPORT_FILES = FILE_FORMATS.flatMap((kind, index) => [
  '--report',
  `${kind}=${REPORT_NAMES[index]}`,
]);

/** The same, and the GitHub report. */
const ALL_REPORTS = ['--report', 'github', ...REPORT_FILES];

export interface ReportedResult extends CliResult {
  cwd: string;
  service: Awaited<ReturnType<typeof scriptedService>>;
  junit: string;
  markdown: string;
  json: {
    exitCode: number;
    runs: { id: string | null; workflowId: string | null; error: string | null; run: unknown }[];
  };
  jsonText: string;
  html: string;
  summary: string;
  outputs: Map<string, string>;
  /** The workflow commands on stderr, as the runner parses them. */
  annotations: { title: string; message: string }[];
}

/** Runs a command with all reports against a scripted service. */
export async function runWithReports(
  handler: Handler,
  args: readonly string[],
  options: CliOptions = {},
): Promise<ReportedResult> {
  const service = await scriptedService(handler);
  const cwd = options.cwd ?? temporaryFolder();
  const env = {
    WFR_BASE_URL: service.baseUrl,
    GITHUB_STEP_SUMMARY: join(cwd, 'summary.md'),
    GITHUB_OUTPUT: join(cwd, 'output.txt'),
    ...options.env,
  };
  const clock = options.clock ?? new VirtualClock();
  const result = await runCli([...args, ...ALL_REPORTS], { ...options, env, cwd, clock });
  const read = (name: string) => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8') : '');
  return {
    ...result,
    cwd,
    service,
    junit: read('r.xml'),
    markdown: read('r.md'),
    json: JSON.parse(read('r.json') || 'null'),
    jsonText: read('r.json'),
    html: read('r.html'),
    summary: read('summary.md'),
    outputs: parseOutputs(read('output.txt')),
    annotations: parseAnnotations(result.stderr),
  };
}

/** Parses the file of GITHUB_OUTPUT as the runner does. Throws when the runner would. */
function parseOutputs(text: string): Map<string, string> {
  const outputs = new Map<string, string>();
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line === '') continue;
    const equals = line.indexOf('=');
    const heredoc = line.indexOf('<<');
    if (equals >= 0 && (heredoc < 0 || equals < heredoc)) {
      outputs.set(line.slice(0, equals), line.slice(equals + 1));
      continue;
    }
    if (heredoc <= 0 || heredoc + 2 === line.length) throw new Error(`Invalid format '${line}'`);
    const end = lines.indexOf(line.slice(heredoc + 2), at + 1);
    if (end < 0) throw new Error(`Matching delimiter not found '${line}'`);
    outputs.set(line.slice(0, heredoc), lines.slice(at + 1, end).join('\n'));
    at = end;
  }
  return outputs;
}

/** Returns the error annotations in a log. Throws when any other line is a workflow command. */
function parseAnnotations(log: string): { title: string; message: string }[] {
  const lines = log.split('\n').filter((line) => line.includes('##[') || /^\s*::/.test(line));
  return lines.map((line) => {
    const [, title, message] = /^::error title=([^:,]*)::(.*)$/.exec(line) ?? [];
    if (title === undefined || message === undefined) throw new Error(`not an annotation: ${line}`);
    return { title: unescapeAnnotation(title), message: unescapeAnnotation(message) };
  });
}

/** Undoes the escaping of workflow commands. The runner decodes `%25` last. */
function unescapeAnnotation(text: string): string {
  return text
    .replaceAll('%0D', '\r')
    .replaceAll('%0A', '\n')
    .replaceAll('%3A', ':')
    .replaceAll('%2C', ',')
    .replaceAll('%25', '%');
}

/** Returns the cells of the rows of a Markdown table. Throws when a row and the header differ in their cells. */
export function parseTableRows(markdown: string): string[][] {
  const [head = '', rule = '', ...rows] = markdown.trimEnd().split('\n');
  const cells = (row: string) => {
    // GitHub ends a cell at a pipe without a backslash before it.
    const parts = row.split(/(?<!\\)\|/);
    if (parts.at(0) !== '' || parts.at(-1) !== '') throw new Error(`not a row: ${row}`);
    return parts.slice(1, -1).map((cell) => cell.trim());
  };
  const width = cells(head).length;
  if (!/^\|( --- \|)+$/.test(rule)) throw new Error(`not a rule: ${rule}`);
  return [rule, ...rows].map(cells).flatMap((row, index) => {
    if (row.length !== width) throw new Error(`${row.length} cells in place of ${width}: ${row.join('|')}`);
    return index === 0 ? [] : [row];
  });
}
