/** What a real terminal shows while wfr works, and afterwards. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Screen } from '../helpers/screen.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const SPINNER = /[\u2800-\u28ff] /;
const ID = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';

/** Starts a service whose runs the test controls, and a terminal of this width. */
async function terminal(columns: number, settings: Record<string, string> = {}) {
  const runs: Record<string, Record<string, unknown>> = {};
  const { baseUrl } = await scriptedService(async (request, reply) => {
    await request.body();
    const id = request.method === 'POST' ? ID : request.path.slice('/runs/'.length);
    reply.send(200, { ...aRun(), ...runs[id], id });
  });
  const screen = new Screen(columns, 24, { WFR_BASE_URL: baseUrl, ...settings });
  return { screen, runs };
}

const spinners = (text: string) => text.split('\n').filter((line) => SPINNER.test(line));

describe('terminal', () => {
  test('terminal: shows one live line, then the closing block in its place, and restores the cursor', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    const text = await screen.waitFor(/RUNNING(.|\n)*To watch it again/);
    expect(text.split('\n')).toEqual([
      `Run ${ID} (version v1)`,
      expect.stringMatching(/^. RUNNING {2}1 of 4 steps {2}███░░░░░░░░░ {2}\d+s$/),
      '  Ctrl-C stops watching, not the run',
      `  To watch it again: wfr watch ${ID}`,
    ]);
    expect(screen.cursorIsVisible).toBe(false);
    runs[ID] = { ...aFinishedRun(), output: { total: 12.5 } };
    const after = await screen.waitFor(/Finished: .*\n\$$/);
    expect(after.split('\n').slice(1)).toEqual([
      '{',
      '  "total": 12.5',
      '}',
      expect.stringMatching(/^Finished: 4 of 4 steps in \d.*s$/),
      '$',
    ]);
    expect(screen.cursorIsVisible).toBe(true);
  });

  test('terminal: NO_COLOR together with FORCE_COLOR has no color, and no warning of Node', async () => {
    const { screen, runs } = await terminal(80, { NO_COLOR: '1', FORCE_COLOR: '1' });
    runs[ID] = aFinishedRun();
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    const text = await screen.waitFor(/Finished: .*\n\$$/);
    expect(text).toContain(`Run ${ID} (version v1)`);
    expect(text).not.toContain('Warning');
  });

  test('terminal: in 40 columns, the message of a failed run wraps between words, and ids and commands stay whole', async () => {
    const { screen, runs } = await terminal(40);
    const message = 'The credit service does not know the customer, and nobody else does either.';
    runs[ID] = { status: 'FAILED', error: { step: 'Check credit', message } };
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    const text = await screen.waitFor(/either\.\n\$$/);
    expect(text).toMatch(
      /\nFailed at step Check credit \(1 of\s+4 steps\s+in \d\S*\)\n\| The credit service does not know the\n\| {3}customer, and nobody else does\n\| {3}either\.\n\$$/,
    );
    // The watch command goes with the live line also where it does not fit.
    expect(text).not.toContain('To watch it');
  });

  test('terminal: resizing keeps one live line and all earlier messages', async () => {
    const { screen, runs } = await terminal(80);
    const createdAt = new Date().toISOString();
    runs['run-1'] = aRun({ createdAt });
    screen.typeLine('clear; echo before; wfr watch run-1 --interval 50ms');
    await screen.waitFor(/RUNNING.*░/);
    const whole = /4 steps {2}█+░+ {2}\d+s/;
    const widths = [
      [22, /RUNNING {2}\d+s/],
      [44, whole],
      [30, /4 steps {2}\d+s/],
      [100, whole],
      [22, /RUNNING {2}\d+s/],
      [80, whole],
    ] as const;
    for (const [columns, drawn] of widths) {
      screen.resize(columns, 24);
      await screen.waitFor(drawn);
    }
    expect(screen.text()).toMatch(/^(before\n)?(Run run-1.*\n)?. RUNNING.*$/);
    runs['run-1'] = { ...aFinishedRun(), createdAt };
    await screen.waitFor(/\$$/);
    // Lines that do not fit a narrower terminal scroll off its top.
    expect(screen.scrollback()).toMatch(/^before$/m);
    expect(screen.text()).toMatch(
      /^(before\n)?(Run run-1.*\n)?{\n {2}"total": 1\n}\nFinished: 4 of 4 steps in \d.*s\n\$$/,
    );
  });

  test('terminal: shows cursor and prompt while wfr is suspended, and the live line again after fg', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; wfr watch run-1 --interval 50ms');
    await screen.waitFor(/RUNNING/);
    screen.press('C-z');
    const suspended = await screen.waitFor(/Stopped(.|\n)*\$$/);
    expect(spinners(suspended)).toEqual([]);
    expect(screen.cursorIsVisible).toBe(true);
    screen.typeLine('fg');
    await screen.waitFor(/fg(.|\n)*RUNNING/);
    expect(screen.cursorIsVisible).toBe(false);
    runs['run-1'] = aFinishedRun();
    await screen.waitFor(/Finished: (.|\n)*\$$/);
    expect(screen.cursorIsVisible).toBe(true);
  });

  test('terminal: Ctrl-C restores the cursor, prints how to continue, and the shell sees the signal', async () => {
    const { screen } = await terminal(80);
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    await screen.waitFor(/RUNNING/);
    screen.press('C-c');
    const text = await screen.waitFor(/Interrupted(.|\n)*\$$/);
    expect(text).toContain(`\nInterrupted; the run continues.\nTo watch it: wfr watch ${ID}\n`);
    expect(spinners(text)).toEqual([]);
    expect(screen.cursorIsVisible).toBe(true);
    screen.typeLine('echo code $?');
    await screen.waitFor(/code 130/);
  });

  test('terminal: for several runs, shows counts, and a table with the reason of a failure', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; wfr watch a b c --interval 50ms');
    await screen.waitFor(/░+ {2}0\/3 runs {2}.+ {2}3 RUNNING/);
    runs.b = { status: 'FAILED', error: { step: 'Two', message: 'broken' } };
    await screen.waitFor(/████░+ {2}1\/3 runs {2}.+ {2}1 FAILED, 2 RUNNING/);
    const text = screen.text();
    expect(text).toMatch(/\n {2}b {3}FAILED .*1\/4 .*\n {4}Two: broken\n/);
    expect(spinners(text)).toHaveLength(1);
    runs.a = aFinishedRun();
    runs.c = aFinishedRun();
    const after = await screen.waitFor(/3 runs: (.|\n)*\$$/);
    expect(after.split('\n').slice(0, 5)).toEqual([
      expect.stringMatching(/^ID {2}STATUS/),
      expect.stringMatching(/^a {3}FINISHED {2}4\/4 {4}v1 .*d$/),
      expect.stringMatching(/^b {3}FAILED {4}1\/4 {4}v1 .*d$/),
      '  Two: broken',
      expect.stringMatching(/^c {3}FINISHED {2}4\/4 {4}v1 .*d$/),
    ]);
    expect(after).toMatch(/\n3 runs: 2 FINISHED, 1 FAILED\nTo print an output: wfr watch a\n\$$/);
    expect(spinners(after)).toEqual([]);
  });

  test('terminal: the table of several runs has one line for each, however the window is resized', async () => {
    const { screen, runs } = await terminal(120);
    screen.typeLine('clear; echo before; wfr watch a b c d --interval 50ms');
    const table = (line: RegExp) =>
      new RegExp(
        `^(before\\n)?. (░+  )?0\\/4 runs  .+  4 RUNNING\\n  ID  STATUS.*${['a', 'b', 'c', 'd'].map((id) => `\\n  ${id}   ${line.source}`).join('')}(\\n  Ctrl-C stops watching, not the runs)?$`,
      );
    const whole = /RUNNING {3}1\/4 {4}v1 .*d/;
    const small = /RUNNING 1\/4 {2}v1 .*d/;
    const narrow = /RUNNING 1\/4 .*/;
    await screen.waitFor(table(whole));
    for (const [columns, line] of [
      [38, narrow],
      [80, whole],
      [52, small],
      [120, whole],
      [32, narrow],
      [80, whole],
    ] as const) {
      screen.resize(columns, 24);
      const text = await screen.waitFor(table(line));
      expect(spinners(text)).toHaveLength(1);
    }
    // As much of the table as fits, without what scrolls away before.
    screen.resize(80, 7);
    await screen.waitFor(/\n {2}d [^\n]*$/);
    screen.resize(80, 6);
    await screen.waitFor(
      /^(before\n)?. ░+ {2}0\/4 runs {2}.+ {2}4 RUNNING\n {2}ID .*\n {2}a .*\n {2}b .*\n {2}… 2 more runs$/,
    );
    screen.resize(80, 24);
    await screen.waitFor(table(whole));
    for (const id of ['a', 'b', 'c', 'd']) runs[id] = aFinishedRun();
    const after = await screen.waitFor(/\nTo print an output.*\n\$$/);
    expect(after.replace(/^before\n/, '').split('\n')).toHaveLength(8);
    expect(screen.scrollback()).toMatch(/^before$/m);
  });

  test('terminal: in a full window, the table of several runs scrolls nothing away while it is redrawn', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; seq 30; wfr watch a b c d --interval 50ms');
    await screen.waitFor(/^ {2}d {3}RUNNING/m);
    runs.a = aFinishedRun();
    await screen.waitFor(/^. █+░+ {2}1\/4 runs {2}.+ {2}1 FINISHED/m);
    await screen.waitFor(/ {2}[3-9]s {2}1 FINISHED/m);
    const lines = screen.scrollback().split('\n');
    expect(lines.slice(lines.indexOf('30'))).toEqual([
      '30',
      expect.stringMatching(/^. █+░+ {2}1\/4 runs {2}.+ {2}1 FINISHED, 3 RUNNING/),
      expect.stringMatching(/^ {2}ID {2}STATUS/),
      expect.stringMatching(/^ {2}a {3}FINISHED {2}4\/4/),
      expect.stringMatching(/^ {2}b {3}RUNNING/),
      expect.stringMatching(/^ {2}c {3}RUNNING/),
      expect.stringMatching(/^ {2}d {3}RUNNING/),
      '  Ctrl-C stops watching, not the runs',
    ]);
    screen.press('C-c');
    const text = await screen.waitFor(/Interrupted(.|\n)*\$$/);
    expect(text.match(/nterrupted/g)).toHaveLength(1);
    expect(text).toContain(
      'Interrupted; 3 of 4 runs may still be running.\nTo watch them: wfr watch b c d\n',
    );
  });

  test('terminal: TERM=dumb and CI print a line for each change instead', async () => {
    for (const settings of [{ TERM: 'dumb' }, { CI: 'true' }] as Record<string, string>[]) {
      const { screen, runs } = await terminal(80, settings);
      screen.typeLine('clear; wfr watch run-1 --interval 50ms');
      await screen.waitFor(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ RUNNING {2}1 of 4 steps$/m);
      runs['run-1'] = aFinishedRun();
      expect(await screen.waitFor(/Finished(.|\n)*\$$/)).not.toMatch(SPINNER);
    }
  });

  test.each<[string, (screen: Screen, pid: number) => void, number]>([
    ['Enter', (screen) => screen.press('Enter'), 0],
    ['Ctrl-C', (screen) => screen.press('C-c'), 130],
    ['SIGTERM', (_screen, pid) => process.kill(pid, 'SIGTERM'), 143],
    ['SIGHUP', (_screen, pid) => process.kill(pid, 'SIGHUP'), 129],
  ])('terminal: --token-file - never shows the token, and %s ends that', async (_name, end, code) => {
    const { screen } = await terminal(80);
    screen.typeLine(`clear; bash -c 'echo $$ >pid; exec wfr status run-1 --token-file -'`);
    await screen.waitFor(/Access token \(not shown\):$/);
    screen.typeText('MARK-token-4711');
    // The terminal also shows what is typed while wfr is suspended.
    screen.press('C-z');
    await screen.waitFor(/Stopped(.|\n)*\$$/);
    screen.typeLine('echo sh""own; fg');
    await screen.waitFor(/echo sh""own; fg\nshown\nbash -c(.|\n)*\(not shown\):$/);
    end(screen, Number(readFileSync(join(screen.cwd, 'pid'), 'utf8')));
    await screen.waitFor(/\n\$$/);
    screen.typeLine('echo "code $?"');
    const text = await screen.waitFor(/echo "code \$\?"\ncode \d+\n\$$/);
    expect(text).toMatch(new RegExp(`^code ${code}$`, 'm'));
    expect(text).not.toContain('MARK');
  });
});
