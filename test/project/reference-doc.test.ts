/** docs/reference.md is made from `wfr help --json`; `npm run docs` updates it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import schema from '../../error.schema.json' with { type: 'json' };
import type { CommandReference, FlagReference, Reference } from '../../src/commands/help/reference.js';
import { runCli } from '../helpers/cli.js';
import { ROOT } from '../helpers/process.js';

const path = join(ROOT, 'docs/reference.md');

const code = (text: string) => `\`${text.replaceAll('|', '\\|')}\``;

/** Returns a Markdown table. Its cells are not padded: nobody edits this page. */
function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `|${cells.join('|')}|`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const escapeCell = (text: string) => text.replace(/[|<]/g, '\\$&');

/** The flags that several commands have with the same meaning, each with those commands. */
type SharedFlags = ReadonlyMap<string, readonly string[]>;

function findSharedFlags(commands: readonly CommandReference[]): SharedFlags {
  const owners = new Map<string, string[]>();
  for (const { name, flags } of commands)
    for (const flag of flags) {
      const row = flagRow(flag).join('|');
      owners.set(row, [...(owners.get(row) ?? []), name]);
    }
  return new Map([...owners].filter(([, names]) => names.length > 1));
}

function describeCommand(
  { name, description, arguments: operands, flags }: CommandReference,
  shared: SharedFlags,
) {
  const usage = operands.map(({ name, required, repeatable }) => {
    const dots = repeatable ? '...' : '';
    return required ? `<${name}${dots}>` : `[${name}${dots}]`;
  });
  const own = flags.map(flagRow).filter((row) => !shared.has(row.join('|')));
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
    ...(own.length === 0 ? [] : [table(FLAG_COLUMNS, own)]),
  ].join('\n\n');
}

const ERROR_CODES = schema.$defs.error.properties.code.oneOf;

const FLAG_COLUMNS = ['flag', 'type', 'default', 'variable', 'meaning'];

/** Returns the table of the flags that several commands have. */
function sharedFlagsTable(shared: SharedFlags, commands: readonly CommandReference[]): string {
  const namesOf = (owners: readonly string[]) =>
    owners.length === commands.length ? 'all' : owners.map(code).join(', ');
  return table(
    [...FLAG_COLUMNS, 'commands'],
    [...shared].map(([row, owners]) => [row, namesOf(owners)]),
  );
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
  const shared = findSharedFlags(commands);
  return `# Reference

${description}

This page is made from \`wfr help --json\`, which prints the same as one JSON document, for programs.
\`wfr help <command> --json\` prints one command. [Flags of several commands](#flags-of-several-commands) are in one table.

${commands.map((command) => describeCommand(command, shared)).join('\n\n')}

## Flags of several commands

${sharedFlagsTable(shared, commands)}

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
  errorCodes.map(({ code: name, exitCodes }) => [
    code(name),
    exitCodes.join(', '),
    escapeCell(ERROR_CODES.find((one) => one.const === name)?.description ?? ''),
  ]),
)}
`;
}

test('docs/reference.md: has every command, flag, variable and code of wfr help --json', async () => {
  const { stdout } = await runCli(['help', '--json']);
  await expect(createPage(JSON.parse(stdout))).toMatchFileSnapshot(path);
});
