/**
 * Scans JSON text token by token without building values, so that numbers, key order and duplicates are preserved, and
 * deep nesting takes one byte per level instead of a stack frame.
 */

const REASONS = {
  'unexpected-end': 'not JSON: unexpected end',
  'unterminated-string': 'not JSON: unterminated string',
  'control-character': 'not JSON: control character in a string',
  'invalid-escape': 'not JSON: invalid escape in a string',
  'invalid-number': 'not JSON: invalid number',
  'unpaired-surrogate': 'unpaired surrogate in a string',
  'trailing-text': 'not JSON: text after the value',
  'missing-comma': 'not JSON: expected a comma or the end of the list',
  'unexpected-text': 'not JSON',
} as const;

export type JsonSyntaxCode = keyof typeof REASONS;

/** The text is not JSON (RFC 8259) at the byte `offset`. */
export class JsonSyntaxError extends Error {
  constructor(
    readonly code: JsonSyntaxCode,
    readonly offset: number,
    readonly reason: string = REASONS[code],
  ) {
    super(`${reason} at byte ${offset + 1}`);
  }
}

/** Punctuation stands for itself; `key` is a string before a colon. */
export type JsonToken = '{' | '}' | '[' | ']' | ':' | ',' | 'key' | 'string' | 'number' | 'literal';

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'end';

const EXPECTED: Readonly<Record<Exclude<Expected, ', or end' | 'end'>, string>> = {
  value: 'a value',
  'value or ]': 'a value or ]',
  key: 'a name in double quotes',
  'key or }': 'a name in double quotes, or }',
  ':': 'a colon',
};

const LITERALS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isHex = (byte: number | undefined) =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

export class JsonScanner {
  /** The token that `next` found: the bytes `[start, end)`. */
  token: JsonToken = 'literal';
  start = 0;
  end = 0;
  /** The number of objects and arrays that are open after the token. */
  depth = 0;

  readonly #bytes: Uint8Array;
  #position = 0;
  #expected: Expected = 'value';
  /** One byte per level: 1 for an object, 0 for an array. */
  #objects = new Uint8Array(64);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Moves to the next token. Returns false at the end of a complete text. Throws JsonSyntaxError. */
  next(): boolean {
    this.#skipSpace();
    this.start = this.#position;
    const byte = this.#bytes[this.#position];
    if (byte === undefined) {
      if (this.#expected === 'end') return false;
      throw new JsonSyntaxError('unexpected-end', this.#position);
    }
    this.#read(byte);
    this.end = this.#position;
    return true;
  }

  #read(byte: number): void {
    switch (byte) {
      case 0x7b:
        return this.#open('{');
      case 0x5b:
        return this.#open('[');
      case 0x7d:
        return this.#close('}');
      case 0x5d:
        return this.#close(']');
      case 0x3a:
        if (this.#expected !== ':') throw this.#unexpected();
        this.#expected = 'value';
        return this.#readPunctuation(':');
      case 0x2c:
        if (this.#expected !== ', or end') throw this.#unexpected();
        this.#expected = this.#objects[this.depth - 1] ? 'key' : 'value';
        return this.#readPunctuation(',');
      case 0x22:
        return this.#readString();
      default:
        return this.#readScalar(byte);
    }
  }

  #open(token: '{' | '['): void {
    if (!this.#expectsValue()) throw this.#unexpected();
    if (this.depth === this.#objects.length) {
      const grown = new Uint8Array(this.depth * 2);
      grown.set(this.#objects);
      this.#objects = grown;
    }
    this.#objects[this.depth++] = token === '{' ? 1 : 0;
    this.#expected = token === '{' ? 'key or }' : 'value or ]';
    this.#readPunctuation(token);
  }

  #close(token: '}' | ']'): void {
    const isEmpty = this.#expected === (token === '}' ? 'key or }' : 'value or ]');
    const matches = this.depth > 0 && this.#objects[this.depth - 1] === (token === '}' ? 1 : 0);
    if (!matches || !(isEmpty || this.#expected === ', or end')) throw this.#unexpected();
    this.depth--;
    this.#endValue();
    this.#readPunctuation(token);
  }

  #readPunctuation(token: JsonToken): void {
    this.token = token;
    this.#position++;
  }

  #readString(): void {
    const isKey = this.#expected === 'key' || this.#expected === 'key or }';
    if (!isKey && !this.#expectsValue()) throw this.#unexpected();
    this.#skipString();
    this.token = isKey ? 'key' : 'string';
    if (isKey) this.#expected = ':';
    else this.#endValue();
  }

  #skipString(): void {
    const bytes = this.#bytes;
    let offset = this.#position + 1;
    for (;;) {
      const byte = bytes[offset];
      if (byte === undefined) throw new JsonSyntaxError('unterminated-string', this.#position);
      if (byte === 0x22) break;
      if (byte < 0x20) throw new JsonSyntaxError('control-character', offset);
      offset = byte === 0x5c ? this.#skipEscape(offset) : offset + 1;
    }
    this.#position = offset + 1;
  }

  /** Returns the offset after an escape. */
  #skipEscape(offset: number): number {
    const bytes = this.#bytes;
    const letter = bytes[offset + 1];
    if (letter === 0x75) {
      for (let digit = offset + 2; digit < offset + 6; digit++) {
        if (!isHex(bytes[digit])) throw new JsonSyntaxError('invalid-escape', offset);
      }
      return offset + 6;
    }
    if (letter === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(letter))) {
      throw new JsonSyntaxError('invalid-escape', offset);
    }
    return offset + 2;
  }

  #readScalar(byte: number): void {
    if (!this.#expectsValue()) throw this.#unexpected();
    if (byte === 0x2d || isDigit(byte)) {
      this.#skipNumber();
      this.token = 'number';
    } else {
      const word = LITERALS.find((literal) => literal.every((b, i) => b === this.#bytes[this.#position + i]));
      if (word === undefined) throw this.#unexpected();
      this.#position += word.length;
      this.token = 'literal';
    }
    this.#endValue();
  }

  #skipNumber(): void {
    if (this.#bytes[this.#position] === 0x2d) this.#position++;
    if (this.#bytes[this.#position] === 0x30) this.#position++;
    else this.#skipDigits();
    if (this.#bytes[this.#position] === 0x2e) {
      this.#position++;
      this.#skipDigits();
    }
    if (((this.#bytes[this.#position] ?? 0) | 0x20) === 0x65) {
      this.#position++;
      const sign = this.#bytes[this.#position];
      if (sign === 0x2b || sign === 0x2d) this.#position++;
      this.#skipDigits();
    }
  }

  #skipDigits(): void {
    if (!isDigit(this.#bytes[this.#position])) {
      throw new JsonSyntaxError('invalid-number', this.#position);
    }
    while (isDigit(this.#bytes[this.#position])) this.#position++;
  }

  #skipSpace(): void {
    for (;;) {
      const byte = this.#bytes[this.#position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#position++;
    }
  }

  #expectsValue(): boolean {
    return this.#expected === 'value' || this.#expected === 'value or ]';
  }

  #endValue(): void {
    this.#expected = this.depth === 0 ? 'end' : ', or end';
  }

  #unexpected(): JsonSyntaxError {
    if (this.#expected === 'end') return new JsonSyntaxError('trailing-text', this.#position);
    if (this.#expected === ', or end') return new JsonSyntaxError('missing-comma', this.#position);
    const reason = `not JSON: expected ${EXPECTED[this.#expected]}`;
    return new JsonSyntaxError('unexpected-text', this.#position, reason);
  }
}
