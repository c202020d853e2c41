/**
 * Masks secrets in the text that leaves wfr: as they are, and as JSON, URLs, HTML and shells escape them. Takes time in
 * proportion to the text, whatever it contains.
 */

/** Shorter values would match ordinary words. */
const MIN_LENGTH = 8;
/** The least of a secret that is masked where the text was cut. */
const MIN_REST = 4;
/** Characters that are masked at once, besides a secret in its longest encoding. */
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

export class SecretMask {
  readonly #secrets = new Map<string, Secret>();

  /** Adds a secret, which is replaced by `label` from now on; ignores one that is too short. */
  add(raw: string | undefined, label: string, isPossible = false): void {
    if (raw === undefined || raw.length < MIN_LENGTH) return;
    // Parts of a secret may look like escapes, which a text may or may not have escaped in turn.
    const texts = new Set([...viewsOf(raw).map(({ text }) => text), raw.replaceAll('\\', '')]);
    const patterns = [...texts].filter(({ length }) => length >= MIN_REST);
    this.#secrets.set(raw, { label, patterns, isPossible });
  }

  /** Adds what may be a secret or not, such as the value of a header. Words and numbers are not. */
  addPossible(raw: string | undefined): void {
    if (raw !== undefined && !ORDINARY.test(raw) && !this.#secrets.has(raw)) this.add(raw, '(hidden)', true);
  }

  /** Keeps an id, or a part of a command line, as it is: what may be a secret and is part of it is none. */
  keep(text: string): void {
    for (const [raw, { isPossible }] of this.#secrets)
      if (isPossible && text.includes(raw)) this.#secrets.delete(raw);
  }

  /** Returns the text with every secret replaced. */
  mask(text: string): string {
    return replace(text, this.#find(text));
  }

  /** Masks a stream of text (UTF-8), whose chunks may divide a secret. */
  *maskChunks(chunks: Iterable<string | Uint8Array>): Generator<string | Uint8Array, void, void> {
    if (this.#secrets.size === 0) {
      yield* chunks;
      return;
    }
    const longest = Math.max(...[...this.#secrets.keys()].map(({ length }) => length));
    const heldBack = (longest + 1) * MAX_ENCODING;
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let pending = '';
    for (const block of divide(chunks)) {
      pending += typeof block === 'string' ? block : decoder.decode(block, { stream: true });
      if (pending.length < BLOCK_SIZE + heldBack) continue;
      const matches = this.#find(pending);
      let cut = pending.length - heldBack;
      if (/[\udc00-\udfff]/.test(pending.charAt(cut))) cut++;
      const complete: Match[] = [];
      for (const match of matches) {
        if (match.start >= cut) break;
        complete.push(match);
        cut = Math.max(cut, match.end);
      }
      yield replace(pending.slice(0, cut), complete);
      pending = pending.slice(cut);
    }
    yield this.mask(pending + decoder.decode());
  }

  /** Returns the secrets in a text, in order. */
  #find(text: string): Match[] {
    if (this.#secrets.size === 0) return [];
    const found: Match[] = [];
    for (const view of viewsOf(text))
      for (const [raw, { label, patterns }] of this.#secrets) {
        // A backslash at the end of a secret was left out with its escape.
        const endOf = raw.endsWith('\\') ? view.ownStartOf : view.startOf;
        for (const pattern of patterns)
          for (const [from, to] of search(view.text, pattern))
            found.push({ start: view.startOf(from), end: endOf(to), label });
      }
    return found.sort((a, b) => a.start - b.start || b.end - a.end);
  }
}

function* divide(chunks: Iterable<string | Uint8Array>): Generator<string | Uint8Array, void, void> {
  for (const chunk of chunks)
    for (let start = 0; start < chunk.length; start += BLOCK_SIZE)
      yield chunk.slice(start, start + BLOCK_SIZE);
}

/** For each beginning of a pattern, the length of the longest other one that it ends with (Knuth, Morris and Pratt). */
function overlaps(pattern: string): number[] {
  const lengths = [0];
  for (let end = 1, length = 0; end < pattern.length; end++) {
    while (length > 0 && pattern[length] !== pattern[end]) length = lengths[length - 1] ?? 0;
    if (pattern[length] === pattern[end]) length++;
    lengths.push(length);
  }
  return lengths;
}

/** Yields where a pattern is, and where the text was cut within it, so that only its beginning is left. */
function* search(text: string, pattern: string): Generator<[from: number, to: number]> {
  const shorter = overlaps(pattern);
  for (let end = 0, length = 0; end < text.length; end++) {
    const character = text[end];
    if (character === CUT && length >= MIN_REST) yield [end - length, end];
    while (length > 0 && pattern[length] !== character) length = shorter[length - 1] ?? 0;
    if (pattern[length] === character) length++;
    if (length < pattern.length) continue;
    yield [end + 1 - length, end + 1];
    length = shorter[length - 1] ?? 0;
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

/** A text without some of its escapes, and where its characters are in the original: with what was left out before, and without. */
interface View {
  text: string;
  startOf: (index: number) => number;
  ownStartOf: (index: number) => number;
}

/** Returns the text as it is, and after each pass that took escapes away: a report escapes text that is escaped already. */
function viewsOf(text: string): View[] {
  const views: View[] = [{ text, startOf: (index) => index, ownStartOf: (index) => index }];
  for (let view = views[0]; view !== undefined && views.length <= MAX_PASSES; ) {
    const next = /[\\%&'…]/.test(view.text) ? decode(view) : view;
    if (next.text === view.text) break;
    views.push(next);
    view = next;
  }
  return views;
}

/** A stretch of a decoded text that is the same in the original, or one character that was an escape there. */
interface Stretch {
  at: number;
  /** Where its first character is in the original: with what was left out before it, and without. */
  start: number;
  own: number;
}

function decode({ text, startOf, ownStartOf }: View): View {
  const stretches: Stretch[] = [];
  let decoded = '';
  /** The end of the last character, and of what was read. */
  let end = 0;
  let position = 0;
  const add = (characters: string, own: number) => {
    stretches.push({ at: decoded.length, start: end, own });
    decoded += characters;
    end = position;
  };
  for (const match of text.matchAll(ESCAPE)) {
    const own = position;
    position = match.index;
    if (position > own) add(text.slice(own, position), own);
    position += match[0].length;
    const character = decodeEscape(match);
    if (character !== '') add(character, match.index);
  }
  const own = position;
  position = text.length;
  add(text.slice(own), own);
  return {
    text: decoded,
    startOf(index) {
      const { at, start, own } = stretchAt(stretches, index);
      return startOf(index === at ? start : own + index - at);
    },
    ownStartOf(index) {
      const { at, own } = stretchAt(stretches, index);
      return ownStartOf(own + index - at);
    },
  };
}

/** Returns the last stretch that begins at or before an index, of which there always is one. */
function stretchAt(stretches: readonly Stretch[], index: number): Stretch {
  let low = 0;
  for (let high = stretches.length; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if ((stretches[middle]?.at ?? 0) <= index) low = middle;
    else high = middle;
  }
  return stretches[low] ?? { at: 0, start: 0, own: 0 };
}

/** Returns a character; none for backslashes that escape. */
function decodeEscape([all, json, percent, hex, decimal, entity, shell]: RegExpMatchArray): string {
  if (all.endsWith(CUT)) return CUT;
  const digits = json ?? percent ?? hex;
  if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
  if (decimal !== undefined) return String.fromCharCode(Number(decimal));
  if (all.startsWith("'")) return (shell ?? "'").charAt(0);
  return ENTITIES[entity?.toLowerCase() ?? ''] ?? '';
}
