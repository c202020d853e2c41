/** A terminal in tmux with a shell in which wfr is a command. */
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './cli.js';
import { folderWithWfr } from './process.js';

export class Screen {
  readonly #socket: string;
  readonly cwd = temporaryFolder();

  constructor(
    columns: number,
    rows: number,
    env: Record<string, string> = {},
    shell: readonly string[] = ['bash', '--norc'],
  ) {
    const bin = folderWithWfr();
    this.#socket = join(temporaryFolder(), 'tmux');
    const settings = {
      PATH: [bin, process.env.PATH].join(delimiter),
      HOME: this.cwd,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      PS1: '$ ',
      ...env,
    };
    const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    const size = ['-x', String(columns), '-y', String(rows)];
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      ...size,
      '-c',
      this.cwd,
      'env',
      '-i',
      ...variables,
      ...shell,
    );
    onTestFinished(() => void this.#tmux('kill-server'));
  }

  /** Types a line and Enter. */
  typeLine(line: string): void {
    this.typeText(line);
    this.press('Enter');
  }

  /** Types a text without Enter. */
  typeText(text: string): void {
    this.#tmux('send-keys', '-l', text);
  }

  /** Presses a key, by tmux's name for it: `C-z`. */
  press(key: string): void {
    this.#tmux('send-keys', key);
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** Returns the text on the screen, without trailing space. */
  text(): string {
    return this.#captured('-p');
  }

  /** Returns the text on the screen after the lines that were scrolled out. */
  scrollback(): string {
    return this.#captured('-p', '-S', '-');
  }

  #captured(...flags: string[]): string {
    return this.#tmux('capture-pane', ...flags)
      .replace(/ +$/gm, '')
      .trimEnd();
  }

  get cursorIsVisible(): boolean {
    return this.#tmux('display-message', '-p', '#{cursor_flag}').trim() === '1';
  }

  /** Resolves with the text of the screen once it matches. Rejects after 100 s, with the text. */
  async waitFor(expected: RegExp): Promise<string> {
    for (const started = Date.now(); ; ) {
      const text = this.text();
      if (expected.test(text)) return text;
      if (Date.now() - started > 100_000) throw new Error(`no ${expected} on the screen:\n${text}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  #tmux(...args: string[]): string {
    const { stdout, stderr, status, error } = spawnSync('tmux', ['-S', this.#socket, ...args], {
      encoding: 'utf8',
      // tmux writes UTF-8 only with a UTF-8 locale.
      env: { ...process.env, LC_ALL: 'C.UTF-8', TMUX: '' },
    });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
    return stdout;
  }
}
