/** The values that the help of a flag lists. */

/** Returns the choices of a flag whose help is like `format of stdout: text, json or id (default: text)`. */
export function choicesOf(help: string): string[] | undefined {
  const [, list] = /: ((?:[\w-]+, )+[\w-]+ or [\w-]+)(?= \(|;|$)/.exec(help) ?? [];
  return list?.split(/, | or /);
}
