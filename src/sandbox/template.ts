/** Fills the placeholders of a workflow's output template with the inputs of a run. */
import type { InputValues } from './received.js';

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** A string that is one placeholder. */
const ONLY_PLACEHOLDER = /^\{\{([^{}]+)\}\}$/;

/**
 * Replaces `{{name}}` and `{{name.member}}` in every string of a JSON value. A string that is one placeholder becomes
 * the value itself, of any type; an unknown placeholder is left unchanged.
 */
export function fillTemplate(template: unknown, values: InputValues): unknown {
  if (typeof template === 'string') return fillText(template, values);
  if (Array.isArray(template)) return template.map((entry) => fillTemplate(entry, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, value]) => [key, fillTemplate(value, values)]),
  );
}

/** Returns the names of the placeholders that are a whole string. */
export function wholePlaceholders(template: unknown): Set<string> {
  if (typeof template === 'string') return new Set(ONLY_PLACEHOLDER.exec(template)?.slice(1) ?? []);
  if (typeof template !== 'object' || template === null) return new Set();
  return new Set(Object.values(template).flatMap((value) => [...wholePlaceholders(value)]));
}

/** Returns the names of the placeholders in a text. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
}

function fillText(text: string, values: InputValues): unknown {
  const [, only] = ONLY_PLACEHOLDER.exec(text) ?? [];
  if (only !== undefined) {
    const value = findValue(only, values);
    return value === undefined ? text : value;
  }
  return text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = findValue(name, values);
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** Returns the value that a placeholder stands for; undefined for an unknown one. */
export function findValue(path: string, values: InputValues): unknown {
  if (values.has(path)) return values.get(path);
  const dot = path.lastIndexOf('.');
  const owner = dot < 0 ? undefined : values.get(path.slice(0, dot));
  // An optional parameter without an input has no members either.
  if (owner === null) return null;
  const member = path.slice(dot + 1);
  if (typeof owner !== 'object' || owner === null || !Object.hasOwn(owner, member)) return undefined;
  return (owner as Record<string, unknown>)[member];
}
