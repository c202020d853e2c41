/** The source of a setting's value: a flag, a variable, a line of the config file, or the default. */

export type SettingSource =
  | { kind: 'default' }
  /** `name` is the flag or the variable, such as --base-url or WFR_BASE_URL. */
  | { kind: 'flag' | 'variable'; name: string }
  /** A line of the config file, outside the profiles. */
  | { kind: 'file'; setting: string; path: string; line: number }
  | { kind: 'profile'; setting: string; profile: string; path: string; line: number };

/** Formats a source for messages and `wfr config show`, such as "profile production in PATH:7". */
export function formatSource(source: SettingSource): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'flag':
    case 'variable':
      return source.name;
    case 'file':
      return `${source.setting} in ${source.path}:${source.line}`;
    case 'profile':
      return `profile ${source.profile} in ${source.path}:${source.line}`;
  }
}
