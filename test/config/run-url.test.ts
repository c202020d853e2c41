/** `runUrl` in a profile: the page of a run, for people. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { acceptThenShow, aFinishedRun, scriptedService } from '../helpers/service.js';

const PAGE = 'https://app.example.com/runs/a%2F%7C1?tab=x';

/** Returns what runs wfr with a profile for a service whose run has an id that a URL cannot have. */
async function wfrWithPages(runUrl = 'https://app.example.com/runs/{id}?tab=x') {
  const run = { ...aFinishedRun(), id: 'a/|1' };
  const service = await scriptedService((request, reply) =>
    request.method === 'POST' ? reply.send(201, run) : acceptThenShow(run)(request, reply),
  );
  const profile = { baseUrl: service.baseUrl, runUrl };
  const cwd = folderWith({
    'wfr/config.json': JSON.stringify({ defaultProfile: 'p', profiles: { p: profile } }),
    'rows.csv': 'a\n1\n',
  });
  const env = { XDG_CONFIG_HOME: cwd, XDG_STATE_HOME: cwd };
  const wfr = (args: string[], more = {}) =>
    runCli(args, { cwd, env: { ...env, ...more }, clock: new VirtualClock() });
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
  return { wfr, read };
}

describe('runUrl', () => {
  test('runUrl: the page of a run is at its end, in status and in the history', async () => {
    const { wfr } = await wfrWithPages();
    expect((await wfr(['run', 'w'])).stderr).toContain(`\nPage: ${PAGE}\n`);
    expect((await wfr(['status', 'a/|1'])).stdout).toContain(`page       ${PAGE}\n`);
    expect(JSON.parse((await wfr(['history', '--json'])).stdout)[0].page).toBe(PAGE);
  });

  test('runUrl: reports have it, Markdown and HTML as a link', async () => {
    const { wfr, read } = await wfrWithPages();
    const kinds = ['json', 'markdown', 'html'].flatMap((kind) => ['--report', `${kind}=r.${kind}`]);
    for (const args of [
      ['run', 'w'],
      ['batch', 'w', '--rows', 'rows.csv', '--results', 'o.jsonl'],
    ]) {
      await wfr([...args, ...kinds]);
      expect(JSON.parse(read('r.json')).runs[0].page).toBe(PAGE);
      expect(read('r.markdown')).toContain(`[a/&#124;1](<${PAGE}>)`);
      expect(read('r.html')).toContain(`"${PAGE}"`);
    }
  });

  test('runUrl: another service than that of the profile has no pages', async () => {
    const { wfr } = await wfrWithPages();
    const other = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    const { stdout, exitCode } = await wfr(['status', 'run-1'], { WFR_BASE_URL: other.baseUrl });
    expect([exitCode, stdout]).toEqual([0, expect.not.stringContaining('page')]);
  });

  test.each(['https://app.example.com/runs', 'javascript:{id}', 'https://{id}.example.com/'])(
    'runUrl: %s is a mistake',
    async (runUrl) => {
      const { wfr } = await wfrWithPages(runUrl);
      const { stderr, stdout, exitCode } = await wfr(['config', 'check']);
      expect(exitCode).toBe(2);
      expect(stdout + stderr).toContain('"runUrl" must be a URL with {id}');
    },
  );
});
