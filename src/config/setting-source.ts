/** Where the value of a setting comes from, as data, and its name in messages. */

export type SettingSource =
  | { kind: 'default' }
  /** `name` is the flag or the variable, such as --base-url or WFR_BASE_URL. */
  | { kind: 'flag' | 'variable'; name: string }
  /** A line of the config file, outside the profiles. */
  | { kind: 'file'; setting: string; path: string; line: number }
  | { kind: 'profile'; setting: string; profile: string; path: string; line: number };

/** Returns what messages and `wfr config show` call a source, such as "profile production in PATH:7". */
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
