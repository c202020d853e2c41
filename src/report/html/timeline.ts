/** The page's timeline: a bar for each run from its start to its end, in parallel lanes while runs overlap. */
import { TONES, type Tone } from '../../outcome/outcome.js';
import { formatCount, type Markup, markup, pluralize } from './markup.js';
import type { Entry } from './outcome.js';
import { chooseStep, renderAxis } from './scale.js';

/** Pixels: of the chart, and of one lane at most. */
const MAX_HEIGHT = 320;
const MAX_PITCH = 14;
/** Width in SVG units; the browser scales it to the page. */
const WIDTH = 2_000;
/** SVG units: the narrowest visible bar, and the gap after a bar. */
const MIN_BAR = 3;
const GAP = 2;

interface Bar {
  tone: Tone;
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  lane: number;
}

/** Renders the section; empty if no run has a known duration. */
export function renderTimeline(entries: readonly Entry[]): Markup {
  const bars = layOutBars(entries);
  const begin = bars[0]?.from ?? 0;
  const span = bars.reduce((last, { to }) => Math.max(last, to), begin) - begin;
  if (span === 0) return markup``;
  const step = chooseStep(span, 8);
  const divisions = Math.ceil(span / step);
  const lanes = bars.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  const pitch = Math.max(1, Math.min(MAX_PITCH, Math.floor(MAX_HEIGHT / lanes)));
  const height = Math.min(MAX_HEIGHT, lanes * pitch);
  const paths = renderPaths(bars, { begin, span: divisions * step, lanes, pitch, height });
  const label = `${pluralize(bars.length, 'run')} over time; the table below has the start and the duration of each`;
  return markup`
<section aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
<svg class="chart" role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${height}" height="${height}" preserveAspectRatio="none">
${renderGrid(divisions, height)}${paths}</svg>
${renderAxis(divisions, step)}
<p class="note">${describeChart(bars.length, entries.length, lanes)}</p>
</section>`;
}

/** Assigns each run, in order of start, to a lane that is free until its end. */
function layOutBars(entries: readonly Entry[]): Bar[] {
  const bars = entries
    .flatMap(({ started, duration, outcome }) =>
      // At least 1 ms, so that a run without duration occupies a lane.
      started === undefined
        ? []
        : [{ tone: outcome.tone, from: started, to: started + Math.max(1, duration), lane: 0 }],
    )
    .sort((a, b) => a.from - b.from);
  const ending = bars.toSorted((a, b) => a.to - b.to);
  const free: number[] = [];
  let lanes = 0;
  let ended = 0;
  for (const bar of bars) {
    // A run that ended before has begun before, so its lane is assigned.
    for (; (ending[ended]?.to ?? Number.POSITIVE_INFINITY) <= bar.from; ended++)
      free.push(ending[ended]?.lane ?? 0);
    bar.lane = free.pop() ?? lanes++;
  }
  return bars;
}

function renderGrid(divisions: number, height: number): Markup {
  const lines = Array.from(
    { length: divisions + 1 },
    (_, index) => `M${(index * WIDTH) / divisions} 0v${height}`,
  );
  return markup`<path class="grid" d="${lines.join('')}"/>\n`;
}

interface Frame {
  /** Milliseconds since 1970 at the left edge; milliseconds of the width. */
  begin: number;
  span: number;
  lanes: number;
  /** Pixels: of a lane, and of the chart. */
  pitch: number;
  height: number;
}

/** Returns one path for each tone, failures on top. Adjacent bars in one row of pixels are merged. */
function renderPaths(bars: readonly Bar[], { begin, span, lanes, pitch, height }: Frame): Markup[] {
  const thick = pitch < 4 ? pitch : pitch - Math.ceil(pitch / 5);
  const xOf = (time: number) => Math.round(((time - begin) / span) * WIDTH);
  return TONES.flatMap((tone) => {
    const path: string[] = [];
    const last = new Map<number, { from: number; to: number }>();
    for (const bar of bars) {
      if (bar.tone !== tone) continue;
      const y = Math.min(Math.floor((bar.lane * height) / lanes), height - thick);
      const from = Math.min(xOf(bar.from), WIDTH - MIN_BAR);
      const to = Math.max(xOf(bar.to) - GAP, from + MIN_BAR);
      const before = last.get(y);
      if (before !== undefined && from <= before.to) {
        before.to = Math.max(before.to, to);
        continue;
      }
      if (before !== undefined) path.push(formatRectangle(before, y, thick));
      last.set(y, { from, to });
    }
    for (const [y, rest] of last) path.push(formatRectangle(rest, y, thick));
    return path.length === 0 ? [] : [markup`<path class="${tone}" d="${path.join('')}"/>\n`];
  });
}

function formatRectangle({ from, to }: { from: number; to: number }, y: number, height: number): string {
  return `M${from} ${y}H${to}v${height}H${from}z`;
}

function describeChart(shown: number, all: number, lanes: number): string {
  const missing = all - shown;
  const together = lanes === 1 ? 'runs did not overlap' : `at most ${formatCount(lanes)} in parallel`;
  const sharing = shown > MAX_HEIGHT ? '; neighboring bars may be merged' : '';
  const left =
    missing === 0
      ? ''
      : ` ${pluralize(missing, 'run')} without a known start ${missing === 1 ? 'is' : 'are'} not shown.`;
  return `A bar for each run, from its start to its end; ${together}${sharing}.${left}`;
}
