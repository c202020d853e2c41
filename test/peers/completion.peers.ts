/** Completion with the Tab key in real shells. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { ROOT } from '../helpers/process.js';
import { Screen } from '../helpers/screen.js';

const ID = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';
const OTHER = 'c0ffee00-2f57-4a53-9a8e-3d2f4c5b6a79';
const BASE_URL = 'https://workflows.example.com/v1';
const REPORT = '11111111-2222-3333-4444-555555555555';
const WORKFLOW = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');

/** How each shell is started without the user's settings, and its line in docs/install.md. */
const SHELLS = [
  { shell: 'bash', command: ['bash', '--norc'] },
  { shell: 'zsh', command: ['zsh', '-f'] },
  {
    shell: 'fish',
    command: [
      'fish',
      '--no-config',
      '-C',
      "set -g fish_greeting; set -g fish_autosuggestion_enabled 0; function fish_prompt; echo '$ '; end",
    ],
  },
].map((entry) => {
  const [, line = ''] = new RegExp(`^\\|${entry.shell}\\|\`(.*?)\``, 'm').exec(page) ?? [];
  return { ...entry, line: line.replaceAll('\\|', '|') };
});

const CONFIG = {
  defaultProfile: 'production',
  profiles: {
    production: {
      baseUrl: BASE_URL,
      workflows: {
        order: {
          id: WORKFLOW,
          parameters: { scan: 'document', customer: 'string', 'amount?': 'number', 'the size?': 'number' },
        },
        invoice: WORKFLOW,
        'eu:report': REPORT,
        "x's $(echo)": REPORT,
      },
    },
    test: { baseUrl: 'https://test.example.com' },
  },
};

const RUN = { workflow: WORKFLOW, baseUrl: BASE_URL, triggered: '2026-01-02T03:04:05.000Z', inputs: [] };
const HISTORY = [
  { ...RUN, id: 'hostile $(touch pwned);touch pwned', workflow: 'w' },
  { ...RUN, id: OTHER, workflow: 'w', status: 'FAILED' },
  { ...RUN, id: ID, status: 'FINISHED' },
];

/** Each contains the text `found`, which shows that its name reached wfr. */
const FILES = ['my note.txt', 'it\'s $5 (new) "x".txt', 'out put/deep.txt', '.hidden.txt'];

/** Starts a shell with the line of docs/install.md, in a folder with files, a config file and a history. */
async function prepared({ command, line }: (typeof SHELLS)[number]): Promise<Screen> {
  const state = temporaryFolder();
  mkdirSync(join(state, 'wfr'));
  writeFileSync(
    join(state, 'wfr', 'history.jsonl'),
    HISTORY.map((run) => `${JSON.stringify(run)}\n`).join(''),
  );
  const screen = new Screen(150, 30, { ...writeTestConfig(CONFIG).env, XDG_STATE_HOME: state }, command);
  mkdirSync(join(screen.cwd, 'out put'));
  for (const file of FILES) writeFileSync(join(screen.cwd, file), 'found');
  await screen.waitFor(/^\$$/m);
  screen.typeLine(line);
  screen.typeLine('echo ready');
  await screen.waitFor(/^ready\n\$$/m);
  screen.press('C-l');
  return screen;
}

/** Returns the line after Tab has been pressed at its end. */
async function afterTab(screen: Screen, written: string): Promise<string> {
  screen.typeText(written);
  screen.press('Tab');
  // It follows whatever the shell has added, including a space.
  screen.typeText('Z');
  const text = await screen.waitFor(/^\$ .*Z/m);
  const [, line = ''] = /^\$ (.*)Z/m.exec(text) ?? [];
  screen.press('C-u');
  screen.press('C-l');
  await screen.waitFor(/^\$$/);
  return line;
}

type Lines = readonly (readonly [written: string, completed: string])[];

const NAMES: Lines = [
  ['wfr ru', 'wfr run '],
  ['wfr run --det', 'wfr run --detach '],
  ['wfr --profile test watch --ver', 'wfr --profile test watch --verbose '],
  ['wfr run w a=1 --det', 'wfr run w a=1 --detach '],
  ['wfr run -- --det', 'wfr run -- --det'],
  ['wfr help exit', 'wfr help exit-codes '],
  ['wfr completion f', 'wfr completion fish '],
  ['wfr sandbox -- wfr run --dry', 'wfr sandbox -- wfr run --dry-run '],
  ['A=1 wfr wat', 'A=1 wfr watch '],
  ['echo a; wfr wat', 'echo a; wfr watch '],
];

const VALUES: Lines = [
  ['wfr run --output te', 'wfr run --output text '],
  ['wfr run --output=te', 'wfr run --output=text '],
  ['wfr status --color al', 'wfr status --color always '],
  ['wfr run --workflow-id-field wor', 'wfr run --workflow-id-field wor'],
  ['wfr run --report jun', 'wfr run --report junit='],
  ['wfr run --report=jun', 'wfr run --report=junit='],
  ['wfr run --profile pro', 'wfr run --profile production '],
  ['wfr run --profile=te', 'wfr run --profile=test '],
];

const RUNS: Lines = [
  ['wfr run inv', 'wfr run invoice '],
  ['wfr run --profile test inv', 'wfr run --profile test inv'],
  ['wfr run eu:r', 'wfr run eu:report '],
  ['wfr run x', "wfr run x\\'s\\ \\$\\(echo\\) "],
  ['wfr watch 0b', `wfr watch ${ID} `],
  ['wfr status -- c0', `wfr status -- ${OTHER} `],
  ['wfr watch @la', 'wfr watch @last'],
  ['wfr watch @last:inv', 'wfr watch @last:invoice '],
  [`wfr watch ${ID} @last:w`, `wfr watch ${ID} @last:w `],
  ['wfr watch hos', 'wfr watch hostile\\ \\$\\(touch\\ pwned\\)\\;touch\\ pwned '],
];

const PARAMETERS: Lines = [
  ['wfr run order sc', 'wfr run order scan@'],
  ['wfr run order cu', 'wfr run order customer='],
  ['wfr run order scan@x.pdf am', 'wfr run order scan@x.pdf amount:='],
  ['wfr run order th', 'wfr run order the\\ size:='],
  ['wfr run order cu customer=x', 'wfr run order cu customer=x'],
  ['wfr run order customer=x cu', 'wfr run order customer=x cu'],
  ['wfr run order -i cu', 'wfr run order -i customer='],
  ['wfr run order --input=am', 'wfr run order --input=amount:='],
  ['wfr run order scan@my', 'wfr run order scan@my\\ note.txt '],
  ['wfr batch order -i cu', 'wfr batch order -i customer='],
  ['wfr batch order --each s', 'wfr batch order --each scan '],
];

const PATHS: Lines = [
  ['wfr run w invoice@my', 'wfr run w invoice@my\\ note.txt '],
  ['wfr run w invoice@', 'wfr run w invoice@'],
  ['wfr run w --inputs-file=./my', 'wfr run w --inputs-file=./my\\ note.txt '],
  ['wfr run w --inputs-file ~/my', 'wfr run w --inputs-file ~/my\\ note.txt '],
  ['wfr run w --save-documents o', 'wfr run w --save-documents out\\ put/'],
  ['wfr run w --save-documents m', 'wfr run w --save-documents m'],
  ['wfr run w --report junit=ou', 'wfr run w --report junit=out\\ put/'],
];

/** Inputs that Tab, pressed twice, completes to the file `my note`. */
const INPUTS = [
  'my\\ note@=my',
  'my\\ note@:=.hid',
  'my\\ note@=~/my',
  'my\\ note@=it',
  'my\\ note@=ou',
  '-i my\\ note@=my',
  '--input=my\\ note@=my',
  '"my note@=my',
  "'my note@=my",
  '"my note@=it',
  '"my note@=ou',
  "'my note@=ou",
  '"my note@=~/ou',
  'my\\ note@="my',
  "my\\ note@='ou",
  '"my note"@=my',
  "'my note'@=it",
];

describe.each(SHELLS)('completion in $shell', (shell) => {
  test.each([
    ['names of commands, flags and topics', NAMES],
    ['values of flags', VALUES],
    ['workflows and runs', RUNS],
    ['declared parameters with their separators', PARAMETERS],
    ['files and folders', PATHS],
  ])('completion: completes %s', async (_what, lines) => {
    const screen = await prepared(shell);
    const results: (readonly [string, string])[] = [];
    for (const [written] of lines) results.push([written, await afterTab(screen, written)]);
    expect(results).toEqual(lines);
    expect(readdirSync(screen.cwd)).not.toContain('pwned');
  });

  test('completion: input files are completed so that wfr receives them, in every kind of quotes', async () => {
    const screen = await prepared(shell);
    writeFileSync(join(screen.cwd, '.hidden.txt'), '"found"');
    // zsh itself leaves a quote open if the file name contains one.
    const inputs = shell.shell === 'zsh' ? INPUTS : [...INPUTS, "'my note@=it"];
    for (const input of inputs) {
      screen.typeText(`wfr run --dry-run invoice ${input}`);
      screen.press('Tab');
      screen.press('Tab');
      screen.press('Enter');
      await screen.waitFor(/"my note": "found"(.|\n)*\$$/);
      screen.press('C-l');
      await screen.waitFor(/^\$$/);
    }
  });

  test('completion: candidates are listed, with their descriptions where the shell shows them', async () => {
    const screen = await prepared(shell);
    screen.typeText('wfr watch ');
    screen.press('Tab');
    if (shell.shell === 'bash') screen.press('Tab');
    const text = await screen.waitFor(/@last:w(.|\n)*hostile/);
    expect(text).toContain('@last:invoice');
    for (const described of [/@last .*FINISHED invoice/, new RegExp(`${OTHER} .*FAILED w`)])
      expect(described.test(text)).toBe(shell.shell !== 'bash');
  });

  test('completion: a list of folders marks each with at most one slash', async () => {
    const screen = await prepared(shell);
    for (const name of ['scans-1', 'scans-2']) mkdirSync(join(screen.cwd, name));
    screen.typeText('wfr run w --report junit=scans-');
    screen.press('Tab');
    screen.press('Tab');
    expect(await screen.waitFor(/scans-1(.|\n)*scans-2/)).not.toContain('//');
  });

  test('completion: text after the cursor stays unchanged', async () => {
    const screen = await prepared(shell);
    screen.typeText('wfr wat --quiet');
    for (const _character of ' --quiet') screen.press('Left');
    screen.press('Tab');
    screen.typeText('Z');
    expect(await screen.waitFor(/Z/)).toMatch(/^\$ wfr watch ?Z ?--quiet$/);
  });
});
