/** What stands on a real terminal while wfr works, and after it. */
import { describe, expect, test } from 'vitest';
import { Screen } from '../helpers/screen.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const SPINNER = /[\u2800-\u28ff] /;
const ID = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';

/** A service with runs that are as the test says, in a terminal of that size. */
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

describe('a terminal', () => {
  test('shows one live line, then the closing block in its place, and has its cursor back', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    const text = await screen.waitFor(/RUNNING/);
    expect(text.split('\n').slice(0, 2)).toEqual([`Run ${ID} (version v1)`, `To watch it: wfr watch ${ID}`]);
    expect(spinners(text)).toEqual([
      expect.stringMatching(/^. RUNNING {2}1 of 4 steps {2}███░░░░░░░░░ {2}\d+s$/),
    ]);
    expect(screen.cursorIsVisible).toBe(false);
    runs[ID] = { ...aFinishedRun(), output: { total: 12.5 } };
    const after = await screen.waitFor(/version v1\n\$$/);
    expect(after.split('\n').slice(2)).toEqual([
      '{',
      '  "total": 12.5',
      '}',
      expect.stringMatching(new RegExp(`^Finished: run ${ID}, 4 of 4 steps in \\d.*s,$`)),
      '  version v1',
      '$',
    ]);
    expect(screen.cursorIsVisible).toBe(true);
  });

  test('of 40 columns breaks the words of a failed run between them, and cuts no id and no command', async () => {
    const { screen, runs } = await terminal(40);
    const message = 'The credit service does not know the customer, and nobody else does either.';
    runs[ID] = { status: 'FAILED', error: { step: 'Check credit', message } };
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    const text = await screen.waitFor(/To show it again(.|\n)*\$$/);
    expect(text).toContain(
      [
        'Failed at step Check credit',
        '| The credit service does not know the',
        '| customer, and nobody else does either.',
        'Run',
        `  ${ID},`,
        '  1 of 4 steps completed in ',
      ].join('\n'),
    );
    expect(text.replaceAll('\n', '')).toContain(`To show it again: wfr status ${ID}$`);
  });

  test('that becomes narrower and wider keeps one live line, and all that was said', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; echo before; wfr watch run-1 --interval 50ms');
    await screen.waitFor(/RUNNING.*░/);
    const whole = /4 steps {2}█+░+ {2}\d+s/;
    const widths = [
      [22, /1\/4 {2}\d+s/],
      [44, whole],
      [30, /4 steps {2}\d+s/],
      [100, whole],
      [22, /1\/4 {2}\d+s/],
      [80, whole],
    ] as const;
    for (const [columns, drawn] of widths) {
      screen.resize(columns, 24);
      await screen.waitFor(drawn);
    }
    expect(screen.text()).toMatch(/^(before\n)?. RUNNING.*$/);
    runs['run-1'] = aFinishedRun();
    await screen.waitFor(/\$$/);
    // What a narrower terminal has no room for leaves it at its upper edge.
    expect(screen.scrollback()).toMatch(/^before$/m);
    expect(screen.text()).toMatch(
      /^(before\n)?{\n {2}"total": 1\n}\nFinished: run run-1, 4 of 4 steps, watched for\s+\d\S*, version v1\n\$$/,
    );
  });

  test('has its cursor and its prompt while wfr is suspended, and the live line again after fg', async () => {
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
    await screen.waitFor(/Finished: run run-1(.|\n)*\$$/);
    expect(screen.cursorIsVisible).toBe(true);
  });

  test('has its cursor after Ctrl-C, with how to go on, and the shell sees the signal', async () => {
    const { screen } = await terminal(80);
    screen.typeLine('clear; wfr run w a=1 --interval 50ms');
    await screen.waitFor(/RUNNING/);
    screen.press('C-c');
    const text = await screen.waitFor(/Interrupted(.|\n)*\$$/);
    expect(text).toContain(`Interrupted; run ${ID} continues.\nTo watch it: wfr watch ${ID}\n`);
    expect(spinners(text)).toEqual([]);
    expect(screen.cursorIsVisible).toBe(true);
    screen.typeLine('echo code $?');
    await screen.waitFor(/code 130/);
  });

  test('of several runs shows counts, and a line for each that ends above them', async () => {
    const { screen, runs } = await terminal(80);
    screen.typeLine('clear; wfr watch a b c --interval 50ms');
    await screen.waitFor(/0 of 3 runs ended; 3 RUNNING {2}░+ {2}\d+s/);
    runs.b = { status: 'FAILED', error: { step: 'Two', message: 'broken' } };
    await screen.waitFor(/1 of 3 runs ended: 1 FAILED; 2 RUNNING {2}████░+/);
    const text = screen.text();
    expect(text).toMatch(
      /Failed at step Two\n\| broken\nRun b, 1 of 4 steps completed, watched for \d\S*, version v1\n/,
    );
    expect(spinners(text)).toHaveLength(1);
    runs.a = aFinishedRun();
    runs.c = aFinishedRun();
    const after = await screen.waitFor(/Finished: run c(.|\n)*\$$/);
    expect(spinners(after)).toEqual([]);
  });

  test('that is dumb, and one in CI, get a line for each change instead', async () => {
    for (const settings of [{ TERM: 'dumb' }, { CI: 'true' }] as Record<string, string>[]) {
      const { screen, runs } = await terminal(80, settings);
      screen.typeLine('clear; wfr watch run-1 --interval 50ms');
      await screen.waitFor(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ RUNNING {2}1 of 4 steps$/m);
      runs['run-1'] = aFinishedRun();
      expect(await screen.waitFor(/Finished(.|\n)*\$$/)).not.toMatch(SPINNER);
    }
  });
});
