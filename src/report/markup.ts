/** HTML and XML built from text that was not trusted. */

import { escapeCharacter } from '../text/sanitize.js';

/** A piece of markup: the tag `markup` builds one. */
export class Markup {
  constructor(readonly text: string) {}
}

type Part = string | number | Markup | readonly Markup[];

/** Escapes the values of the template, except Markup. Attributes must be in double quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...parts.map(escapePart)));
}

function escapePart(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(escapePart).join('');
  // XML forbids `]]>` in text (section 2.4).
  return escapeUnencodable(String(part)).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Replaces code points that UTF-8, HTML or XML cannot represent by `\uXXXX`; sanitized text has no control characters. */
export function escapeUnencodable(text: string): string {
  return text.replace(/[\p{Surrogate}\p{Noncharacter_Code_Point}]/gu, escapeCharacter);
}
