/** `wfr history`: lists the runs that this user triggered on this machine. */
import { chooseProfile, type Profile, type ProfileFlags } from '../../config/profile.js';
import { resolveRunPages } from '../../config/resolve-setting.js';
import { resolveWorkflowId, workflowNames } from '../../config/workflow.js';
import { collectUsageErrors, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { History, idShortener, type PastRun } from '../../history/history.js';
import type { Context } from '../../platform/context.js';
import { Interruption, openStdoutQueue } from '../../platform/signals.js';
import { hasEndedStatus, KNOWN_STATUSES } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { formatAge } from '../../text/quantity.js';
import { isSanitized, sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import { isUuid } from '../../text/url.js';
import { wrapLines } from '../../text/wrap.js';
import {
  decidePresentation,
  type Layout,
  openLayout,
  type PresentationFlags,
  statusPaint,
} from '../../view/presentation.js';
import { Reporter } from '../../view/reporter.js';
import { type Column, formatTable } from '../../view/table.js';
import { type OutputFlags, type OutputFormat, parseOutputFormat } from '../shared/output-flags.js';

export interface HistoryFlags extends OutputFlags, ProfileFlags, PresentationFlags {
  limit?: string;
  status?: string;
  workflow?: string;
}

/** A run of the history, with the name of its workflow in the profile. */
type ListedRun = PastRun & { workflowName?: string | undefined; page?: string | undefined };

const DEFAULT_LIMIT = 20;

/** Runs the command. Throws UsageError and OutputError. */
export async function history(flags: HistoryFlags, context: Context): Promise<Exit> {
  const plan = await planHistory(flags, context);
  const log = History.open(context);
  const known = await log.readRuns();
  assertStatus(flags.status, known);
  const wanted = known.filter(plan.isWanted);
  const runs = wanted.slice(0, plan.limit).map(plan.withName);
  if (runs.length === 0 && !context.errorsAsData)
    await context.stderr.write(`${await emptyText(log, known.length)}\n`);
  await print(runs, known, plan, context);
  await printNotes(runs, wanted.length, flags, plan, context);
  return ExitCode.ok;
}

type HistoryPlan = Awaited<ReturnType<typeof planHistory>>;

/** Validates a command line. Throws UsageError with every problem. */
async function planHistory(flags: HistoryFlags, context: Context) {
  const presentation = decidePresentation(flags, context);
  const profile = await chooseUsableProfile(flags, presentation, context);
  const { workflow, ...plan } = await collectUsageErrors({
    format: () => parseOutputFormat(flags),
    limit: () => parseLimit(flags.limit),
    workflow: () => flags.workflow && resolveWorkflowId(flags.workflow, profile).toLowerCase(),
  });
  const nameOf = workflowNames(profile);
  const status = flags.status?.toLowerCase();
  const isOfWorkflow = (run: PastRun) => workflow === undefined || run.workflow.toLowerCase() === workflow;
  return {
    ...plan,
    presentation,
    isWanted: (run: PastRun) =>
      isOfWorkflow(run) && (status === undefined || statusOf(run).toLowerCase() === status),
    withName: (run: PastRun): ListedRun => ({
      ...run,
      workflowName: nameOf(run.workflow),
      page: resolveRunPages({ flags: { baseUrl: run.baseUrl }, profile, context })(run.id),
    }),
  };
}

/** A config file with mistakes hides the names of workflows, but no run. Throws UsageError for a --profile that is not there. */
async function chooseUsableProfile(
  flags: ProfileFlags,
  presentation: HistoryPlan['presentation'],
  context: Context,
): Promise<Profile | undefined> {
  try {
    return await chooseProfile(flags, context);
  } catch (error) {
    if (!(error instanceof UsageError) || flags.profile !== undefined) throw error;
    const reporter = await Reporter.open(presentation, context);
    reporter.warn('the names of workflows are unknown: the config file has mistakes; see wfr config check');
    return undefined;
  }
}

/** Throws UsageError for a word that is no status of the service, and of no run in the history. */
function assertStatus(status: string | undefined, known: readonly PastRun[]): void {
  const words = [...KNOWN_STATUSES, ...known.map(statusOf)].map((word) => word.toLowerCase());
  if (status === undefined || words.includes(status.toLowerCase())) return;
  throw new UsageError([
    `--status ${status || '""'}: choose ${KNOWN_STATUSES.slice(0, -1).join(', ')} or ${KNOWN_STATUSES.at(-1)}`,
  ]);
}

function parseLimit(raw: string | undefined): number {
  if (raw === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,8}$/.test(raw)) return Number(raw);
  throw new UsageError([`--limit ${raw}: expected a whole number of at least 1, such as 50`]);
}

async function emptyText(log: History, known: number): Promise<string> {
  const { folder } = log;
  const risk = await log.findRisk();
  if (risk !== undefined) return `The history is skipped: ${sanitize(risk)}.`;
  if (folder === undefined) return 'The history is off: WFR_HISTORY is 0, or there is no home folder.';
  return known === 0
    ? `The history has no runs yet (${sanitize(folder)}).`
    : 'No run in the history matches --status and --workflow.';
}

/** Says how many of `all` runs are missing, and that a person may not take RUNNING for the state of now. */
async function printNotes(
  runs: readonly ListedRun[],
  all: number,
  { status, workflow }: HistoryFlags,
  { format, presentation }: HistoryPlan,
  { stderr, platform }: Context,
): Promise<void> {
  if (presentation.quiet || format !== 'text') return;
  const filters = Object.entries({ '--status': status, '--workflow': workflow }).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, value],
  );
  const command = shellCommand(['wfr', 'history', ...filters, '--limit', String(all)], platform);
  const notes = [
    ...(runs.length < all ? [`${runs.length} of ${all} runs; for all: ${command}`] : []),
    ...(runs.some(({ status }) => !hasEndedStatus(status))
      ? ['Each status is as last seen; to ask the service: wfr status <id>']
      : []),
  ];
  for (const line of wrapLines(notes, stderr.isTerminal ? stderr.columns : 0))
    await stderr.write(`${line}\n`);
}

async function print(
  runs: readonly ListedRun[],
  known: readonly PastRun[],
  { format, presentation }: HistoryPlan,
  context: Context,
): Promise<void> {
  const layout = await openLayout(presentation.colorFlag, context);
  const interruption = new Interruption(context);
  try {
    const stdout = openStdoutQueue(context, interruption);
    if (format !== 'text') await stdout.write(formatData(runs, format, layout));
    else if (runs.length > 0) await stdout.writeSummary(formatRuns(runs, known, layout, context));
  } finally {
    interruption.release();
  }
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

/** Returns the table; ids are shortened as far as no run in the whole history has the same. */
function formatRuns(
  runs: readonly ListedRun[],
  known: readonly PastRun[],
  layout: Layout,
  { clock, secrets }: Pick<Context, 'clock' | 'secrets'>,
): string {
  const shorten = idShortener(known.map(({ id }) => id));
  // A secret that is cut could not be masked later.
  const cell = (text: string) => sanitize(secrets.mask(text));
  const columns: Column<ListedRun>[] = [
    { header: 'ID', text: ({ id }) => cell(shorten(id)) },
    {
      header: 'STATUS',
      text: (run) => cell(statusOf(run)),
      paint: ({ status }) => statusPaint(status, layout.style),
    },
    {
      header: 'LABEL',
      text: ({ label = '' }) => cell(label),
      isCutAtStart: true,
    },
    { header: 'AGE', text: ({ triggered }) => ageOf(triggered, clock.now()), isOptional: true },
    { header: 'SERVICE', text: ({ baseUrl }) => cell(baseUrl.replace(/^https?:\/\//, '')), isOptional: true },
    {
      header: 'WORKFLOW',
      text: ({ workflow, workflowName, version }) => cell(workflowName ?? version ?? shortWorkflow(workflow)),
      isOptional: true,
    },
    { header: 'PAGE', text: ({ page = '' }) => cell(page), isOptional: true },
  ];
  const isShown: Readonly<Record<string, boolean>> = {
    LABEL: runs.some(({ label }) => label !== undefined),
    PAGE: runs.some(({ page }) => page !== undefined),
    SERVICE: new Set(runs.map(({ baseUrl }) => baseUrl)).size > 1,
  };
  return formatTable(
    runs,
    columns.filter(({ header = '' }) => isShown[header] ?? true),
    layout,
  );
}

/** A workflow without a name is told from others by the start of its UUID. */
const shortWorkflow = (id: string) => (isUuid(id) ? `${id.slice(0, 8)}…` : id);

const statusOf = ({ status = 'accepted' }: PastRun) => status;

function ageOf(triggered: string, now: number): string {
  const time = Date.parse(triggered);
  return Number.isNaN(time) ? '-' : formatAge(now - time).replace(' ago', '');
}
