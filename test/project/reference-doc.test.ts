/** docs/reference.md is made from `wfr help --json`; `npm run docs` updates it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CommandReference, FlagReference, Reference } from '../../src/commands/help/reference.js';
import { runCli } from '../helpers/cli.js';
import { ROOT } from '../helpers/process.js';

const path = join(ROOT, 'docs/reference.md');

const code = (text: string) => `\`${text.replaceAll('|', '\\|')}\``;

/** Returns a Markdown table whose columns are aligned, as the formatter does it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const escapeCell = (text: string) => text.replace(/[|<]/g, '\\$&');

function describeCommand({ name, description, arguments: operands, flags }: CommandReference): string {
  const usage = operands.map(({ name, required, repeatable }) => {
    const dots = repeatable ? '...' : '';
    return required ? `<${name}${dots}>` : `[${name}${dots}]`;
  });
  return [
    `## wfr ${name}`,
    `${escapeCell(description)}`,
    `\`\`\`text\nwfr ${[name, '[flags]', ...usage].join(' ')}\n\`\`\``,
    ...(operands.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            operands.map((it) => [code(it.name), escapeCell(it.description)]),
          ),
        ]),
    table(['flag', 'type', 'default', 'variable', 'meaning'], flags.map(flagRow)),
  ].join('\n\n');
}

function flagRow({ name, short, value, valueOptional, ...flag }: FlagReference): string[] {
  const placeholder = value === undefined ? '' : valueOptional ? ` [${value}]` : ` <${value}>`;
  return [
    code(`${short === undefined ? '' : `${short}, `}${name}${placeholder}`),
    flag.repeatable ? `${flag.type}, repeatable` : flag.type,
    flag.default === undefined ? '' : flag.default,
    (flag.environment ?? []).map(code).join(', '),
    escapeCell(flag.description),
  ];
}

function createPage({ description, commands, environment, exitCodes, errorCodes }: Reference): string {
  return `# Reference

${description}

This page is made from \`wfr help --json\`, which prints the same as one JSON document, for programs.
\`wfr help <command> --json\` prints one command.

${commands.map(describeCommand).join('\n\n')}

## Environment variables

${table(
  ['variable', 'meaning'],
  environment.map(({ name, value, description }) => [
    code(value === undefined ? name : `${name}=${value}`),
    escapeCell(description),
  ]),
)}

## Exit codes

${table(
  ['code', 'meaning'],
  exitCodes.map(({ code, description }) => [String(code), escapeCell(description)]),
)}

## Error codes

With \`-o json\`, \`-o jsonl\` or \`--json\`, the \`code\` of the error that is the last line of stderr. Its schema is
[error.schema.json](../error.schema.json).

${table(
  ['code', 'exit codes', 'meaning'],
  errorCodes.map(({ code: name, exitCodes, description }) => [
    code(name),
    exitCodes.join(', '),
    escapeCell(description),
  ]),
)}
`;
}

test('docs/reference.md: has every command, flag, variable and code of wfr help --json', async () => {
  const { stdout } = await runCli(['help', '--json']);
  await expect(createPage(JSON.parse(stdout))).toMatchFileSnapshot(path);
});
