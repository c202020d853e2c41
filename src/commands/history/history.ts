/** `wfr history`: lists the runs that this user triggered on this machine. */
import { chooseProfile, type ProfileFlags } from '../../config/profile.js';
import { resolveRunPages, type ServiceSources, settingValues } from '../../config/resolve-setting.js';
import { resolveWorkflowId, workflowNames } from '../../config/workflow.js';
import { collectUsageErrors, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { type History, idShortener, openHistory, type PastRun } from '../../history/history.js';
import { tableOf } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { isFile, shownPath } from '../../platform/files.js';
import { hasEndedStatus, KNOWN_STATUSES } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { isSanitized, sanitize } from '../../text/sanitize.js';
import { commandOfRuns, toArgs } from '../../text/shell-quote.js';
import { wrapLines } from '../../text/wrap.js';
import {
  decidePresentation,
  type Layout,
  openLayout,
  type PresentationFlags,
  statusPaint,
} from '../../view/presentation.js';
import { ageText, durationText } from '../../view/summary.js';
import { type Column, layOutTable, runName } from '../../view/table.js';
import { OUTPUT_FORMATS, type OutputFlags, type OutputFormat, parseFormat } from '../shared/output-flags.js';

export interface HistoryFlags extends OutputFlags, ProfileFlags, PresentationFlags {
  limit?: string;
  status?: string;
  workflow?: string;
}

/** What a line shows: a run, or a batch, which has no id, and how many of its rows have finished. */
type Line = PastRun & { finished?: string };

/** A line, with the name of its workflow in the profile. */
type ListedRun = Line & { workflowName: string | undefined; page: string | undefined };

/** Runs the command. Throws UsageError and OutputError. */
export async function history(flags: HistoryFlags, context: Context): Promise<Exit> {
  const { stdout, stderr } = context;
  const { quiet } = decidePresentation(flags, context);
  const profile = await chooseProfile(flags, context);
  const log = openHistory(context);
  const known = await log.readRuns();
  const { format, limit, status, workflow } = await collectUsageErrors({
    format: () => parseFormat(flags, OUTPUT_FORMATS),
    limit: () => parseLimit(flags.limit),
    status: () => parseStatus(flags.status, known),
    workflow: () => flags.workflow && resolveWorkflowId(flags.workflow, profile).toLowerCase(),
  });
  const wanted = known.filter(
    (run) =>
      (status === undefined || statusOf(run).toLowerCase() === status) &&
      (workflow === undefined || run.workflow.toLowerCase() === workflow),
  );
  const nameOf = workflowNames(profile);
  const isText = format === 'text';
  // Who selects runs by their status wants to see each of them.
  const all = isText && status === undefined ? groupByBatch(wanted).map(lineOf) : wanted;
  const runs = all.slice(0, limit).map((run): ListedRun => {
    const pageOf = resolveRunPages({ flags: { baseUrl: run.baseUrl }, profile, context });
    return { ...run, workflowName: nameOf(run.workflow), page: pageOf(run.id) };
  });
  const layout = await openLayout(flags.color, context);
  // No other run in the whole history has the same beginning.
  const shorten = idShortener(known.map(({ id }) => id));
  const text = isText && runs.length > 0 ? [formatRuns(runs, shorten, layout, context)] : [];
  for (const chunk of isText ? text : formatData(runs, format, layout)) await stdout.write(chunk);
  const lines: string[] = [];
  const note = (text: string, commands: readonly string[] = []) =>
    // A command stays one line, to be pasted.
    lines.push(...wrapLines([text], stderr.columns), ...commands.map((command) => `  ${command}`));
  if (runs.length === 0 && !context.errorsAsData) note(await emptyText(log, known.length));
  if (isText && !quiet) {
    const noun = all.some(isBatch) ? 'runs and batches' : 'runs';
    if (runs.length < all.length)
      note(`${runs.length} of ${all.length} ${noun}; to list all, add --limit ${all.length}`);
    const ofBatches = await resultsCommands(runs, context);
    if (ofBatches.length > 0) note('To list the rows of a batch, and how to continue:', ofBatches);
    const ofRuns = statusCommands(runs, shorten, { flags, profile, context });
    if (ofRuns.length > 0) note('As last recorded; to ask the service:', ofRuns);
  }
  for (const line of lines) await stderr.write(`${line}\n`);
  return ExitCode.ok;
}

/** Runs that share a line, the latest first. */
type Group = [PastRun, ...PastRun[]];

/** Returns the runs in groups: those of a batch are one. */
function groupByBatch(runs: readonly PastRun[]): Group[] {
  const groups = new Map<string | PastRun, Group>();
  for (const run of runs) {
    const key = run.batch ?? run;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [run]);
    else group.push(run);
  }
  return [...groups.values()];
}

/** Returns what a line shows: of a batch, the time and the status of all its runs; that of one row is shown as its run. */
function lineOf(group: Group): Line {
  const [latest] = group;
  if (group.length === 1 && (latest.rows ?? 1) === 1) return latest;
  // A row that was sent again counts once.
  const sent = [...new Map(group.toReversed().map((run) => [run.label, run])).values()];
  const others = sent.filter(({ status }) => status !== 'FINISHED');
  const [{ status } = latest] = others;
  const { label = '', rows = sent.length } = latest;
  const { triggered } = group.at(-1) ?? latest;
  return {
    ...latest,
    id: '',
    triggered,
    status: others.some(isOpen) ? 'RUNNING' : status,
    finished: `${sent.length - others.length}/${rows}`,
    label: tableOf(label).slice(0, -1) || label.replace(/[^/\\]*$/, ''),
    // The time between its commands would count.
    ended: '',
  };
}

const isBatch = ({ finished }: Line) => finished !== undefined;
const isOpen = ({ status }: Line) => !hasEndedStatus(status);

function parseLimit(raw = '20'): number {
  if (/^[1-9]\d{0,8}$/.test(raw)) return Number(raw);
  throw new UsageError(`--limit ${raw}: expected a whole number of at least 1, such as 50`);
}

/** Returns a status in lower case. Throws UsageError for one that neither the service nor a run in the history has. */
function parseStatus(raw: string | undefined, known: readonly PastRun[]): string | undefined {
  const status = raw?.toLowerCase();
  const statuses = [...KNOWN_STATUSES, ...known.map(statusOf)].map((word) => word.toLowerCase());
  if (status === undefined || statuses.includes(status)) return status;
  throw new UsageError(`--status ${raw || '""'}: choose one of ${KNOWN_STATUSES.join(', ')}`);
}

async function emptyText(log: History, known: number): Promise<string> {
  const risk = await log.findRisk();
  if (risk !== undefined) return `The history is skipped: ${sanitize(risk)}.`;
  if (log.folder === undefined) return 'The history is off: WFR_HISTORY is 0, or there is no home folder.';
  return known === 0
    ? `The history has no runs yet (${sanitize(log.folder)}).`
    : 'No run in the history matches these flags.';
}

function* formatData(
  runs: readonly ListedRun[],
  format: Exclude<OutputFormat, 'text'>,
  { jsonColors }: Layout,
): Generator<string | Uint8Array, void, void> {
  if (format === 'json') yield* formatJson(Buffer.from(JSON.stringify(runs)), jsonColors);
  for (const run of format === 'json' ? [] : runs) {
    if (format === 'jsonl') yield* compactJson(Buffer.from(JSON.stringify(run)), jsonColors);
    // An escaped id would be another id, so it is left out; the other formats escape it.
    else if (isSanitized(run.id)) yield `${run.id}\n`;
  }
}

/** Runs that a command names at most. */
const MAX_NAMED = 10;

/** Returns the command that shows the first runs that may have ended since, all at one service, if there are any. */
function statusCommands(
  runs: readonly ListedRun[],
  shorten: (id: string) => string,
  { flags: { profile: name }, profile, context }: Omit<ServiceSources, 'flags'> & { flags: HistoryFlags },
): string[] {
  const open = runs.filter((run) => !isBatch(run) && isOpen(run));
  const [first] = open;
  if (first === undefined) return [];
  const ids = open.filter(({ baseUrl }) => baseUrl === first.baseUrl).map(({ id }) => shorten(id));
  const named = ids.slice(0, MAX_NAMED);
  const [current] = settingValues('baseUrl', { flags: {}, profile, context });
  const withoutSlash = (url: string) => url.replace(/\/+$/, '');
  const isElsewhere = withoutSlash(current?.text ?? '') !== withoutSlash(first.baseUrl);
  const baseUrl = isElsewhere ? first.baseUrl : undefined;
  const flags = toArgs({ profile: name, baseUrl });
  return [commandOfRuns('status', flags, named, context.platform)];
}

/** Batches whose command is listed at most. */
const MAX_BATCHES = 3;

/** Returns the commands that list the rows of the latest batches whose results files exist. */
async function resultsCommands(runs: readonly ListedRun[], { cwd, platform }: Context): Promise<string[]> {
  const commands: string[] = [];
  for (const path of new Set(runs.filter(isBatch).map(({ results = '' }) => results)))
    if (commands.length < MAX_BATCHES && (await isFile(path)))
      commands.push(commandOfRuns('results', [], [shownPath(path, cwd)], platform));
  return commands;
}

/** The columns that a service and the gap before it usually take. */
const SERVICE_WIDTH = 30;

function formatRuns(
  runs: readonly ListedRun[],
  shorten: (id: string) => string,
  layout: Layout,
  { clock, secrets }: Pick<Context, 'clock' | 'secrets'>,
): string {
  // A secret that is cut could not be masked later.
  const cell = (text: string) => sanitize(secrets.mask(text));
  const serviceOf = ({ baseUrl }: ListedRun) => cell(baseUrl.replace(/^https?:\/\//, ''));
  const hasServices = new Set(runs.map(({ baseUrl }) => baseUrl)).size > 1;
  const room = layout.width - (hasServices ? SERVICE_WIDTH : 0);
  const columns: Column<ListedRun>[] = [
    { header: 'ID', text: (run) => (isBatch(run) ? 'batch' : cell(shorten(run.id))) },
    {
      header: 'STATUS',
      text: (run) => cell(statusOf(run)),
      paint: ({ status }) => statusPaint(status, layout.style),
    },
    { header: 'FINISHED', text: ({ finished = '' }) => finished, isOptional: true },
    {
      header: 'NAME',
      text: (run) => cell(runName(run, room)),
      isCutAtStart: runs.some(({ label }) => label),
    },
    ...(hasServices ? [{ header: 'SERVICE', text: serviceOf, isOptional: true }] : []),
    { header: 'DURATION', text: (run) => durationText(run) ?? '', isOptional: true },
    {
      header: 'AGE',
      text: ({ triggered }) => ageText(triggered, clock.now())?.replace(' ago', '') ?? '-',
      isOptional: true,
    },
  ];
  return `${layOutTable(runs, columns, layout).join('\n')}\n`;
}

const statusOf = ({ status = 'accepted' }: PastRun) => status;
