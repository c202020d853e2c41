/** `wfr history`: lists the runs that this user triggered on this machine. */
import { basename } from 'node:path';
import { chooseProfile, type ProfileFlags } from '../../config/profile.js';
import { currentBaseUrl, resolveRunPages } from '../../config/resolve-setting.js';
import { resolveWorkflowId, workflowNames } from '../../config/workflow.js';
import { collectUsageErrors, unknownName } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { continuation, idShortener, isBatch, openHistory, type PastRun } from '../../history/history.js';
import type { State } from '../../outcome/outcome.js';
import { type Context, isAliveHere } from '../../platform/context.js';
import { shownPath, statOf } from '../../platform/files.js';
import { hasEnded, KNOWN_STATUSES } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { formatCount, pluralize } from '../../text/quantity.js';
import { isSanitized, sanitize } from '../../text/sanitize.js';
import { commandOfRuns, toArgs } from '../../text/shell-quote.js';
import { isUuid } from '../../text/url.js';
import {
  decidePresentation,
  type NextStep,
  openLayout,
  PLAIN,
  type PresentationFlags,
  statusPaint,
  stepLines,
} from '../../view/presentation.js';
import { ageText, durationText } from '../../view/summary.js';
import { type Column, layOutTable, runName } from '../../view/table.js';
import { OUTPUT_FORMATS, type OutputFlags, parseFormat, parseNumber } from '../shared/output-flags.js';

interface HistoryFlags extends OutputFlags, ProfileFlags, PresentationFlags {
  limit?: string;
  status?: string;
  workflow?: string;
}

/** A run or a batch, with the name of its workflow in the profile. */
type ListedRun = PastRun & { workflowName: string | undefined; page: string | undefined };

/** Runs the command. Throws UsageError and OutputError. */
export async function execute(
  _args: readonly string[],
  flags: HistoryFlags,
  context: Context,
): Promise<Exit> {
  const { stdout, stderr } = context;
  const { quiet } = decidePresentation(flags, context);
  const profile = await chooseProfile(flags, context);
  const log = openHistory(context);
  const recorded = await completeBatches(await log.readAll(), context);
  const { format, limit, status, workflow } = await collectUsageErrors({
    format: () => parseFormat(flags, OUTPUT_FORMATS),
    limit: () => parseNumber('--limit', flags.limit ?? '20', [1, 100_000_000]),
    status: () => parseStatus(flags.status, recorded),
    workflow: () => flags.workflow && resolveWorkflowId(flags.workflow, profile).toLowerCase(),
  });
  const nameOf = workflowNames(profile);
  const isText = format === 'text';
  const batches = new Set(recorded.filter(isBatch).map(({ id }) => id));
  const all = recorded.filter(
    (run) =>
      // For people, batches have a line of their own; who selects by a status wants to see each run that has it.
      (isText ? status || !batches.has(run.batch ?? '') : !isBatch(run)) &&
      (!status || statusOf(run).toLowerCase() === status) &&
      (workflow === undefined || run.workflow.toLowerCase() === workflow),
  );
  const runs = all.slice(0, limit).map((run): ListedRun => {
    const pageOf = resolveRunPages({ flags: { baseUrl: run.baseUrl }, profile, context });
    return { ...run, workflowName: nameOf(run.workflow), page: pageOf(run.id) };
  });
  const current = currentBaseUrl({ flags: {}, profile, context });
  const layout = await openLayout(flags.color, context);
  // Nothing else in the whole history has the same beginning.
  const shorten = idShortener(recorded.map(({ id }) => id));
  for (const chunk of isText ? [formatRuns()] : formatData()) await stdout.write(chunk);
  const notes: NextStep[] = [];
  if (runs.length === 0 && !context.errorsAsData) notes.push({ text: await emptyText() });
  if (isText && !quiet) {
    if (runs.length < all.length)
      notes.push({ text: `${runs.length} of ${all.length} listed; --limit ${all.length} lists all` });
    // Of one that has not ended, its line has the command.
    const batch = runs.find(({ results, ended }) => results && ended);
    if (batch)
      notes.push({ text: 'For the results of a batch', command: `wfr results ${shorten(batch.id)}` });
    notes.push(...(await continuingSteps()));
    const command = statusCommand();
    if (command) notes.push({ text: 'As last recorded; to ask the service', command });
  }
  for (const line of stepLines(notes, PLAIN, stderr.columns)) await stderr.write(`${line}\n`);
  return ExitCode.ok;

  /** Returns why nothing is listed of what was asked for. */
  async function emptyText(): Promise<string> {
    const risk = await log.findRisk();
    if (risk) return `The history is skipped: ${sanitize(risk)}.`;
    if (!log.folder) return 'The history is off: WFR_HISTORY is 0, or there is no home folder.';
    if (recorded.length === 0) return `The history has no runs yet (${sanitize(log.folder)}).`;
    const name = `--workflow ${flags.workflow}; expected a UUID, URL or configured name`;
    const asked = workflow && !isUuid(workflow) ? sanitize(name) : 'these flags';
    return `No run in the history matches ${asked}.`;
  }

  /** Returns how to continue the latest batch that stopped, and which others did: wfr results has the command for each. */
  async function continuingSteps(): Promise<NextStep[]> {
    const stopped: ListedRun[] = [];
    for (const batch of runs) {
      const { id, rows, status, ended, results = '' } = batch;
      const isStopped = status === 'STOPPED' || (ended && rows?.waiting);
      // Without its results file, the command would trigger all runs again; a later batch may have replaced it.
      const isLatest = recorded.find((other) => other.results === results)?.id === id;
      if (isStopped && isLatest && (await statOf(results))) stopped.push(batch);
    }
    const [latest, ...others] = stopped;
    if (!latest) return [];
    // Another command has the default profile.
    const command = continuation(latest, flags.profile ? undefined : current, context)?.();
    const more = others.map(({ id }) => shorten(id)).join(', ');
    return [
      { text: `To continue ${shorten(latest.id)}${command ? '' : ', run its command again.'}`, command },
      ...(more ? [{ text: `Also stopped: ${more}` }] : []),
    ];
  }

  /**
   * Returns the command that shows the first runs that may have ended since, if there are any: all at one service, the
   * current one if it has some.
   */
  function statusCommand(): string | undefined {
    const open = runs.filter((run) => !isBatch(run) && !hasEnded(run));
    const service = (open.find(({ baseUrl }) => baseUrl === current) ?? open[0])?.baseUrl;
    if (!service) return undefined;
    const ids = open.filter(({ baseUrl }) => baseUrl === service).map(({ id }) => shorten(id));
    const { profile } = flags;
    const others = toArgs({ profile, baseUrl: service === current ? undefined : service });
    return commandOfRuns('status', others, ids.slice(0, MAX_NAMED), context.platform);
  }

  function* formatData(): Generator<string | Uint8Array, void, void> {
    const { jsonColors } = layout;
    if (format === 'json') return yield* formatJson(Buffer.from(JSON.stringify(runs)), jsonColors);
    for (const run of runs) {
      if (format === 'jsonl') yield* compactJson(Buffer.from(JSON.stringify(run)), jsonColors);
      // An escaped id would be another id, so it is left out; the other formats escape it.
      else if (isSanitized(run.id)) yield `${run.id}\n`;
    }
  }

  function formatRuns(): string {
    if (runs.length === 0) return '';
    // A secret that is cut could not be masked later.
    const cell = (text: string) => sanitize(context.secrets.mask(text));
    const hasServices = new Set(runs.map(({ baseUrl }) => baseUrl)).size > 1;
    // Most services take so many columns.
    const room = layout.width - (hasServices ? 20 : 0);
    const columns: Column<ListedRun>[] = [
      { header: 'ID', text: (run) => (isUnknownRun(run) ? '-' : cell(shorten(run.id))) },
      {
        header: 'STATUS',
        text: (run) => cell(statusOf(run)),
        paint: ({ status }) => statusPaint(status, layout.style),
      },
      {
        header: 'NAME',
        text: (run) => cell(runName(run, room)),
        isCutInMiddle: ({ label }) => label !== undefined,
      },
      {
        header: 'SERVICE',
        text: ({ baseUrl }) => (hasServices ? cell(baseUrl.replace(/^https?:\/\//, '')) : ''),
        rank: 1,
      },
      {
        header: 'DURATION',
        // That of its last command is not that of a batch.
        text: (run) => (run.isContinued ? '' : (durationText(run) ?? '')),
        rank: 2,
      },
      {
        header: 'AGE',
        text: ({ triggered }) => ageText(triggered, context.clock.now()) ?? '-',
      },
    ];
    const { lines } = layOutTable(runs, columns, layout, {
      text: (run) => cell(rowsText(run)),
    });
    return `${lines.join('\n')}\n`;
  }

  /** Returns how many rows of a batch are in each state, or until its command has ended what counts them. */
  function rowsText(run: PastRun): string {
    const { id, rows, ended, results } = run;
    if (!rows) return '';
    if (isUnknownRun(run)) return 'a run may have been created: check the service';
    const counts = Object.entries(rows);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const states = counts
      .map(([word, count]) => `${formatCount(count)} ${word}${word === 'running' ? ' at its end' : ''}`)
      .join(', ');
    // The name of the default file is that of the table.
    const file = !results || results.endsWith('.results.jsonl') ? '' : ` (${basename(results)})`;
    const known = ended ? states + file : results && `see wfr results ${shorten(id)}`;
    return [pluralize(total, 'row'), known].filter(Boolean).join(': ');
  }
}

/** Returns the records, those of batches with their status, the version of their workflow, and their path from this folder. */
function completeBatches(recorded: readonly PastRun[], context: Context): Promise<PastRun[]> {
  const versions = new Map(recorded.map(({ batch, version }) => [batch, version]));
  const complete = async (one: PastRun): Promise<PastRun> => {
    const { id, label = '' } = one;
    if (!isBatch(one)) return one;
    const status = await statusOfBatch(one, context);
    return { ...one, label: label && shownPath(label, context.cwd), version: versions.get(id), status };
  };
  return Promise.all(recorded.map(complete));
}

/** Returns a status in lower case. Throws UsageError for one that no service, batch or run in the history has. */
function parseStatus(raw: string | undefined, known: readonly PastRun[]): string | undefined {
  const status = raw?.toLowerCase();
  const words = new Set([...KNOWN_STATUSES, ...DECISIVE.map(toStatus)]);
  const statuses = [...words, ...known.map(statusOf)].map((word) => word.toLowerCase());
  if (status === undefined || statuses.includes(status)) return status;
  throw unknownName(`--status ${raw || '""'}: `, status, [...words]);
}

/** Runs that a command names at most. */
const MAX_NAMED = 10;

/** Returns whether a record is that of a single run of which it is unknown whether it exists. */
const isUnknownRun = (run: PastRun) => isBatch(run) && !run.owner;

const statusOf = ({ status = 'accepted' }: PastRun) => status;

/** The words of rows that have not finished, first those that decide how their batch stands. */
const DECISIVE: readonly State[] = [
  'unknown',
  'waiting',
  'unreachable',
  'running',
  'failed',
  'rejected',
  'lost',
  'held',
  'invalid',
];

// Nobody watches the runs of a batch whose command has ended.
const toStatus = (word: string) => (/^(waiting|running)$/.test(word) ? 'STOPPED' : word.toUpperCase());

/** A command touches its results file at each HEARTBEAT (runs/log/lock.ts), which other mounts may show late (ms). */
const SILENCE = 60_000;

/** Returns how a batch stands: stopped if its last command did not end, and is dead or no longer touches the results file. */
async function statusOfBatch(batch: PastRun, context: Context): Promise<string> {
  const { rows = {}, ended, owner, results } = batch;
  if (ended || isUnknownRun(batch)) return toStatus(DECISIVE.find((one) => rows[one]) ?? 'finished');
  // It reads files, and most batches have ended.
  const { self, clock } = context;
  if (owner && isAliveHere(owner, self) === false) return 'STOPPED';
  if (!results) return 'RUNNING';
  const stats = await statOf(results);
  return clock.now() - Number(stats?.mtimeMs) <= SILENCE ? 'RUNNING' : 'STOPPED';
}
