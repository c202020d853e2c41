/** The HTML report in Chromium: opened from disk, sorted, filtered, on a phone, without JavaScript. */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { startBrowser } from '../helpers/browser.js';
import { factsWith, sampleRuns, writePage } from '../helpers/page.js';
import { start } from '../helpers/process.js';
import { HOSTILE_TEXT, runWithReports } from '../helpers/reports.js';
import { aRun, scriptedService } from '../helpers/service.js';

const browser = await startBrowser();

/** Keys, as WebDriver writes them. */
const ENTER = '\ue007';
const MANY = writePage(sampleRuns(10_000));

/** Returns the texts of a column in the rows that have been rendered so far. */
const column = (index: number) =>
  browser.run<string[]>(
    'return [...document.querySelectorAll(".runs tbody tr:not(.details)")].map((row) => row.cells[arguments[0]].innerText)',
    index,
  );
const shown = () => browser.run<string>('return document.querySelector("output").value');
/** Follows a link to an address of the page, which learns of it a moment later. */
const follow = async (link: string) => {
  await browser.run('arrived = new Promise((done) => addEventListener("hashchange", () => done()))');
  await browser.click(link);
  await browser.run('return arrived');
};
const head = (index: number) => `.runs th:nth-child(${index + 1}) button`;
/** Chooses an outcome. Typing it selects another one when the browser is slow to take the letters. */
const choose = (outcome: string) =>
  browser.run(
    `const list = document.querySelector('select');
     list.selectedIndex = [...list.options].findIndex(({ text }) => text === arguments[0]);
     list.dispatchEvent(new Event('input', { bubbles: true }));`,
    outcome,
  );
/** The workflow and the version are those of all runs, which have no columns. */
const [NUMBER, RUN, STATUS, STEPS, DURATION, MESSAGE] = [0, 1, 2, 3, 5, 7];

beforeEach(async () => {
  await browser.consoleMessages();
  await browser.requests();
});

describe('HTML report: 10,000 runs', () => {
  test('HTML report: opens from disk without errors or requests', async () => {
    await browser.open(MANY);
    expect(await shown()).toBe('10,000 runs');
    expect(await browser.consoleMessages()).toEqual([]);
    expect(await browser.requests()).toEqual([MANY]);
    const filled = (await column(NUMBER)).length;
    expect(filled).toBeGreaterThanOrEqual(100);
    expect(filled).toBeLessThan(1_000);
  });

  test('HTML report: sorts by each column in both directions, with empty cells last', async () => {
    await browser.open(MANY);
    const sortOf = (index: number) =>
      browser.run<string | null>(
        'return document.querySelector(arguments[0]).parentNode.getAttribute("aria-sort")',
        head(index),
      );
    for (let index = 0; index < 8; index++) {
      await browser.click(head(index));
      expect(await sortOf(index)).toBe('ascending');
      const first = (await column(index))[0];
      await browser.click(head(index));
      expect(await sortOf(index)).toBe('descending');
      expect((await column(index))[0]).not.toBe('');
      expect(first).not.toBe('');
      expect(await browser.run('return document.querySelectorAll("[aria-sort]").length')).toBe(1);
    }
    await browser.click(head(NUMBER));
    expect((await column(NUMBER)).slice(0, 3)).toEqual(['1', '2', '3']);
    await browser.click(head(DURATION));
    const longest = await column(DURATION);
    await browser.click(head(DURATION));
    expect([longest[0], (await column(DURATION))[0]]).toEqual(['2s', '27s']);
  });

  test('HTML report: sorts with the keyboard alone', async () => {
    await browser.open(MANY);
    await browser.type(head(STEPS), ENTER);
    expect((await column(STEPS))[0]).toBe('1 of 4');
    await browser.type(head(STEPS), ENTER);
    expect((await column(STEPS))[0]).toBe('4 of 4');
    expect(await browser.run('return document.activeElement.textContent')).toBe('Steps');
  });

  test('HTML report: filters by text and by outcome, and keeps the order', async () => {
    await browser.open(MANY);
    await browser.click(head(DURATION));
    await browser.type('[type=search]', 'CREDIT service does not');
    expect(await shown()).toBe('91 of 10,000 runs');
    expect(new Set(await column(MESSAGE))).toEqual(
      new Set(['The credit service does not know the customer.']),
    );
    const seconds = (await column(DURATION)).map((text) => Number.parseFloat(text));
    expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
    await browser.run('document.querySelector("[type=search]").value = ""');
    await choose('unreachable');
    expect(await shown()).toBe('10 of 10,000 runs');
    expect(new Set(await column(STATUS))).toEqual(new Set(['unreachable RUNNING']));
    await browser.type('[type=search]', 'nothing has this');
    expect(await shown()).toBe('0 of 10,000 runs');
    expect(await column(RUN)).toEqual([]);
  });

  test('HTML report: finds a run by its output', async () => {
    const runs = sampleRuns(3).map((run, index) => {
      const output = Buffer.from(`{"customer": "C-1000${index}"}`);
      return { ...run, run: run.run && { ...run.run, output } };
    });
    await browser.open(writePage(runs));
    await browser.type('[type=search]', 'c-10002');
    expect(await shown()).toBe('1 of 3 runs');
    expect(await column(NUMBER)).toEqual(['3']);
  });

  test('HTML report: the button of a reason filters by that reason', async () => {
    await browser.open(MANY);
    const counts = await browser.run<string[]>(
      'return [...document.querySelectorAll(".groups .outcome")].map((text) => text.textContent)',
    );
    expect(counts.slice(0, 3)).toEqual(['91 failed', '80 failed', '80 failed']);
    await follow('.groups li:nth-child(2) .show');
    expect(await shown()).toBe('80 of 10,000 runs');
    await follow('.groups li:nth-child(4) .show');
    expect(await shown()).toBe('10 of 10,000 runs');
    await follow('.chosen');
    expect(await shown()).toBe('10,000 runs');
  });

  test('HTML report: the address of an outcome shows its runs', async () => {
    await browser.open(MANY);
    await follow('.figures div:nth-child(2) a');
    expect(await shown()).toBe('251 of 10,000 runs');
    expect(await browser.run('return document.activeElement.selectedOptions[0].text')).toBe('failed');
    expect(new Set(await column(STATUS))).toEqual(new Set(['failed']));
  });

  test('HTML report: that a duration was not observed is explained once', async () => {
    const [first, ...others] = sampleRuns(4);
    if (first === undefined) throw new Error('no run');
    await browser.open(writePage([first, ...others.map((run) => ({ ...run, durationMs: undefined }))]));
    const text = await browser.run<string>('return document.querySelector(".runs").innerText');
    expect(text.match(/not observed/g)).toHaveLength(1);
    expect(text.match(/–/g)).toHaveLength(4);
    await browser.open(writePage(sampleRuns(3)));
    expect(await browser.run('return document.body.innerText')).not.toContain('not observed');
  });

  test('HTML report: a click on a row shows its details, and another one hides them', async () => {
    await browser.open(MANY);
    const details = () =>
      browser.run<string[]>(
        'return [...document.querySelectorAll(".details")].map((line) => line.previousElementSibling.dataset.number + line.innerText)',
      );
    await browser.click('.runs tbody tr:nth-child(2) td.status');
    await browser.type('.runs tbody tr:nth-child(1) .toggle', ENTER);
    // Those that did not succeed are first.
    expect((await details()).map((text) => text.split('\n')[0])).toEqual(['1Run', '108Run']);
    expect((await details())[0]).toContain('2026-01-02 03:04:05 UTC');
    expect(await browser.run('return document.querySelectorAll(".runs details[open]").length')).toBe(2);
    await browser.click('.runs tbody tr:nth-child(1) td.status');
    expect((await details()).map((text) => text.split('\n')[0])).toEqual(['108Run']);
  });

  test('HTML report: the details of a run have the id of the request that failed, which is found', async () => {
    const [first, ...others] = sampleRuns(3);
    if (first === undefined) throw new Error('no run');
    await browser.open(
      writePage([
        { ...first, error: { ...factsWith('no'), response: { requestId: 'req-4711' } } },
        ...others,
      ]),
    );
    await browser.type('.filters [name=text]', 'REQ-4711');
    expect(await shown()).toBe('1 of 3 runs');
    await browser.click('.runs tbody tr:nth-child(1) td.status');
    const details = await browser.run<string>('return document.querySelector(".details").innerText');
    expect(details.replace(/\s+/g, ' ')).toContain('Request id req-4711');
  });

  test('HTML report: the address of a run shows it with its details', async () => {
    const focused = () =>
      browser.run<string>('return document.activeElement.closest("tr")?.nextElementSibling.innerText ?? ""');
    await browser.open(`${MANY}#run-4321`);
    expect(await browser.run('return document.activeElement.textContent')).toBe('4321');
    expect(await focused()).toContain('Link to this run');
    expect(await shown()).toBe('1 of 10,000 runs');
    await follow('.chosen');
    expect(await shown()).toBe('10,000 runs');
    await follow('.groups a');
    expect(await focused()).toContain('Failing step');
  });

  test('HTML report: sorts and filters 10,000 runs in less than 200 ms', async () => {
    await browser.open(MANY);
    // The time in which the page could run, so that a busy machine changes nothing.
    await browser.devtools('Performance.enable', { timeDomain: 'threadTicks' });
    const runTime = async () => {
      const { metrics } = await browser.devtools<{ metrics: { name: string; value: number }[] }>(
        'Performance.getMetrics',
      );
      return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
    };
    const columns = await browser.run<number>('return document.querySelectorAll(".runs th button").length');
    const works = [
      ...Array.from({ length: 2 * columns }, (_, index) => head(Math.floor(index / 2))).map(
        (button) => `document.querySelector('${button}').click()`,
      ),
      ...['c', 'credit', 'zzz', ''].map(
        (text) =>
          `const search = document.querySelector('[type=search]');
         search.value = '${text}';
         search.dispatchEvent(new Event('input', { bubbles: true }))`,
      ),
    ];
    expect(works.length).toBe(20);
    const took: [string, number][] = [];
    for (const work of works) {
      const before = await runTime();
      await browser.run(`${work}; document.body.offsetHeight`);
      took.push([work, (await runTime()) - before]);
    }
    expect(took.filter(([, ms]) => !(ms < 200))).toEqual([]);
  });

  test('HTML report: scrolling shows every run in order, to the last one', async () => {
    await browser.open(MANY);
    await choose('failed');
    for (;;) {
      const filled = (await column(NUMBER)).length;
      if (filled === 251) break;
      await browser.run('document.querySelector(".more").scrollIntoView()');
      await browser.run('return new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    }
    expect(await browser.run('return document.querySelector(".more").checkVisibility()')).toBe(false);
  });
});

describe('HTML report: text from the service', () => {
  const HOSTILE = [
    '</script><script>window.hacked = 1</script>',
    '<img src=x onerror="window.hacked = 2">',
    '--><svg onload="window.hacked = 3">',
    `"' onclick="window.hacked = 4" \u2028\u202e\0`,
    '<a href="javascript:window.hacked=5">x</a><style>body{display:none}</style>',
  ];

  test.each([
    ['one run', ['run', HOSTILE.join('').replaceAll('\0', '')]],
    ['several runs', ['watch', 'a', 'b']],
  ])('HTML report: text from the service runs no code, in any field of %s', async (_number, args) => {
    const text = [...HOSTILE, HOSTILE_TEXT].join('\n');
    const run = { ...aRun(), id: text.replace('\ud800', ''), versionName: text, status: 'FAILED' };
    const { cwd } = await runWithReports((request, reply) => {
      const id = request.method === 'GET' && args[0] === 'watch' ? request.path.slice(-1) : run.id;
      reply.send(200, { ...run, id, error: { message: text, step: text } });
    }, args);
    const url = pathToFileURL(join(cwd, 'r.html')).href;
    await browser.open(url);
    if (args[0] === 'watch') {
      await follow('.groups .show');
      await browser.click('.runs .toggle');
    }
    expect(await browser.run('return window.hacked === undefined')).toBe(true);
    expect(
      await browser.run(
        'return document.querySelectorAll("img, svg [onload], a:not([href^=\\"#r\\"], [href^=\\"#outcome-\\"]), script").length',
      ),
    ).toBe(2);
    expect(await browser.consoleMessages()).toEqual([]);
    expect(await browser.requests()).toEqual([url]);
    const details = await browser.run<string>('return document.querySelector(".details").textContent');
    for (const line of HOSTILE.slice(0, 3)) expect(details).toContain(line);
    expect(details).toContain('\\u2028\\u202e\\u0000');
  });

  test('HTML report: text from the service would run no code even as markup', async () => {
    const elsewhere = await scriptedService((_request, reply) => reply.send(200));
    await browser.open(writePage(sampleRuns(3)));
    const attempt = (code: string) =>
      browser.run(`try { ${code} } catch (error) { return error.name }`, elsewhere.baseUrl);
    expect(await attempt('document.body.innerHTML = "<b>x</b>"')).toBe('TypeError');
    await attempt(`
      const script = document.createElement('script');
      script.append('window.hacked = 1');
      document.body.append(script);`);
    await attempt(`
      const image = new Image();
      const over = new Promise((resolve) => (image.onerror = resolve));
      image.src = arguments[0] + '/x.png';
      document.body.append(image);
      return over.then(() => 'blocked');`);
    expect(await browser.run('return window.hacked === undefined')).toBe(true);
    expect(elsewhere.connections()).toBe(0);
    expect((await browser.consoleMessages()).join('\n')).toContain('Content Security Policy');
  });
});

test('HTML report: without JavaScript, it shows counts and reasons, and says what is missing', async () => {
  await browser.devtools('Emulation.setScriptExecutionDisabled', { value: true });
  await browser.open(MANY);
  await browser.devtools('Emulation.setScriptExecutionDisabled', { value: false });
  const text = await browser.run<string>('return document.body.innerText');
  for (const part of [
    '9,709 of 10,000 runs finished',
    'running\n10',
    'timed out after 30 s',
    'needs JavaScript',
  ])
    expect(text).toContain(part);
  expect(text).not.toMatch(/Show|Find/);
});

describe('HTML report: layout', () => {
  test.each([360, 820, 1280, 1920])('HTML report: fits a width of %i pixels', async (width) => {
    await browser.devtools('Emulation.setDeviceMetricsOverride', {
      width,
      height: 800,
      deviceScaleFactor: 1,
      mobile: width < 800,
    });
    await browser.open(MANY);
    await choose('unreachable');
    expect(await browser.run('return document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await browser.devtools('Emulation.clearDeviceMetricsOverride');
  });
});

describe('HTML report: one number for each row, its output, and paper', () => {
  const batch = (count: number) =>
    sampleRuns(count).map((run, index) => ({ ...run, row: index + 1, label: `rows.csv:${index + 2}` }));

  test('HTML report: the rows of a batch have the numbers of the table alone', async () => {
    await browser.open(writePage(batch(60)));
    expect((await column(0)).slice(0, 2)).toEqual(['line 2', 'line 3']);
    expect(await browser.run('return document.querySelector("h1").innerText')).toMatch(
      /^rows\.csv: \d+ of 60 rows/,
    );
    expect(
      await browser.run('return [...document.querySelectorAll(".runs th")].map((head) => head.innerText)'),
    ).toEqual(['Row', 'Outcome', 'Steps', 'Start (UTC)', 'Duration', 'Failing step', 'Message']);
  });

  test('HTML report: rejected and invalid rows differ in color and in shape', async () => {
    const [run, ...others] = batch(2);
    if (run === undefined) throw new Error('no run');
    const rejected = { ...run, state: 'rejected' as const };
    await browser.open(writePage([rejected, { ...rejected, state: 'invalid' as const }, ...others]));
    const [one, other] = await browser.run<[color: string, shape: string][]>(
      `return ['rejected', 'invalid'].map((word) => {
        const cell = [...document.querySelectorAll('td .outcome')].find(({ innerText }) => innerText.startsWith(word));
        return [getComputedStyle(cell).color, getComputedStyle(cell, '::before').content];
      })`,
    );
    expect(one?.[0]).not.toBe(other?.[0]);
    expect(one?.[1]).not.toBe(other?.[1]);
    expect(one?.[1]).toMatch(/[▲■]/);
  });

  test('HTML report: the page of one run shows its output', async () => {
    const [, run] = sampleRuns(2);
    if (run?.run === undefined) throw new Error('no run');
    await browser.open(writePage([{ ...run, run: { ...run.run, output: Buffer.from('{"total":12.5}') } }]));
    const text = await browser.run<string>('return document.body.innerText');
    expect(text).toContain('"total": 12.5');
    expect(text).not.toMatch(/Find|100 %/);
    expect(await browser.run('return document.querySelector("pre .key").innerText')).toBe('"total"');
  });

  test('HTML report: the page of one run says at its top why it failed, and only once', async () => {
    const run = sampleRuns(2_000).find(({ state }) => state === 'failed');
    if (run === undefined) throw new Error('no run');
    await browser.open(writePage([run]));
    const text = await browser.run<string>('return document.body.innerText');
    const { step = '', message = '' } = run.run?.error ?? {};
    expect(text.replace(/\s+/g, ' ')).toContain(`failed at step ${step} ${message}`);
    expect(text.split(message)).toHaveLength(2);
  });

  test('HTML report: the id of a run can be copied', async () => {
    await browser.devtools('Browser.grantPermissions', {
      permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'],
    });
    const [run] = sampleRuns(1);
    if (run === undefined) throw new Error('no run');
    await browser.open(writePage([run]));
    await browser.click('.details .copy');
    expect(await browser.run('return navigator.clipboard.readText()')).toBe(run.id);
  });

  test.each(['A4', 'Letter'])('HTML report: 60 rows are a table on at most 3 pages of %s', async (paper) => {
    await browser.open(writePage(batch(60)));
    const [paperWidth, paperHeight] = paper === 'A4' ? [8.27, 11.69] : [8.5, 11];
    const { data } = await browser.devtools<{ data: string }>('Page.printToPDF', { paperWidth, paperHeight });
    const pages = Buffer.from(data, 'base64')
      .toString('latin1')
      .match(/\/Type\s*\/Page\b/g);
    expect(pages?.length).toBeGreaterThan(0);
    expect(pages?.length).toBeLessThanOrEqual(3);
  });

  test('HTML report: "Show" and an outcome are on one line, and a phone shows no whole UUID', async () => {
    for (const width of [390, 1090, 1280, 1430]) {
      await browser.devtools('Emulation.setDeviceMetricsOverride', {
        width,
        height: 800,
        deviceScaleFactor: 1,
        mobile: width < 800,
      });
      await browser.open(MANY);
      const heights = await browser.run<number[]>(
        'return [...document.querySelectorAll(".show, td > .outcome")].map(({ offsetHeight }) => offsetHeight)',
      );
      expect(Math.max(...heights)).toBeLessThan(25);
      if (width > 800) continue;
      const widest = await browser.run<number>(
        'return Math.max(...[...document.querySelectorAll(".runs td.id")].slice(0, 20).map((id) => id.getBoundingClientRect().width))',
      );
      expect(widest).toBeLessThan(150);
      // What did not succeed says more than how long it took.
      const shownHeads = await browser.run<string[]>(
        'return [...document.querySelectorAll(".runs th")].filter((head) => head.offsetWidth > 0).map((head) => head.innerText)',
      );
      expect(shownHeads).toEqual(['#', 'Run', 'Outcome', 'Message']);
    }
    await browser.devtools('Emulation.clearDeviceMetricsOverride');
  });
});

/** The Nu HTML Checker of the npm package vnu-jar, which .ci/run installs. */
const { VNU_JAR } = process.env;

describe.skipIf(VNU_JAR === undefined)('HTML report: validity', () => {
  test('HTML report: the Nu checker finds no mistake in pages of 1, 3 and 300 runs', async () => {
    const pages = [1, 3, 300].map((count) => fileURLToPath(writePage(sampleRuns(count))));
    const args = ['-jar', `${VNU_JAR}`, '--errors-only', ...pages];
    const { exitCode, stderr } = await start('java', args).ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});

describe('HTML report: contrast', () => {
  test.each(['light', 'dark'])(
    'HTML report: text has the contrast of WCAG AA in the %s theme',
    async (value) => {
      await browser.devtools('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value }],
      });
      await browser.open(MANY);
      await choose('unreachable');
      const contrasts = await browser.run<Record<string, number>>(`
      const luminance = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255);
        const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
      };
      // The ground of the page is the browser's, which only a computed color tells.
      const sample = document.createElement('i');
      sample.style.backgroundColor = 'Canvas';
      document.body.append(sample);
      const canvas = getComputedStyle(sample).backgroundColor;
      const groundOf = (element) => {
        const color = element === null ? canvas : getComputedStyle(element).backgroundColor;
        return color === 'rgba(0, 0, 0, 0)' ? groundOf(element.parentElement) : color;
      };
      const found = {};
      for (const element of document.querySelectorAll('body *')) {
        const hasText = [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '');
        if (!hasText || !element.checkVisibility()) continue;
        const pair = [luminance(getComputedStyle(element).color), luminance(groundOf(element))];
        const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        const name = element.localName + '.' + element.className;
        found[name] = Math.min(found[name] ?? 21, contrast);
      }
      return found;`);
      expect(Object.keys(contrasts).length).toBeGreaterThan(15);
      expect(Object.entries(contrasts).filter(([, contrast]) => contrast < 4.5)).toEqual([]);
      await browser.devtools('Emulation.setEmulatedMedia', { features: [] });
    },
  );
});
