/** Masks secrets in the text that leaves wfr: as they are, and as JSON, URLs, HTML and shells escape them. */

/** Shorter values would match ordinary words. */
const MIN_LENGTH = 8;
/** The least of a secret that is masked where the text was cut. */
const MIN_REST = 4;
/** The fewest characters that are masked at once, besides a secret in its longest encoding. */
const BLOCK_SIZE = 64 * 1024;
/** The longest encoding of a character, such as `&#x0002F;`. */
const MAX_ENCODING = 12;

/** Words, numbers and times, as in wfr's own text and data: masking them would make it wrong. */
const ORDINARY = /^([A-Za-z]{1,14}(?: (?=.)|$))+$|^\d{1,14}$|^\d{4}-\d\d-\d\d(T[\d:.]*Z?)?$/;

/** Text may be escaped several times, such as JSON in HTML. */
const MAX_PASSES = 4;

/** The mark of text that was cut. */
const CUT = '…';
/**
 * Escapes of JSON, URLs, HTML and shells. A backslash alone has no meaning of its own: `\/` is `/`, and `\"` is `"`. Before
 * the mark of cut text may be half an escape.
 */
const ESCAPE =
  /(?:\\+u[0-9a-f]{0,3}|%[0-9a-f]?|&#?\w{0,7})?…|\\+(?:u00([0-9a-f]{2}))?|%([0-9a-f]{2})|&#x0{0,4}([0-9a-f]{2});|&#0{0,4}(\d{2,3});|&(amp|quot|apos|lt|gt|sol);|'(?:"(['#]|\\\\)"|\\*')'/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  sol: '/',
};

/** A part of a text, and what replaces it. */
interface Match {
  start: number;
  end: number;
  label: string;
}

interface Secret {
  label: string;
  /** What is searched for in a text without escapes. */
  patterns: readonly string[];
  /** Whether it may also be no secret: see addPossible. */
  isPossible: boolean;
}

export type SecretMask = ReturnType<typeof createSecretMask>;

/** Returns a mask that knows no secret yet. */
export function createSecretMask() {
  const secrets = new Map<string, Secret>();
  return {
    add,
    mask,

    /** Adds what may be a secret or not, such as the value of a header. Words and numbers are not. */
    addPossible(raw: string | undefined): void {
      if (raw !== undefined && !ORDINARY.test(raw) && !secrets.has(raw)) add(raw, '(hidden)', true);
    },

    /** Keeps an id, or a part of a command line, as it is: what may be a secret and is part of it is none. */
    keep(text: string): void {
      for (const [raw, { isPossible }] of secrets) if (isPossible && text.includes(raw)) secrets.delete(raw);
    },

    /** Masks a stream of text (UTF-8), whose chunks may divide a secret. */
    *maskChunks(chunks: Iterable<string | Uint8Array>): Generator<string | Uint8Array, void, void> {
      if (secrets.size === 0) {
        yield* chunks;
        return;
      }
      const longest = Math.max(...[...secrets.keys()].map(({ length }) => length));
      const heldBack = (longest + 1) * MAX_ENCODING;
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      let pending = '';
      for (const chunk of chunks) {
        pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
        if (pending.length < BLOCK_SIZE + heldBack) continue;
        let cut = pending.length - heldBack;
        if (/[\udc00-\udfff]/.test(pending.charAt(cut))) cut++;
        const matches = find(pending);
        for (const { start, end } of matches) if (start < cut) cut = Math.max(cut, end);
        yield replace(
          pending.slice(0, cut),
          matches.filter(({ start }) => start < cut),
        );
        pending = pending.slice(cut);
      }
      yield mask(pending + decoder.decode());
    },
  };

  /** Adds a secret, which is replaced by `label` from now on; ignores one that is too short. */
  function add(raw: string | undefined, label: string, isPossible = false): void {
    if (raw === undefined || raw.length < MIN_LENGTH) return;
    // Parts of a secret may look like escapes, which a text may or may not have escaped in turn.
    const texts = new Set([...viewsOf(raw).map(({ text }) => text), raw.replaceAll('\\', '')]);
    const patterns = [...texts].filter(({ length }) => length >= MIN_REST);
    secrets.set(raw, { label, patterns, isPossible });
  }

  /** Returns the text with every secret replaced. */
  function mask(text: string): string {
    return replace(text, find(text));
  }

  /** Returns the secrets in a text, in order. */
  function find(text: string): Match[] {
    if (secrets.size === 0) return [];
    const found: Match[] = [];
    for (const view of viewsOf(text))
      for (const [raw, { label, patterns }] of secrets)
        for (const pattern of patterns)
          for (const [from, to] of search(view.text, pattern)) {
            const start = view.starts?.[from] ?? from;
            let end = view.ends?.[to - 1] ?? to;
            while (raw.endsWith('\\') && text[end] === '\\') end++;
            found.push({ start, end, label });
          }
    return found.sort((a, b) => a.start - b.start || b.end - a.end);
  }
}

/** Yields where a pattern is, and where the text was cut within it, so that only its beginning is left. */
function* search(text: string, pattern: string): Generator<[from: number, to: number]> {
  const beginning = pattern.slice(0, MIN_REST);
  let next = 0;
  for (let from = text.indexOf(beginning); from >= 0; from = text.indexOf(beginning, next)) {
    let length = MIN_REST;
    while (length < pattern.length && text[from + length] === pattern[length]) length++;
    const isFound = length === pattern.length || text[from + length] === CUT;
    next = isFound ? from + length : from + 1;
    if (isFound) yield [from, next];
  }
}

/** Replaces matches, which are in order and may overlap. */
function replace(text: string, matches: readonly Match[]): string {
  let replaced = '';
  let position = 0;
  for (const { start, end, label } of matches) {
    if (start >= position) replaced += text.slice(position, start) + label;
    position = Math.max(position, end);
  }
  return replaced + text.slice(position);
}

/** A text without some of its escapes, and where each of its characters is in the original; not given if at its own index. */
interface View {
  text: string;
  starts?: Uint32Array;
  ends?: Uint32Array;
}

/** Returns the text as it is, and after each pass that took escapes away: a report escapes text that is escaped already. */
function viewsOf(text: string): View[] {
  let view: View = { text };
  const views = [view];
  while (views.length <= MAX_PASSES && /[\\%&'…]/.test(view.text)) {
    const next = decode(view);
    if (next.text === view.text) break;
    views.push(next);
    view = next;
  }
  return views;
}

/** Takes one level of escapes away. */
function decode({ text, starts: outerStarts, ends: outerEnds }: View): View {
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let decoded = '';
  let position = 0;
  /** Where backslashes begin that are left out, with the character after them. */
  let skipped: number | undefined;
  const locate = (at: number, from: number, to: number) => {
    starts[at] = skipped ?? outerStarts?.[from] ?? from;
    ends[at] = outerEnds?.[to - 1] ?? to;
    skipped = undefined;
  };
  const copy = (end: number) => {
    for (let from = position; from < end; from++) locate(decoded.length + from - position, from, from + 1);
    decoded += text.slice(position, end);
  };
  for (const match of text.matchAll(ESCAPE)) {
    copy(match.index);
    position = match.index + match[0].length;
    const character = decodeEscape(match);
    if (character === '') skipped ??= outerStarts?.[match.index] ?? match.index;
    else locate(decoded.length, match.index, position);
    decoded += character;
  }
  copy(text.length);
  return { text: decoded, starts, ends };
}

/** Returns a character; none for backslashes that escape. */
function decodeEscape([all, json, percent, hex, decimal, entity, shell]: RegExpMatchArray): string {
  if (all.endsWith(CUT)) return CUT;
  const digits = json ?? percent ?? hex;
  const code = digits === undefined ? decimal : `0x${digits}`;
  if (code !== undefined) return String.fromCharCode(Number(code));
  if (all.startsWith("'")) return (shell ?? "'").charAt(0);
  return ENTITIES[entity?.toLowerCase() ?? ''] ?? '';
}
