/** The HTML report in tests: sample runs, rendering, and reading its data. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Facts } from '../../src/errors.js';
import type { CommandResult } from '../../src/outcome/error-data.js';
import type { Outcome, State } from '../../src/outcome/outcome.js';
import { renderPage as renderHtml } from '../../src/report/html/page.js';
import { temporaryFolder } from './cli.js';

const START = Date.UTC(2026, 0, 2, 3, 4, 5);
const WORKERS = 12;

/** Returns runs as of a batch: most FINISHED, some FAILED for one of a few reasons, a few with other outcomes. */
export function sampleRuns(count: number): Outcome[] {
  const freeAt = Array<number>(WORKERS).fill(START);
  return Array.from({ length: count }, (_, index) => {
    const chance = (index * 7919) % 997;
    const durationMs = 2_000 + ((index * 104_729) % 6_007) + (chance % 31 === 0 ? 20_000 : 0);
    const worker = index % WORKERS;
    const startedAt = freeAt[worker] ?? START;
    freeAt[worker] = startedAt + durationMs;
    return { ...sampleResult(index, chance, sampleId(index)), workflowId: WORKFLOW, startedAt, durationMs };
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

/** Returns the facts of an error with this text. */
export function factsWith(text: string): Facts {
  const facts = { runMayExist: false, createdNothing: false, isTemporary: false, hints: [] };
  return { ...facts, code: 'unreachable', summary: [text], shared: [text], text };
}

type SampleResult = Pick<Outcome, 'id' | 'run' | 'state' | 'error'>;

function sampleResult(index: number, chance: number, id: string): SampleResult {
  const failure = (state: State, text: string, known: Pick<Outcome, 'id' | 'run'>): SampleResult => {
    return { ...known, state, error: factsWith(text) };
  };
  const unsent = { id: undefined, run: undefined };
  if (chance === 5)
    return failure(
      'rejected',
      `the service rejected the trigger (422)\nrow ${index}: customer is empty`,
      unsent,
    );
  if (chance === 6) return failure('unknown', 'the outcome is unknown: a run may have been created', unsent);
  if (chance === 7)
    return failure('unreachable', 'the run could not be read for 5m', { id, run: aRun(id, 'RUNNING', 2) });
  if (chance === 8) return { id, run: aRun(id, 'RUNNING', 3), state: 'running' };
  if (chance % 40 !== 0) return { id, run: aRun(id, 'FINISHED', 4), state: 'finished' };
  const [step, message] = REASONS[chance % 3] ?? REASONS[0];
  const run = { ...aRun(id, 'FAILED', 1 + (chance % 3)), error: { step, message } };
  return { id, run, state: 'failed' };
}

function aRun(id: string, status: string, stepsCompleted: number) {
  const unused = { createdAt: undefined, error: undefined, output: undefined, json: new Uint8Array() };
  return { id, status, versionName: 'invoice v3', steps: 4, stepsCompleted, ...unused };
}

/** Returns the HTML report as text. */
export function renderPage(runs: readonly Outcome[]): string {
  const end = Math.max(...runs.map(({ startedAt = START, durationMs = 0 }) => startedAt + durationMs));
  const ended: CommandResult = { runs, exit: 0, startedAt: START, durationMs: end - START };
  return [...renderHtml(ended)].join('');
}

/** Writes the report to a file, and returns its URL. */
export function writePage(runs: readonly Outcome[]): string {
  const file = join(temporaryFolder(), 'report.html');
  writeFileSync(file, renderPage(runs));
  return pathToFileURL(file).href;
}

/** Returns the rows in the data block of a page. Throws when there is not exactly one such block. */
export function readPageRows(page: string): Record<string, unknown>[] {
  const [block, ...others] = page.matchAll(/<script type="application\/json" id="data">(.*?)<\/script>/gs);
  if (block === undefined || others.length > 0) throw new Error('not one block of data');
  const { rows, outcomes, common } = JSON.parse(block[1] ?? '');
  return rows.map((row: Record<string, unknown> & { outcome: number }) => {
    const { label } = outcomes[row.outcome];
    // The page says the service's status where it is another word.
    const status = ['finished', 'failed', 'running'].includes(label) ? label.toUpperCase() : '';
    return { ...EMPTY_ROW, status, ...common, ...row, outcome: label };
  });
}

/** What the data of a page leave out. */
const EMPTY_ROW = {
  ...{
    label: '',
    id: '',
    workflow: '',
    version: '',
    inputs: '',
    steps: '',
    words: '',
    step: '',
    message: '',
  },
  ...{ duration: null, started: null, output: '', requestId: '', page: '' },
};
