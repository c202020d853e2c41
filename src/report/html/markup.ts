/** HTML as a value of its own: whatever is put into it is text, unless it is HTML already. */
import { escapeCodePoint } from '../../text/sanitize.js';

/** A piece of HTML; only `markup` makes one. */
export class Markup {
  constructor(readonly html: string) {}
}

type Part = string | number | Markup | readonly Markup[];

/** A template whose values are escaped, but for those that are Markup. Attributes stand in double quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    strings
      .map((string, index) => string + (index < parts.length ? toHtml(parts[index] ?? '') : ''))
      .join(''),
  );
}

function toHtml(part: Part): string {
  if (part instanceof Markup) return part.html;
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string')
    return escapeUnencodable(part).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  return part.map(({ html }) => html).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** JSON for a `<script>`, where no `<` means that nothing can end it; it is the same value. */
export function toScriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** Code points that UTF-8 or HTML does not have become `\uXXXX`. */
export function escapeUnencodable(text: string): string {
  return text.replace(/[\p{Surrogate}\p{Noncharacter_Code_Point}]/gu, (character) =>
    escapeCodePoint(character.codePointAt(0) ?? 0),
  );
}

/** `10,000`. */
export function formatCount(number: number): string {
  return NUMBER_FORMAT.format(number);
}

/** `1 run`, `10,000 runs`. */
export function pluralize(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? '' : 's'}`;
}

const NUMBER_FORMAT = new Intl.NumberFormat('en');
