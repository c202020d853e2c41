/** Masks secrets in the text that leaves wfr, however the text encodes them. */

/** Shorter values would match ordinary words. */
const MIN_LENGTH = 8;
/** The least of a secret that is masked where the text was cut. */
const MIN_REST = 4;

/** Characters that masking a stream waits for, besides a secret in its longest encoding. */
const BLOCK_SIZE = 64 * 1024;
/** The longest encoding of a character, such as `&amp;#x2F;`. */
const MAX_ENCODING = 12;

/** Escapes of JSON, URLs, HTML and shell-quote.ts. A backslash alone has no meaning of its own: `\/` is `/`, and `\"` is `"`. */
const ESCAPE =
  /\\+u([0-9a-f]{4})|%([0-9a-f]{2})|&#x0*([0-9a-f]{1,6});|&#0*([0-9]{1,7});|&(amp|quot|apos|lt|gt|sol);|'"(['#]|\\\\)"'|\\+/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  sol: '/',
};
/** Text may be escaped several times, such as JSON in a string of JSON. */
const MAX_PASSES = 4;

/** The mark of truncated text, also as its bytes in UTF-8; the half of an escape may be before it. */
const TRUNCATION = /(u[0-9a-f]{0,3}|%[0-9a-f]?|&#?\w{0,7})?(?:…|\u00e2\u0080\u00a6)/gi;

/** A part of a text, and what replaces it. */
interface Match {
  start: number;
  end: number;
  label: string;
}

interface Secret {
  raw: string;
  decoded: string;
  /** Whether decoding drops its end, as for a backslash. */
  losesEnd: boolean;
  label: string;
}

export class SecretMask {
  readonly #secrets = new Map<string, Secret>();
  #longest = 0;

  /** Adds a secret, which is replaced by `label` from now on; ignores one that is too short. */
  add(raw: string | undefined, label: string): void {
    if (raw === undefined || raw.length < MIN_LENGTH) return;
    const decoded = lastPass(raw).text;
    const followed = lastPass(`${raw} `);
    const losesEnd = followed.offsetOf(followed.text.length - 1) < raw.length;
    this.#secrets.set(raw, { raw, decoded, losesEnd, label });
    this.#longest = Math.max(this.#longest, raw.length);
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
    const heldBack = (this.#longest + 1) * MAX_ENCODING;
    let pending = '';
    for (const chunk of chunks) {
      // A character for each byte, as a chunk may end within a character; secrets are ASCII.
      pending += toBuffer(chunk).toString('latin1');
      if (pending.length < BLOCK_SIZE + heldBack) continue;
      const matches = this.#find(pending);
      const end = pending.length - heldBack;
      const cut = matches.find((match) => match.start < end && match.end > end)?.end ?? end;
      const complete = matches.filter((match) => match.end <= cut);
      yield Buffer.from(replace(pending.slice(0, cut), complete), 'latin1');
      pending = pending.slice(cut);
    }
    yield Buffer.from(this.mask(pending), 'latin1');
  }

  /** Returns the secrets in a text, in order and without overlaps. */
  #find(text: string): Match[] {
    const found: Match[] = [];
    const passes = this.#secrets.size === 0 ? [] : decode(text);
    const decoded = passes.at(-1);
    if (decoded === undefined) return found;
    const add = (matches: readonly Match[], { offsetOf, endOf }: Decoded & { endOf?: Decoded['nextOf'] }) => {
      for (const { start, end, label } of matches)
        found.push({ start: offsetOf(start), end: (endOf ?? offsetOf)(end), label });
    };
    for (const secret of this.#secrets.values()) {
      // Also as it is, after each pass: a part of it, or what is around it, may look like an escape.
      for (const pass of passes) add(findAll(pass.text, secret.raw, secret.label), pass);
      if (secret.decoded.length >= MIN_REST)
        add(findAll(decoded.text, secret.decoded, secret.label), {
          ...decoded,
          ...(secret.losesEnd && { endOf: decoded.nextOf }),
        });
      add(findTruncated(decoded.text, secret), decoded);
    }
    return mergeOverlaps(found);
  }
}

function toBuffer(chunk: string | Uint8Array): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk)
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
}

function findAll(text: string, secret: string, label: string): Match[] {
  const found: Match[] = [];
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1)) {
    found.push({ start, end: start + secret.length, label });
  }
  return found;
}

/** Returns where the text was cut within a secret, so that only its beginning is left. */
function findTruncated(text: string, { decoded, label }: Secret): Match[] {
  const found: Match[] = [];
  const beginning = decoded.slice(0, MIN_REST);
  for (const { index, 1: half = '' } of text.matchAll(TRUNCATION)) {
    // What looks like the half of an escape may be a part of the secret.
    for (const end of new Set([index, index + half.length])) {
      const first = Math.max(0, end - decoded.length);
      const rest = text.slice(first, end);
      for (const { start } of findAll(rest, beginning, label)) {
        if (decoded.startsWith(rest.slice(start))) found.push({ start: first + start, end, label });
      }
    }
  }
  return found;
}

function mergeOverlaps(matches: Match[]): Match[] {
  const merged: Match[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last === undefined || match.start >= last.end) merged.push({ ...match });
    else last.end = Math.max(last.end, match.end);
  }
  return merged;
}

function replace(text: string, matches: readonly Match[]): string {
  let replaced = '';
  let position = 0;
  for (const { start, end, label } of matches) {
    replaced += text.slice(position, start) + label;
    position = end;
  }
  return replaced + text.slice(position);
}

/** A text without escapes, and the offset in the original of what each of its characters was. */
interface Decoded {
  text: string;
  offsetOf: (index: number) => number;
  /** As offsetOf, but without what was dropped before the character. */
  nextOf: (index: number) => number;
}

function lastPass(text: string): Decoded {
  const passes = decode(text);
  return passes[passes.length - 1] as Decoded;
}

/** Returns the text as it is, and after each pass of decoding that changed it. */
function decode(original: string): Decoded[] {
  let decoded: Decoded = { text: original, offsetOf: (index) => index, nextOf: (index) => index };
  const passes = [decoded];
  while (passes.length <= MAX_PASSES && /[\\%&']/.test(decoded.text)) {
    const next = decodeOnce(decoded);
    if (next.text === decoded.text) break;
    decoded = next;
    passes.push(decoded);
  }
  return passes;
}

function decodeOnce({ text, offsetOf, nextOf }: Decoded): Decoded {
  const offsets: number[] = [];
  const nexts: number[] = [];
  let decoded = '';
  let position = 0;
  let start = 0;
  const copy = (end: number) => {
    decoded += text.slice(position, end);
    // The first character includes the backslashes before it.
    for (; position < end; position++, start = position) {
      offsets.push(offsetOf(start));
      nexts.push(nextOf(position));
    }
  };
  for (const match of text.matchAll(ESCAPE)) {
    copy(match.index);
    const characters = decodeEscape(match);
    for (let unit = 0; unit < characters.length; unit++) {
      offsets.push(offsetOf(start));
      nexts.push(nextOf(match.index));
    }
    decoded += characters;
    position = match.index + match[0].length;
    if (characters !== '') start = position;
  }
  copy(text.length);
  offsets.push(offsetOf(text.length));
  nexts.push(nextOf(text.length));
  return { text: decoded, offsetOf: (index) => offsets[index] ?? 0, nextOf: (index) => nexts[index] ?? 0 };
}

function decodeEscape([all, json, percent, hex, decimal, entity, shell]: RegExpMatchArray): string {
  if (shell !== undefined) return shell.charAt(0);
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? all;
  const digits = json ?? percent ?? hex;
  const codePoint = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
  if (Number.isNaN(codePoint)) return '';
  return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : all;
}
