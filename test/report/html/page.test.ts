/** `--report html`: what a page says without a browser; test/peers/page.peers.ts opens it in one. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readPageRows, renderPage, sampleRuns } from '../../helpers/page.js';
import { HOSTILE_TEXT, runWithReports } from '../../helpers/reports.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler } from '../../helpers/service.js';

const failed = (message: string, step: string) => ({ status: 'FAILED', error: { message, step } });

/** Ids say what becomes of a run: `read-…` and `sort-…` fail there, `open-…` continues, others finish. */
const byId: Handler = (request, reply) => {
  const id = decodeURIComponent(request.path.slice('/runs/'.length));
  const run = id.startsWith('open') ? aRun() : aFinishedRun();
  const failure = /^(read|sort)/.exec(id)?.[0];
  reply.send(200, { ...run, ...(failure && failed(`cannot ${failure}`, failure)), id });
};

/** The text of an element's first occurrence, without its tags. */
const textOf = (page: string, pattern: RegExp) =>
  (pattern.exec(page)?.[1] ?? '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

describe('a page of several runs', () => {
  const ids = ['a', 'sort-1', 'b', 'read-1', 'sort-2', 'open-1'];
  const watched = () => runWithReports(byId, ['watch', ...ids, '--timeout', '4s']);

  test('counts what they came to, and says when it began and how long it took', async () => {
    const { html } = await watched();
    expect(textOf(html, /<h1>(.*?)<\/h1>/)).toBe('2 of 6 runs finished');
    expect(textOf(html, /<title>(.*?)<\/title>/)).toBe('2 of 6 runs finished - wfr');
    expect(textOf(html, /<p class="facts">(.*?)<\/p>/)).toMatch(
      /^Began 2026-01-02 03:04:05 UTC , took 4\.0s\. /,
    );
    expect(textOf(html, /<dl class="counts">(.*?)<\/dl>/s)).toBe(
      'finished 2 33.3 % failed 3 50.0 % still running 1 16.7 %',
    );
  });

  test('groups those that did not succeed by step and message, the most frequent first', async () => {
    const { html } = await watched();
    const [, body = ''] = /<table class="groups">.*?<tbody>(.*?)<\/tbody>/s.exec(html) ?? [];
    expect(body.split('</tr>').map((row) => textOf(row, /(.*)/s))).toEqual([
      '2 failed sort cannot sort Show',
      '1 failed read cannot read Show',
      '1 still running still RUNNING; the run continues Show',
      '',
    ]);
  });

  test('has a row for each run in the order asked, with its start and its duration', async () => {
    const rows = readPageRows((await watched()).html);
    expect(rows.map(({ id }) => id)).toEqual(ids);
    const started = Date.UTC(2026, 0, 2, 3, 4, 5);
    expect(rows.map((row) => row.started)).toEqual(ids.map(() => started));
    expect(rows[1]).toMatchObject({ version: 'v1', steps: '4 of 4', step: 'sort', message: 'cannot sort' });
    expect(rows[5]).toMatchObject({
      outcome: 'still running',
      status: 'RUNNING',
      duration: 4000,
      words: '4.0s',
    });
  });

  test('has a bar for each run in the timeline, at its place in time', async () => {
    const handler = acceptThenShow(aRun(), aFinishedRun());
    const { html } = await runWithReports(handler, ['run', 'w', 'x=1']);
    const [, timeline = ''] = /<h2 id="timeline">(.*?)<\/section>/s.exec(html) ?? [];
    // The whole of 4 s, but for the gap before a next one.
    expect(timeline).toContain('<path class="good" d="M0 0H1998v11H0z"/>');
    expect(timeline).toContain('<span>0</span>');
    expect(timeline).toContain('<span>4s</span>');
  });
});

describe('what the service says', () => {
  const evil = aRun({
    ...failed(HOSTILE_TEXT, HOSTILE_TEXT),
    id: HOSTILE_TEXT.replace('\ud800', ''),
    versionName: HOSTILE_TEXT,
  });

  test('is text, in the markup and in the data', async () => {
    const { html } = await runWithReports((_request, reply) => reply.send(200, evil), ['run', 'w']);
    // Its own style and script and the data aside, each tag is one of the page's own.
    const markup = html.replace(/<(style|script)([^>]*)>.*?<\/\1>/gs, '<$1$2>');
    const NAME =
      'id|class|role|type|name|lang|charset|content|http-equiv|scope|datetime|hidden|width|height|d|x|y';
    const attribute = ` (${NAME}|autocomplete|spellcheck|value|viewBox|preserveAspectRatio|(aria|data)-[a-z]+)(="[^"<>]*")?`;
    const left = markup.replace(new RegExp(`</?[a-z][a-z0-9]*(${attribute})*/?>`, 'g'), '');
    expect(left.replace('<!doctype html>', '')).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#39);)/);
    expect(markup.match(/<script/g)?.length).toBe(2);
    expect(html).toContain('&lt;script&gt;x&lt;/script&gt; &amp;amp;');
    expect(readPageRows(html)[0]?.message).toContain('<script>x</script> &amp; &#124;');
  });

  test('ends no script: there is no < in the data', async () => {
    const { html } = await runWithReports(
      (_request, reply) => reply.send(200, evil),
      ['run', '</script><!--'],
    );
    const [, data = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
    expect(data).not.toContain('<');
    expect(readPageRows(html)[0]?.workflow).toBe('</script><!--');
  });
});

test('nothing may be loaded, and only the style and the script of the page count', async () => {
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
  expect(html).not.toMatch(/https?:\/\/|\bsrc=|\bhref=|@import|url\(|innerHTML/);
});

test('10,000 runs are written in good time, and share their texts', () => {
  const runs = sampleRuns(10_000);
  renderPage(runs.slice(0, 100));
  const before = performance.now();
  const page = renderPage(runs);
  expect(performance.now() - before).toBeLessThan(5_000);
  expect(readPageRows(page).length).toBe(10_000);
  expect(page.length).toBeLessThan(1_500_000);
});
