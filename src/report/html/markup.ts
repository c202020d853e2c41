/** A template tag for HTML that escapes every value, unless it is Markup itself. */
import { escapeCodePoint } from '../../text/sanitize.js';

/** A piece of HTML. Use the tag `markup` to build one from untrusted text. */
export class Markup {
  constructor(readonly html: string) {}
}

type Part = string | number | Markup | readonly Markup[];

/** Escapes the values of the template, except Markup. Attributes must be in double quotes. */
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

/** Serializes to JSON for a `<script>` element: without `<`, no text can close it. */
export function toScriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** Replaces code points that UTF-8 or HTML cannot represent by `\uXXXX`. */
export function escapeUnencodable(text: string): string {
  return text.replace(/[\p{Surrogate}\p{Noncharacter_Code_Point}]/gu, (character) =>
    escapeCodePoint(character.codePointAt(0) ?? 0),
  );
}
