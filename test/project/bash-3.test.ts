/** The scripts that people run on macOS use nothing that its bash 3.2 lacks; WFR_BASH_3 names one to try them with. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { folderWith } from '../helpers/files.js';
import { folderWithWfr, ROOT, start } from '../helpers/process.js';

const SCRIPTS = [
  'src/commands/completion/wfr.bash',
  'examples/ci/pipeline.sh',
  'examples/scale/parallel.sh',
  'action/install.sh',
  'action/run.sh',
];
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8').replace(/(^|\s)#.*$/gm, '');

/** What came after bash 3.2, and the version that has it. */
const LATER: [string, RegExp][] = [
  ['4.0: mapfile, coproc', /\b(mapfile|readarray|coproc)\b/],
  ['4.0: associative arrays', /\b(declare|local|typeset|readonly) +-\w*A/],
  ['4.3: references to names', /\b(declare|local|typeset) +-\w*n/],
  ['4.0: changing the case', /\$\{!?\w+(\[[^\]]*\])?(\^|,)/],
  ['4.4: transformations', /\$\{!?\w+(\[[^\]]*\])?@[A-Za-z]\}/],
  ['4.0: &>> and |&', /&>>|\|&/],
  ['4.0: ;& and ;;&', /;;?&/],
  ['4.0: steps of braces', /\{\w+\.\.\w+\.\.\w+\}/],
  ['4.2: [[ -v', /\[\[ +(! +)?-v /],
  ['4.2: %(…)T of printf', /printf.*%\([^)]*\)T/],
  ['4.0: globstar, autocd', /\b(globstar|autocd|lastpipe|inherit_errexit)\b/],
  ['4.3: wait -n', /\bwait +-n/],
  ['4.0: read -i, -N, and a timeout of a fraction', /\bread +-\w*[iN]|\bread +-t *0?\./],
  ['4.0: variables', /\$\{?(BASHPID|EPOCH\w+|READLINE_\w+|SRANDOM|COMP_KEY|COMP_TYPE|PROMPT_DIRTRIM)\b/],
  ['4.2: negative lengths and indexes', /\$\{\w+(\[[^\]]*\])?:[\w ]+: *-|\$\{\w+\[-\d+\]/],
  ['4.2: escapes of code points', /\$'[^']*\\u[0-9a-fA-F]/],
  ['4.1: descriptors in variables', /\{\w+\}[<>]/],
  // It fails without a message where the command is missing.
  ['4.0: compopt', /\bcompopt\b(?!.*2>\/dev\/null)/],
  ['4.0: source <(…), which 3.2 reads as empty', /(\bsource|^\.) +<\(/m],
];

describe('bash 3.2', () => {
  test.each(SCRIPTS)('%s uses nothing that bash 3.2 lacks', (path) => {
    const text = read(path);
    expect(LATER.filter(([, pattern]) => pattern.test(text)).map(([name]) => name)).toEqual([]);
  });

  test('docs/install.md and the help load the completion of bash without source <(…), which defines nothing in bash 3.2', () => {
    for (const path of [
      'docs/install.md',
      'src/commands/completion/flags.ts',
      'src/commands/completion/wfr.bash',
    ])
      expect(readFileSync(join(ROOT, path), 'utf8')).not.toMatch(/source <\(wfr completion bash/);
    expect(read('docs/install.md')).toContain('eval "$(wfr completion bash)"');
  });

  /** An array that is empty counts as unset before bash 4.4. These always have an element. */
  const NEVER_EMPTY = ['logins', 'places', 'items', 'kept'];

  test.each(SCRIPTS)('%s expands an array that may be empty only if it is set', (path) => {
    const text = read(path);
    if (!/set -\w*u/.test(text)) return;
    const unguarded = text.replace(/\$\{(\w+)\[@\]\+"\$\{\1\[@\]\}"\}/g, '');
    const names = [...unguarded.matchAll(/"\$\{(\w+)\[@\]\}"/g)].map(([, name = '']) => name);
    expect(names.filter((name) => !NEVER_EMPTY.includes(name))).toEqual([]);
  });

  const BASH_3 = process.env.WFR_BASH_3;

  test.runIf(BASH_3)('the completion works in bash 3.2', async () => {
    const cwd = folderWith({ 'note.txt': '', 'my note.txt': '' });
    const lines = `set -u; eval "$(wfr completion bash)"; set +u
      try() { COMP_LINE=$1 COMP_POINT=\${#1} COMPREPLY=(); _wfr wfr "$2" ''; printf '%s;' "\${COMPREPLY[@]}"; echo; }
      try 'wfr st' st; try 'wfr completion ' ''; try 'wfr run w note@=no' no; try 'wfr run w note@="my' my`;
    const env = { PATH: `${folderWithWfr()}:${process.env.PATH}` };
    const { stdout, stderr } = await start(BASH_3 ?? '', ['--norc', '-c', lines], env, { cwd }).ended;
    expect({ stdout, stderr }).toEqual({
      stdout: 'status;\nbash;zsh;fish;powershell;\nnote.txt;\nmy note.txt;\n',
      stderr: '',
    });
  });

  test.runIf(BASH_3)('the scripts run in bash 3.2 up to wfr', async () => {
    const wfr = '#!/bin/sh\nfor word; do printf "[%s]" "$word" >&2; done; echo >&2; exit 8\n';
    const cwd = folderWith({ 'rows.csv': 'a\n1\n' });
    const bin = temporaryFolder();
    writeFileSync(join(bin, 'wfr'), wfr, { mode: 0o755 });
    writeFileSync(join(bin, 'parallel'), wfr, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const pipeline = await start(BASH_3 ?? '', [join(ROOT, 'examples/ci/pipeline.sh')], env, { cwd }).ended;
    expect(pipeline).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('[customer=ACME]\n') });
    writeFileSync(join(bin, 'wfr'), wfr.replace('exit 8', 'exit 0'), { mode: 0o755 });
    const script = join(ROOT, 'examples/scale/parallel.sh');
    const parallel = await start(BASH_3 ?? '', [script, '2', 'w', 'rows.csv'], env, { cwd }).ended;
    expect(parallel.stderr).toContain('[--termseq]');
    expect(parallel.stderr).not.toContain('unbound');
  });
});
