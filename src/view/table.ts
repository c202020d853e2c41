/** Tables for people: a header, aligned columns, and rows that fit the window; and the table of several runs. */

import textWidth from 'string-width';
import type { Facts } from '../errors.js';
import type { PastRun } from '../history/history.js';
import { failureText, stepsOf, withoutTable } from '../outcome/outcome.js';
import { hasEnded, type Run } from '../service/run.js';
import { formatElapsed } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import type { SecretMask } from '../text/secret-mask.js';
import { isUuid } from '../text/url.js';
import { MIN_WIDTH as MIN_TEXT_WIDTH, wrap } from '../text/wrap.js';
import { type Layout, type Paint, statusPaint } from './presentation.js';
import { ageText, durationText, statusOrReason } from './summary.js';

/** A column whose cells are sanitized texts of one line. */
export interface Column<Row> {
  header: string;
  text(row: Row): string;
  paint?(row: Row): Paint;
  /** Whether its cells are aligned to the right, as numbers are. */
  isNumber?: boolean;
  /** Whether it is shown without a cell that has text, too. */
  isKept?: boolean;
  /** Where the window is too narrow, columns of the highest rank are left out; one without a rank is shown. */
  rank?: number;
  /** The width that suffices where others need room: it is narrowed further only with all of them. LEAST by default. */
  least?: number;
  /** Whether it is shown only where no other column is narrowed for it. */
  isSpare?: boolean;
  /** Whether both ends of a cell tell it from others, as in a path, unlike in `line 12 (ACME)`. */
  isCutInMiddle?(row: Row): boolean;
}

const GAP = '  ';
/** A column is not made narrower than this. */
const MIN_WIDTH = 4;
/** A header is not cut to less than this for the cells of other columns. */
const MIN_HEADER = 10;
/** The width that suffices for most columns. */
const LEAST = 20;
/** The columns of a reference to another row and the gap before it, but for long names. */
const REFERENCE = 16;

/**
 * Returns a line for the header, and for each row a line, with its `detail` in place of the empty cells at its end, or below. A
 * reason is a detail that follows the column `after`, and is given once in a window. Empty columns are left out; wider than `width`, those of
 * the highest rank are, which `leftOut` names, then cells are cut.
 */
export function layOutTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { style, width: windowWidth }: Pick<Layout, 'style' | 'width'>,
  detail: Pick<Column<Row>, 'text' | 'paint'> & { after?: string },
) {
  const width = windowWidth || Number.POSITIVE_INFINITY;
  const { after } = detail;
  const filled = columns.filter(({ text, isKept }) => isKept || rows.some((row) => text(row)));
  const shown = fitColumns(
    filled.map((column) => {
      const cells = Math.max(...rows.map((row) => textWidth(column.text(row))));
      return { ...column, cells, width: Math.max(textWidth(column.header), cells) };
    }),
    // What follows the last column needs room, too.
    width - (width >= ROOM_FOR_PREFIX && filled.at(-1)?.header === after ? REFERENCE : 0),
  );
  const [first] = shown;
  const indent = GAP.length + (after && first && first.width < 10 ? first.width : 0);
  const line = (row?: Row) => {
    const cells = shown.map((column) => {
      const text = row ? column.text(row) : column.header;
      const paint = row ? column.paint?.(row) : style.bold;
      // Pointers may differ only at their ends.
      const isLabel = row ? column.isCutInMiddle?.(row) && !text.startsWith('line ') : text.startsWith('/');
      const cut = isLabel ? cutMiddle(text, column.width) : cutText(text, column.width);
      const space = ' '.repeat(column.width - textWidth(cut));
      const cell = paint?.(cut) ?? cut;
      return column.isNumber ? space + cell : cell + space;
    });
    return cells.join(GAP).trimEnd();
  };
  /** The first cells of the rows that had reasons first. */
  const firsts = new Map<string, string>();
  const linesOf = (row: Row): string[] => {
    const cells = line(row);
    const full = detail.text(row);
    if (!full) return [cells];
    const known = after && windowWidth && firsts.get(full);
    const reference = `as in ${first?.header.toLowerCase()} ${known}`;
    const shownText = known && 2 * reference.length < full.length ? reference : full;
    if (!known) firsts.set(full, first?.text(row) ?? '');
    const paint = detail.paint?.(row) ?? String;
    const count = 1 + shown.findLastIndex(({ text }) => text(row));
    const place = count < shown.length ? lineWidth(shown.slice(0, count)) : 0;
    const used = textWidth(cells);
    const start = (after ? used : place) + GAP.length;
    const room = width - start;
    // A word may be wider than the room.
    const fits = (room >= MIN_TEXT_WIDTH || textWidth(shownText) <= room) && start > used;
    const isBeside = fits && wrap(shownText, room).every((text) => textWidth(text) <= room);
    const column = isBeside ? start : indent;
    const lines = wrap(shownText, width - column).map((text, index) => {
      const isFirst = isBeside && index === 0;
      return (isFirst ? cells + ' '.repeat(start - used) : ' '.repeat(column)) + paint(text);
    });
    return isBeside ? lines : [cells, ...lines];
  };
  const leftOut = filled
    .filter(({ text }) => !shown.some((column) => column.text === text))
    .map(({ header }) => header);
  return { lines: [line(), ...rows.flatMap(linesOf)], leftOut };
}

/** A column with its width, and that of its cells. */
type SizedColumn<Row> = Column<Row> & { width: number; cells: number };

/** Leaves out columns by their rank, then narrows the widest ones, until a line has at most `width` columns. */
function fitColumns<Row>(columns: readonly SizedColumn<Row>[], width: number): SizedColumn<Row>[] {
  const kept = new Set<SizedColumn<Row>>();
  const byRank = columns.toSorted(({ rank: one = 0 }, { rank: other = 0 }) => one - other);
  for (const column of byRank) {
    const narrowed = [...kept, column].map((one) => {
      const isWhole = column.isSpare && one !== column;
      return { width: isWhole ? one.width : Math.min(one.width, one.least ?? LEAST) };
    });
    if (!column.rank || lineWidth(narrowed) <= width) kept.add(column);
  }
  const shown = columns.filter((column) => kept.has(column));
  /** Long texts are cut first, then headers, and columns that have no more than suffices last. */
  const orderOf = ({ width, cells, isSpare, least = LEAST }: SizedColumn<Row>) => {
    if (isSpare && width > least) return 4;
    if (width > Math.max(LEAST, least)) return 3;
    return width > Math.max(cells, MIN_HEADER) ? 2 : Number(width > least);
  };
  while (lineWidth(shown) > width) {
    const [wide] = shown
      .filter((column) => column.width > MIN_WIDTH)
      .sort((one, other) => orderOf(other) - orderOf(one) || other.width - one.width);
    if (!wide) break;
    shown[shown.indexOf(wide)] = { ...wide, width: wide.width - 1 };
  }
  return shown;
}

const lineWidth = (columns: readonly { width: number }[]) =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));

/** Returns as much of a text as fits `width` columns of a terminal; "…" marks a cut. */
export function cutText(text: string, width: number, atStart = false): string {
  // No character takes more than two columns for each of its units; to measure a text takes long.
  if (text.length * 2 <= width || textWidth(text) <= width) return text;
  const segments = new Intl.Segmenter().segment(text);
  const add = (one: string, other: string) => (atStart ? other + one : one + other);
  let shown = '';
  let room = width - 1;
  // Those that are kept are few, and the text may be long.
  for (const { segment } of atStart ? [...segments].reverse() : segments) {
    room -= textWidth(segment);
    if (room < 0) break;
    shown = add(shown, segment);
  }
  return add(shown, '…');
}

/** Returns both ends of a text that does not fit `width` columns, with "…" between them. */
function cutMiddle(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const end = cutText(text, Math.ceil(width / 2), true);
  const start = cutText(text, width - textWidth(end) + 1);
  return start.slice(0, -1) + end;
}

/** The columns that a text takes on a terminal, where some characters take two, and colors none. */
export { textWidth };

/** The columns of a window that has room for what precedes the name of a row: its workflow or table. */
const ROOM_FOR_PREFIX = 60;
/** The columns of a window that has room for steps beside statuses. */
const ROOM_FOR_STEPS = 50;

/**
 * Returns the workflow and the label. In a narrow window, it is the label alone, without a table where it says more than a
 * line. A workflow without a name is told by the start of its UUID.
 */
export function runName(
  { workflow = '', workflowName, version, label }: Partial<PastRun> & { workflowName?: string | undefined },
  width: number,
): string {
  if (label && width > 0 && width < ROOM_FOR_PREFIX) return label.endsWith(')') ? withoutTable(label) : label;
  const name = workflowName ?? version ?? (isUuid(workflow) ? `${workflow.slice(0, 8)}…` : workflow);
  return label ? `${name}: ${label}` : name;
}

/** A run as a table shows it: as the service knows it, once that was seen, and as the history does. */
export interface ListedRun {
  id: string;
  /** The beginning of its id that no other run of the history or the table has. */
  shortId: string;
  past: PastRun | undefined;
  /** The name of its workflow in the profile. */
  workflow: string | undefined;
  run?: Run | undefined;
  /** How long it took, where this command saw it end (ms). */
  durationMs?: number | undefined;
  /** Why it could not be read. */
  error?: Facts | undefined;
  /** Whether it has ended, or is no longer watched. */
  isDone?: boolean;
}

/**
 * Returns a header, and for each run a line, with the reason below it where it failed; fitted to the width of the layout. A
 * secret is masked first: one that is cut could not be.
 */
export function layOutRuns(
  runs: readonly ListedRun[],
  now: number,
  layout: Pick<Layout, 'style' | 'width'> & { secrets: SecretMask; hasReasons?: boolean },
): string[] {
  const { style, width, secrets, hasReasons = true } = layout;
  const isNarrow = width > 0 && width < ROOM_FOR_STEPS;
  const cell = (text: string) => sanitize(secrets.mask(text));
  const steps = ({ run }: ListedRun) => stepsOf(run).replace(' of ', '/');
  const columns: Column<ListedRun>[] = [
    // A typed beginning is looked up in the history alone. Errors have the whole ids.
    { header: 'ID', text: ({ id, shortId, past, error }) => cell(past || error ? shortId : id) },
    {
      // Room for FINISHED, so that the table seldom moves.
      header: 'STATUS  ',
      text(one) {
        const status = !one.run && !one.isDone ? 'waiting' : statusOrReason(one);
        return isNarrow ? `${status} ${steps(one)}`.trim() : status;
      },
      paint: ({ run, error }) => (error ? style.doubt : statusPaint(run?.status, style)),
    },
    { header: 'STEPS', text: (one) => (isNarrow ? '' : steps(one)) },
    {
      header: 'NAME',
      text: ({ past, workflow, run }) => {
        const version = run?.versionName ?? past?.version;
        return cell(runName({ ...past, workflowName: workflow, version }, width));
      },
      isCutInMiddle: ({ past }) => past?.label !== undefined,
    },
    {
      header: 'DURATION',
      text: ({ past, run, durationMs }) =>
        durationMs === undefined || !hasEnded(run)
          ? (durationText(run && past) ?? '')
          : formatElapsed(durationMs),
      rank: 1,
    },
    {
      header: 'AGE',
      text: ({ run }) => ageText(run?.createdAt, now) ?? '',
      rank: 2,
    },
  ];
  const reasonOf = ({ run }: ListedRun) => (hasReasons ? cell(failureText(run?.error)) : '');
  return layOutTable(runs, columns, layout, { text: reasonOf }).lines;
}
