/** Every example of the help is a command that works. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import * as wfr from '../../helpers/commands.js';
import { folderWith } from '../../helpers/files.js';
import { bash, ROOT } from '../../helpers/process.js';
import { INVOICE, SLOW } from '../../helpers/sandbox.js';
import { aFinishedRun, type Handler, scriptedService } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

const COMMANDS = wfr.COMMANDS.filter((name) => !['help', 'completion'].includes(name));
const TOPICS = ['inputs', 'exit-codes', 'environment', 'scripting'];
const PARTS = ['config path', 'config show', 'config check', 'config init'];

/** What an example finds in its folder, made by these commands. */
const BEFORE: Readonly<Record<string, string>> = {
  results: `
wfr batch invoice --rows customers.csv --results out.jsonl
wfr batch invoice --rows customers.csv --results shard-1.jsonl --shard 1/2
wfr batch invoice --rows customers.csv --results shard-2.jsonl --shard 2/2
`,
  history: 'wfr run "$workflow"\n',
};

/** Returns the examples in a text of help, each with its continued lines. */
function examplesIn(help: string): string[] {
  const [, block = ''] = /^Examples?:\n((?: {2}.*\n?)+)/m.exec(help) ?? [];
  const lines = block
    .replace(/\\\n\s+/g, '')
    .trimEnd()
    .split('\n');
  return lines.map((line) => line.trim());
}

const ID = '0a1b2c3d-0000-4000-8000-000000000001';
const OTHER = '0a1b2c3d-0000-4000-8000-000000000002';

/** Accepts every trigger, and knows two runs. */
const service: Handler = async (request, reply) => {
  await request.body();
  const id = request.method === 'POST' ? ID : request.path.split('/').at(-1);
  if (id !== ID && id !== OTHER) return reply.send(404);
  reply.send(request.method === 'POST' ? 201 : 200, { ...aFinishedRun({ total: 12.5 }), id });
};

describe.skipIf(LACKS.bash)('the examples of the help', () => {
  test.each([...COMMANDS, ...TOPICS, ...PARTS])('help: every example of wfr help %s works', async (topic) => {
    const { baseUrl } = await scriptedService(service);
    const { stdout } = await runCli(['help', ...topic.split(' ')]);
    const examples = examplesIn(stdout);
    expect(examples.length).toBeGreaterThan(0);
    const results = await Promise.all(
      examples.map(async (example) => {
        const isInit = example.includes('config init');
        const profile = { baseUrl, workflows: { invoice: INVOICE } };
        const cwd = folderWith({
          'customers.csv': 'customer\nACME\nInitech\n',
          'scan.pdf.gz': gzipSync('%PDF-1.7'),
          'pipeline.sh': '#!/bin/sh\nexit 0\n',
          'workflows.json': JSON.stringify({
            workflows: [
              {
                id: SLOW,
                versionName: 'v',
                parameters: {},
                steps: [{ name: 'A', duration: '1ms' }],
                output: {},
              },
            ],
          }),
          ...(!isInit && {
            'wfr/config.json': JSON.stringify({
              defaultProfile: 'production',
              profiles: { production: profile },
            }),
            'new.json': JSON.stringify({ profiles: { production: profile } }),
          }),
        });
        chmodSync(join(cwd, 'pipeline.sh'), 0o755);
        mkdirSync(join(cwd, 'scans'));
        for (const name of ['scan.pdf', 'scans/inv-1.pdf'])
          copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, name));
        for (const name of ['summary.md', 'output.txt']) writeFileSync(join(cwd, name), '');
        const env = {
          ...(isInit ? {} : { WFR_BASE_URL: baseUrl }),
          ...{ HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_STATE_HOME: cwd, EDITOR: 'cat', WFR_TOKEN: 't' },
          ...{ id: ID, other: OTHER, workflow: SLOW, GITHUB_STEP_SUMMARY: join(cwd, 'summary.md') },
          GITHUB_OUTPUT: join(cwd, 'output.txt'),
        };
        const script = `set -e\njq() { cat > /dev/null; }\n${BEFORE[topic] ?? ''}${example}`;
        const { exitCode, stderr } = await bash(script, env, { cwd });
        return { example, exitCode, ...(exitCode !== 0 && { stderr }) };
      }),
    );
    expect(results).toEqual(examples.map((example) => ({ example, exitCode: 0 })));
  });
});
