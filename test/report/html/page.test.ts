/** `--report html`: the text of the page; test/peers/page.peers.ts opens it in a browser. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startBatchService } from '../../helpers/batch.js';
import { writeTestConfig } from '../../helpers/config.js';
import { startTimer } from '../../helpers/elapsed.js';
import { folderWith } from '../../helpers/files.js';
import { readPageRows, renderPage, sampleRuns } from '../../helpers/page.js';
import { HOSTILE_TEXT, runWithReports } from '../../helpers/reports.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler, stillRunning } from '../../helpers/service.js';

const failed = (message: string, step: string) => ({ status: 'FAILED', error: { message, step } });

/** The id decides how a run ends: `read-…` and `sort-…` fail at that step, `open-…` continues, others finish. */
const byId: Handler = (request, reply) => {
  const id = decodeURIComponent(request.path.slice('/runs/'.length));
  const run = id.startsWith('open') ? aRun() : aFinishedRun();
  const failure = /^(read|sort)/.exec(id)?.[0];
  reply.send(200, { ...run, ...(failure && failed(`cannot ${failure}`, failure)), id });
};

/** Returns the text of the first match, without tags. */
const textOf = (page: string, pattern: RegExp) =>
  (pattern.exec(page)?.[1] ?? '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

describe('--report html', () => {
  const ids = ['a', 'sort-1', 'b', 'read-1', 'sort-2', 'open-1'];
  const watched = () => runWithReports(byId, ['watch', ...ids, '--timeout', '4s']);

  test('--report html: shows the count of each outcome, when it began, and when it last changed', async () => {
    const { html } = await watched();
    expect(textOf(html, /<h1>(.*?)<\/h1>/)).toBe('2 of 6 runs finished');
    expect(textOf(html, /<title>(.*?)<\/title>/)).toBe('2 of 6 runs finished - wfr');
    expect(textOf(html, /<p class="note">(.*?)<\/p>/)).toMatch(
      /^Began 2026-01-02 03:04:05 UTC , last change 4s later; /,
    );
    expect(textOf(html, /<dl class="figures">(.*?)<\/dl>/s)).toBe('finished 2 failed 3 running 1');
  });

  test.each([
    ['the version', { versionName: 'invoice <v3>' }, 'invoice &lt;v3&gt;: finished'],
    [
      'the workflow, where the service names no version',
      { versionName: undefined },
      'workflow 5b1f0c3e…: finished',
    ],
  ])('--report html: the page of one run is named after %s', async (_what, run, name) => {
    const workflow = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
    const { html } = await runWithReports(acceptThenShow({ ...aFinishedRun(), ...run }), ['run', workflow]);
    expect(html).toContain(`<title>${name} - wfr</title>`);
    expect(html).toContain('<body class="static single good">');
    expect(html).toContain(`<h1>${name}</h1>`);
  });

  test('--report html: a workflow is named as in the profile', async () => {
    const workflow = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
    const { env } = writeTestConfig({ profiles: { p: { workflows: { invoice: workflow } } } });
    const show = acceptThenShow(aFinishedRun());
    const { html } = await runWithReports(show, ['run', workflow, '--profile', 'p'], { env });
    expect(html).toContain('<h1>invoice: finished</h1>');
    expect(readPageRows(html)[0]?.workflow).toBe(workflow);
    const cwd = folderWith({ 't.jsonl': '{"n": 1}\n{"n": 2}\n' });
    const batch = ['batch', 'invoice', '--rows', 't.jsonl', '--results', 'o.jsonl', '--profile', 'p'];
    const { html: page } = await runWithReports(show, batch, { env, cwd });
    expect(page).toContain('; workflow invoice, version ');
  });

  test('--report html: every row of a table has a cell, as HTML requires', async () => {
    expect((await watched()).html).not.toMatch(/<tr[^>]*>\s*<\/tr>/);
  });

  test('--report html: groups runs that did not succeed by step and message, the most frequent first', async () => {
    const { html } = await watched();
    const [, body = ''] = /<ul class="groups">(.*?)<\/ul>/s.exec(html) ?? [];
    expect(body.split('</li>').map((row) => textOf(row, /(.*)/s))).toEqual([
      '2 failed at step sort cannot sort sort-1 sort-2 Show in the table',
      '1 failed at step read cannot read read-1',
      expect.stringContaining(`${stillRunning(undefined)} open-1`),
      '',
    ]);
  });

  test('--report html: messages that differ only in a path or number are one reason, whose runs it can show', async () => {
    const show: Handler = (request, reply) => {
      const id = request.path.slice('/runs/'.length);
      const message = id === 'c' ? 'no total' : `page 1${id === 'a' ? 2 : 3} of /tmp/${id}.pdf has no text`;
      reply.send(200, { ...aFinishedRun(), ...failed(message, 'read'), id });
    };
    const { html } = await runWithReports(show, ['watch', 'a', 'b', 'c']);
    const [, body = ''] = /<ul class="groups">(.*?)<\/ul>/s.exec(html) ?? [];
    expect(body.split('</li>').map((row) => textOf(row, /(.*)/s))).toEqual([
      '2 failed at step read page … of … has no text a b Show in the table',
      '1 failed at step read no total c',
      '',
    ]);
    expect(body.match(/"#reason-\d"/g)).toEqual(['"#reason-0"']);
    expect(readPageRows(html).map(({ group, message }) => [group, message])).toEqual([
      [0, 'page 12 of /tmp/a.pdf has no text'],
      [0, 'page 13 of /tmp/b.pdf has no text'],
      [1, 'no total'],
    ]);
  });

  test('--report html: has a row for each run in the given order, with its start and duration', async () => {
    const rows = readPageRows((await watched()).html);
    expect(rows.map(({ id }) => id)).toEqual(ids);
    const started = Date.UTC(2026, 0, 2, 3, 4, 5);
    expect(rows.map((row) => row.started)).toEqual(ids.map(() => started));
    expect(rows[1]).toMatchObject({ version: 'v1', steps: '4 of 4', step: 'sort', message: 'cannot sort' });
    expect(rows[5]).toMatchObject({
      outcome: 'running',
      status: 'RUNNING',
      // Nobody watched it to its end.
      duration: null,
      words: 'not observed',
    });
  });

  test('--report html: what all runs have in common is said once, above the table', async () => {
    const runs = sampleRuns(60);
    expect(renderPage(runs)).toContain('; workflow 5b1f0c3e…, version invoice v3, written by wfr ');
    const [first, ...others] = runs;
    if (first === undefined) throw new Error('no run');
    const page = renderPage([{ ...first, workflowId: 'another' }, ...others]);
    expect(page).toContain('; version invoice v3, written by wfr ');
  });

  test('--report html: has the names of the inputs and the output of a run, of at most 64 KiB', async () => {
    const document = `data:application/pdf;base64,${'QUJD'.repeat(1_000)}`;
    const output = { total: 1.0, scan: document, text: 'ü'.repeat(50_000), end: true };
    const { html } = await runWithReports(acceptThenShow(aFinishedRun(output)), ['run', 'w', 'b=1', 'a:=2']);
    const [row] = readPageRows(html);
    expect(row).toMatchObject({ id: 'run-1', label: '', inputs: 'b, a' });
    const text = String(row?.output);
    expect(text).toContain(
      `{\n  "total": 1,\n  "scan": "data:application/pdf;base64,${'QUJD'.repeat(8)}… (4030 bytes)",\n  "text": "üüü`,
    );
    expect(text).toMatch(/üü…$/);
    expect(text.length).toBeLessThanOrEqual(64 * 1024 + 1);
    expect(text.length).toBeGreaterThan(32 * 1024);
  });

  test('--report html: the bar of outcomes is divided in proportion to their runs', async () => {
    const { html } = await watched();
    const [, bar = ''] = /<svg class="shares"[^>]*>(.*?)<\/svg>/.exec(html) ?? [];
    expect(bar.match(/x="[^"]*" width="[^"]*"/g)).toEqual([
      'x="0.00%" width="33.23%"',
      'x="33.33%" width="49.90%"',
      'x="83.33%" width="16.57%"',
    ]);
  });

  test('--report html: a batch has the label, the id and the names of the inputs of each row', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.csv': 'n,scan@\n1,a.pdf\n2,none.pdf\n', 'a.pdf': '%PDF' });
    const args = ['batch', 'w', '--rows', 't.csv', '--results', 'o.jsonl', '--report', 'html=r.html'];
    await wfr(args, { cwd });
    const rows = readPageRows(readFileSync(join(cwd, 'r.html'), 'utf8'));
    expect(rows).toMatchObject(
      [
        { label: 'line 2', id: 'run-1', inputs: 'n, scan', output: '{\n  "total": 1\n}' },
        { label: 'line 3', id: '', inputs: '', output: '', message: /^scan@none.pdf: / },
      ].map((row) => ({ ...row, ...(row.message && { message: expect.stringMatching(row.message) }) })),
    );
  });
});

describe('--report html: text from the service', () => {
  const evil = aRun({
    ...failed(HOSTILE_TEXT, HOSTILE_TEXT),
    id: HOSTILE_TEXT.replace('\ud800', ''),
    versionName: HOSTILE_TEXT,
  });

  test('--report html: text from the service is text, in the markup and in the data', async () => {
    const { html } = await runWithReports((_request, reply) => reply.send(200, evil), ['run', 'w']);
    // Apart from style, script and data, every tag is one of the page's own.
    const markup = html.replace(/<(style|script)([^>]*)>.*?<\/\1>/gs, '<$1$2>');
    const NAME =
      'id|class|title|role|x1|x2|y2|type|name|lang|charset|content|http-equiv|scope|size|datetime|hidden|width|height|d|x|y';
    const attribute = ` (${NAME}|autocomplete|spellcheck|value|viewBox|preserveAspectRatio|(aria|data)-[a-z]+)(="[^"<>]*")?| href="#(runs|(run|reason|outcome)-\\d+)"`;
    const left = markup.replace(new RegExp(`</?[a-z][a-z0-9]*(${attribute})*/?>`, 'g'), '');
    expect(left.replace('<!doctype html>', '')).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#39);)/);
    expect(markup.match(/<script/g)?.length).toBe(2);
    expect(html).toContain('&lt;script&gt;x&lt;/script&gt; &amp;amp;');
    expect(readPageRows(html)[0]?.message).toContain('<script>x</script> &amp; &#124;');
  });

  test('--report html: text from the service cannot end the script, as the data contains no <', async () => {
    const { html } = await runWithReports(
      (_request, reply) => reply.send(200, evil),
      ['run', '</script><!--'],
    );
    const [, data = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
    expect(data).not.toContain('<');
    expect(readPageRows(html)[0]?.workflow).toBe('</script><!--');
  });
});

test('--report html: the content security policy allows only the style and script of the page', async () => {
  const { html } = await runWithReports(byId, ['watch', 'a']);
  const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
  const hash = (text = '') => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const style = hash(/<style>(.*?)<\/style>/s.exec(html)?.[1]);
  const script = hash(/<script>(.*?)<\/script>/s.exec(html)?.[1]);
  expect(policy.replaceAll('&#39;', "'").split('; ')).toEqual([
    "default-src 'none'",
    `style-src ${style}`,
    `script-src ${script}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
  expect(html).not.toMatch(/https?:\/\/|\bsrc=|\bhref="(?!#)|@import|url\(|innerHTML/);
});

test('--report html: 10,000 runs are written quickly and share their texts', () => {
  const runs = sampleRuns(10_000);
  renderPage(runs.slice(0, 100));
  const elapsed = startTimer();
  const page = renderPage(runs);
  expect(elapsed()).toBeLessThan(5_000);
  expect(readPageRows(page).length).toBe(10_000);
  expect(page.length).toBeLessThan(1_500_000);
});
