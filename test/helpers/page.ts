/** The HTML report in tests: sample runs, rendering, and reading its data. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderPage as renderHtml } from '../../src/report/html/page.js';
import type { CommandResult, ReportedRun } from '../../src/report/reported-run.js';
import { temporaryFolder } from './cli.js';

const START = Date.UTC(2026, 0, 2, 3, 4, 5);
const WORKERS = 12;

/** Returns runs as of a batch: most FINISHED, some FAILED for one of a few reasons, a few with other outcomes. */
export function sampleRuns(count: number): ReportedRun[] {
  const freeAt = Array<number>(WORKERS).fill(START);
  return Array.from({ length: count }, (_, index) => {
    const chance = (index * 7919) % 997;
    const duration = 2_000 + ((index * 104_729) % 6_007) + (chance % 31 === 0 ? 20_000 : 0);
    const worker = index % WORKERS;
    const started = freeAt[worker] ?? START;
    freeAt[worker] = started + duration;
    return { ...sampleResult(index, chance, sampleId(index)), workflowId: WORKFLOW, started, duration };
  });
}

const WORKFLOW = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

const sampleId = (index: number) =>
  `${((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}-de92-4eb6-8521-d75d42${(index % 2 ** 24).toString(16).padStart(6, '0')}`;

const REASONS = [
  ['Check credit', 'The credit service does not know the customer.'],
  ['Read', 'The document has no text: is it a scan without recognition?'],
  ['Check credit', 'timed out after 30 s'],
] as const;

function sampleResult(index: number, chance: number, id: string) {
  const known = { id, error: undefined };
  if (chance === 5)
    return {
      id: undefined,
      run: undefined,
      exit: 5,
      error: `the service rejected the trigger (422)\nrow ${index}: customer is empty`,
    };
  if (chance === 6)
    return {
      id: undefined,
      run: undefined,
      exit: 6,
      error: 'the outcome is unknown: a run may have been created',
    };
  if (chance === 7)
    return { ...known, run: aRun(id, 'RUNNING', 2), exit: 7, error: 'the run could not be read for 5m' };
  if (chance === 8) return { ...known, run: aRun(id, 'RUNNING', 3), exit: 8 };
  if (chance % 40 !== 0) return { ...known, run: aRun(id, 'FINISHED', 4), exit: 0 };
  const [step, message] = REASONS[chance % 3] ?? REASONS[0];
  return { ...known, run: { ...aRun(id, 'FAILED', 1 + (chance % 3)), error: { step, message } }, exit: 1 };
}

function aRun(id: string, status: string, stepsCompleted: number) {
  const unused = { createdAt: undefined, error: undefined, output: undefined, json: new Uint8Array() };
  return { id, status, versionName: 'invoice v3', steps: 4, stepsCompleted, ...unused };
}

/** Returns the HTML report as text. */
export function renderPage(runs: readonly ReportedRun[]): string {
  const end = Math.max(...runs.map(({ started = START, duration }) => started + duration));
  const ended: CommandResult = { runs, exit: 0, startedAt: START, durationMs: end - START };
  return [...renderHtml(ended)].join('');
}

/** Writes the report to a file, and returns its URL. */
export function writePage(runs: readonly ReportedRun[]): string {
  const file = join(temporaryFolder(), 'report.html');
  writeFileSync(file, renderPage(runs));
  return pathToFileURL(file).href;
}

const COLUMNS = [
  ...[
    'id',
    'workflow',
    'version',
    'outcome',
    'status',
    'steps',
    'started',
    'duration',
    'words',
    'step',
    'message',
    'group',
    'label',
    'inputs',
    'output',
    'requestId',
  ],
];

/** Returns the rows in the data block of a page. Throws when there is not exactly one such block. */
export function readPageRows(page: string): Record<string, unknown>[] {
  const [block, ...others] = page.matchAll(/<script type="application\/json" id="data">(.*?)<\/script>/gs);
  if (block === undefined || others.length > 0) throw new Error('not one block of data');
  const { rows, texts, outcomes, outputs } = JSON.parse(block[1] ?? '');
  return rows.map((row: unknown[]) =>
    Object.fromEntries(
      COLUMNS.map((name, place) => {
        const value = row[place];
        if (name === 'outcome') return [name, outcomes[Number(value)].label];
        if (name === 'output') return [name, outputs[Number(value ?? Number.NaN)]];
        return [
          name,
          typeof value !== 'number' || /^(started|duration|group)$/.test(name) ? value : texts[value],
        ];
      }),
    ),
  );
}
