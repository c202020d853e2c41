/**
 * Creates docs/run.svg: records a run against the built-in sandbox in a real terminal (tmux) and draws the screen frame
 * by frame. Needs tmux. Usage: `npm run build && node scripts/picture.mjs`.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const COLUMNS = 84;
const ROWS = 15;
const COMMAND = 'wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e invoice@invoice.pdf customer=ACME';
/** Milliseconds between two captures of the screen, and for which the last frame is shown. */
const CAPTURE_INTERVAL = 200;
const LAST_FRAME = 5_000;

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const bin = path('../bin/wfr.js');
const folder = mkdtempSync(join(tmpdir(), 'wfr-picture-'));

/** Runs a command of the recording's own tmux server and returns its output. */
function tmux(...args) {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', TMUX: '' };
  return spawnSync('tmux', ['-S', join(folder, 'socket'), ...args], { encoding: 'utf8', env }).stdout;
}

/** Opens a terminal with a bare bash in the sandbox, whose environment is no more than it needs. */
function openTerminal() {
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    PS1: '$ ',
  };
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const size = ['-x', `${COLUMNS}`, '-y', `${ROWS}`];
  const shell = ['env', '-i', ...variables, 'wfr', 'sandbox', '--', 'bash', '--norc'];
  tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', folder, ...shell);
}

/** Returns the frames of the recording, `{at, screen}`, with tmux's escape sequences for colors; `at` is in ms. */
async function record() {
  symlinkSync(bin, join(folder, 'wfr'));
  copyFileSync(path('../examples/invoice.pdf'), join(folder, 'invoice.pdf'));
  openTerminal();
  await sleep(2_000);
  tmux('send-keys', '-R', 'C-l');
  tmux('send-keys', '-l', COMMAND);
  await sleep(CAPTURE_INTERVAL);
  const started = performance.now();
  const frames = [];
  for (let entered = false; ; await sleep(CAPTURE_INTERVAL)) {
    const screen = tmux('capture-pane', '-p', '-e').trimEnd();
    if (frames.at(-1)?.screen !== screen) frames.push({ at: performance.now() - started, screen });
    if (!entered && frames.length > 0 && performance.now() - started > 800) {
      tmux('send-keys', 'Enter');
      entered = true;
    }
    if (/Finished/.test(screen) && /\$\s*$/.test(screen)) break;
  }
  tmux('kill-server');
  return frames;
}

const WIDTH = 8.4;
const HEIGHT = 20;
const MARGIN = 16;
const COLORS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 36: '#76e3ea' };

function applyCode(style, code) {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, color: undefined };
  return COLORS[code] ? { ...style, color: COLORS[code] } : style;
}

/** Splits a line with escape sequences into pieces of text, each with its column and style. */
function parseLine(line) {
  const pieces = [];
  let column = 0;
  let style = {};
  for (const part of `[m${line}`.split('\u001b')) {
    const [, codes = '', text = ''] = /^\[([\d;]*)m(.*)$/.exec(part) ?? [];
    style = codes.split(';').map(Number).reduce(applyCode, style);
    pieces.push({ column, text, ...style });
    column += [...text].length;
  }
  return pieces.filter(({ text }) => text.trim() !== '');
}

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function drawLine(line, row) {
  const y = MARGIN + 30 + (row + 1) * HEIGHT;
  return parseLine(line)
    .map(({ column, text, bold, dim, color }) => {
      const rules = [bold && 'font-weight:700', dim && 'opacity:.65', color && `fill:${color}`];
      const style = rules.filter(Boolean).join(';');
      const x = (MARGIN + column * WIDTH).toFixed(1);
      const length = ([...text].length * WIDTH).toFixed(1);
      return `<text x="${x}" y="${y}" textLength="${length}"${style && ` style="${style}"`}>${escapeXml(text)}</text>`;
    })
    .join('');
}

/** Draws the frames as an animated SVG. */
function draw(frames) {
  const whole = frames.at(-1).at + LAST_FRAME;
  const share = (ms) => `${((ms / whole) * 100).toFixed(2)}%`;
  const styles = frames.map(({ at }, n) => {
    const until = frames[n + 1]?.at ?? whole;
    return `@keyframes f${n}{0%{visibility:hidden}${share(at)}{visibility:visible}${share(until)}{visibility:${n === frames.length - 1 ? 'visible' : 'hidden'}}}`;
  });
  const groups = frames.map(({ screen }, n) => {
    const last = n === frames.length - 1 ? ' last' : '';
    return `<g class="f${last}" style="animation-name:f${n}">${screen.split('\n').map(drawLine).join('')}</g>`;
  });
  const width = MARGIN * 2 + COLUMNS * WIDTH;
  const height = MARGIN * 2 + 30 + ROWS * HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run of a workflow in a terminal: its id, the live line, its end and its output">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}
.f{visibility:hidden;animation-duration:${(whole / 1000).toFixed(2)}s;animation-iteration-count:infinite;animation-timing-function:steps(1)}
@media (prefers-reduced-motion:reduce){.f{animation:none}.last{visibility:visible}}
${styles.join('\n')}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10" fill="#0d1117" stroke="#57606a"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
${groups.join('\n')}
</svg>
`;
}

try {
  writeFileSync(path('../docs/run.svg'), draw(await record()));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
