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
  /** Whether it is of what a row results in: where that is nothing, its detail is there. */
  isResult?: boolean;
  /** What is said of it where it is left out. */
  note?: string;
  /** Whether both ends of a cell tell it from others, as in a path, unlike in `line 12 (ACME)`. */
  isCutInMiddle?(row: Row): boolean;
}

/** Finds the characters as people see them; to make one takes longer than to use it. */
const SEGMENTER = new Intl.Segmenter();

const GAP = '  ';
/** A column is not made narrower than this. */
const MIN_WIDTH = 4;
/** A header is not cut to less than this for the cells of other columns. */
const MIN_HEADER = 12;
/** The width that suffices for most columns. */
const LEAST = 20;
/** The columns of a state with a reference to another row and the gap before it, but for long names. */
const REFERENCE = 24;
/** The lines of a detail beside its row at most. */
const MAX_BESIDE = 3;

/** The word for the state of a row that has no results, below this header if no row has any. */
interface State<Row> {
  header: string;
  text(row: Row): string;
}

/**
 * Returns a line for the header, and for each row a line, with its `detail` in place of the empty cells at its end, or below. With
 * a `state`, the detail of a row is why it has no results, and is given once in a window. Empty columns are left out; wider than
 * `width`, those of the highest rank are, which `leftOut` has, then cells are cut.
 */
export function layOutTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { style, width: windowWidth }: Pick<Layout, 'style' | 'width'>,
  detail: Pick<Column<Row>, 'text' | 'paint'> & { state?: State<Row> },
) {
  const width = windowWidth || Number.POSITIVE_INFINITY;
  const { state } = detail;
  const filled = columns.filter(({ text, isKept }) => isKept || rows.some((row) => text(row)));
  const sized = filled.map((column) => {
    const cells = Math.max(...rows.map((row) => textWidth(column.text(row))));
    return { ...column, cells, width: Math.max(textWidth(column.header), cells) };
  });
  let shown = fitColumns(sized, width);
  // What follows the last column needs room, too.
  if (state && !shown.some(({ isResult }) => isResult))
    shown = fitColumns(sized, width - Math.min(REFERENCE, width / 3));
  /** The columns before those of the results. */
  const leading = state ? shown.filter(({ isResult }) => !isResult).length : 0;
  const [first] = shown;
  const indent = GAP.length + (state && first && first.width < 10 ? first.width : 0);
  const line = (row?: Row) => {
    const cells = shown.map((column) => {
      const whole = row ? column.text(row) : column.header;
      // Pointers may differ only at their ends.
      const isLabel = row ? column.isCutInMiddle?.(row) && !whole.startsWith('line ') : whole.startsWith('/');
      const text = isLabel ? cutMiddle(whole, column.width) : cutText(whole, column.width);
      const paint = row ? column.paint?.(row) : style.bold;
      const space = ' '.repeat(column.width - textWidth(text));
      const cell = paint?.(text) ?? text;
      return column.isNumber ? space + cell : cell + space;
    });
    if (!row && state && leading === shown.length) cells.push(style.bold(state.header));
    return cells.join(GAP).trimEnd();
  };
  /** The first cells of the rows that had reasons first. */
  const firsts = new Map<string, string>();
  const linesOf = (row: Row): string[] => {
    const reason = detail.text(row);
    const hasValue = shown.some(({ text, isResult }) => isResult && text(row));
    const word = hasValue ? '' : (state?.text(row) ?? '');
    if (!word && (state || !reason)) return [line(row)];
    const name = first?.text(row) ?? '';
    // Beside its reason alone, a name has room.
    const cells = word && leading === 1 && textWidth(name) <= width / 2 ? name : line(row);
    const known = state && windowWidth && firsts.get(reason);
    const reference = `as in ${first?.header.toLowerCase()} ${known}`;
    const shownReason = known && 2 * reference.length < reason.length ? reference : reason;
    if (!known) firsts.set(reason, name);
    // It is no value, though it is in the place of one.
    const shownWord = reason || leading === shown.length ? word : `(${word})`;
    const text = [shownWord, shownReason].filter(Boolean).join(': ');
    const paint = detail.paint?.(row) ?? String;
    const count = Math.max(leading, 1 + shown.findLastIndex(({ text }) => text(row)));
    const used = textWidth(cells);
    const start = (state || count < shown.length ? lineWidth(shown.slice(0, count)) : 0) + GAP.length;
    const begin = state ? Math.max(start, used + GAP.length) : start;
    const beside = wrap(text, width - start, width - begin);
    // A word may be wider than the room. Many short lines take more of a window than some long ones.
    const isBeside =
      (width - begin >= MIN_TEXT_WIDTH || beside.length === 1) &&
      beside.length <= MAX_BESIDE &&
      begin > used &&
      beside.every((one, index) => textWidth(one) <= width - (index === 0 ? begin : start));
    const lines = (isBeside ? beside : wrap(text, width - indent)).map((one, index) => {
      if (!isBeside) return ' '.repeat(indent) + paint(one);
      return (index === 0 ? cells + ' '.repeat(begin - used) : ' '.repeat(start)) + paint(one);
    });
    return isBeside ? lines : [cells, ...lines];
  };
  const leftOut = filled.filter(({ text }) => !shown.some((column) => column.text === text));
  return { lines: [line(), ...rows.flatMap(linesOf)], leftOut };
}

/** A column with its width, and that of its cells. */
type SizedColumn<Row> = Column<Row> & { width: number; cells: number };

/** Leaves out columns by their rank, then narrows the widest ones, until a line has at most `width` columns. */
function fitColumns<Row>(columns: readonly SizedColumn<Row>[], width: number): SizedColumn<Row>[] {
  const kept = new Set<SizedColumn<Row>>();
  const byRank = columns.toSorted(({ rank: one = 0 }, { rank: other = 0 }) => one - other);
  for (const column of byRank) {
    // Others are narrowed less for one that says little more than what is said of it.
    const narrowed = [...kept, column].map((one) => {
      const { width, least = LEAST } = one;
      return { width: Math.min(width, column.note && one !== column ? 2 * least : least) };
    });
    if (!column.rank || lineWidth(narrowed) <= width) kept.add(column);
  }
  const shown = columns.filter((column) => kept.has(column));
  /** Long texts are cut first, then headers, and columns that have no more than suffices last. */
  const orderOf = ({ width, cells, least = LEAST }: SizedColumn<Row>) => {
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
  const segments = SEGMENTER.segment(text);
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
