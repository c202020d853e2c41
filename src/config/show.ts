/** The effective settings and where each comes from, for `wfr config show`. Reads no token and runs no command. */
import { describeParameter, type Parameter } from '../parameters/declaration.js';
import type { Context } from '../platform/context.js';
import { redactUrl } from './base-url.js';
import { formatSource, type Profile } from './profile.js';
import {
  isOn,
  type RawSetting,
  resolveSetting,
  type SettingFlags,
  type SettingName,
} from './resolve-setting.js';
import { type ProfileSettings, SETTINGS } from './settings-table.js';
import {
  findTokenSource,
  formatTokenCommand,
  formatTokenSource,
  type TokenFlags,
  type TokenLocation,
} from './token-source.js';
import { namedWorkflows } from './workflow.js';

export interface EffectiveSetting {
  name: string;
  /** Undefined if it is not set. Contains no secret. */
  value: string | undefined;
  /** Such as `--base-url`, `WFR_BASE_URL`, `profile x in path:line`, `default`. */
  source: string;
  /** The values that this one overrides. */
  overridden?: readonly { value: string; source: string }[];
}

/** Resolves the effective settings, in the order of the table. */
export function resolveEffectiveSettings(
  flags: SettingFlags & TokenFlags,
  profile: Profile | undefined,
  context: Context,
): EffectiveSetting[] {
  const source = formatSource(profile?.chosenBy ?? { kind: 'default' });
  const names = Object.keys(SETTINGS) as (keyof ProfileSettings)[];
  const settings = names.flatMap((name) => {
    switch (name) {
      case 'tokenFile':
        return [tokenSetting(flags, profile, context)];
      case 'tokenCommand':
        return [];
      case 'workflows':
        return workflowSettings(profile);
      default:
        return [plainSetting(name, flags, profile, context)];
    }
  });
  return [{ name: 'profile', value: profile?.name, source }, ...settings];
}

function plainSetting(
  name: SettingName,
  flags: SettingFlags,
  profile: Profile | undefined,
  context: Context,
): EffectiveSetting {
  const describe = (raw: RawSetting) => {
    const text = name === 'baseUrl' ? redactUrl(raw.text) : raw.text;
    const value = SETTINGS[name].type === 'boolean' ? String(isOn(raw)) : text;
    return { value, source: formatSource(raw.source) };
  };
  const raw = resolveSetting(name, flags, profile, context);
  if (raw === undefined) return { name, value: undefined, source: formatSource({ kind: 'default' }) };
  const { kind } = raw.source;
  const below = [
    ...(kind === 'flag' ? [resolveSetting(name, {}, profile, context)] : []),
    ...(kind === 'flag' || kind === 'variable' ? [resolveSetting(name, {}, profile, { env: {} })] : []),
  ];
  const overridden = new Map(
    below.flatMap((one) => {
      if (one === undefined || one.source.kind === 'default') return [];
      const other = describe(one);
      return [[other.source, other] as const];
    }),
  );
  return { name, ...describe(raw), ...(overridden.size > 0 && { overridden: [...overridden.values()] }) };
}

function workflowSettings(profile: Profile | undefined): EffectiveSetting[] {
  if (profile === undefined) return [];
  return namedWorkflows(profile).flatMap(({ name, id, parameters = new Map<string, Parameter>() }) => {
    const sourceOf = (...names: string[]) => formatSource(profile.sourceOf('workflows', name, ...names));
    return [
      { name: `workflows.${name}`, value: id, source: sourceOf() },
      ...[...parameters.values()].map((parameter) => ({
        name: `workflows.${name}.parameters.${parameter.name}`,
        value: describeParameter(parameter),
        source: sourceOf('parameters', parameter.name + (parameter.isOptional ? '?' : '')),
      })),
    ];
  });
}

/** One setting for all sources of a token. */
function tokenSetting(flags: TokenFlags, profile: Profile | undefined, context: Context): EffectiveSetting {
  const { location, withheld, ignored } = findTokenSource(flags, profile, context);
  if (location === undefined) {
    const source = withheld ?? (flags.token === false ? '--no-token' : 'default');
    return { name: 'token', value: undefined, source };
  }
  const source = formatTokenSource(location);
  const override = ignored === undefined ? '' : `, ${ignored} is ignored`;
  return { name: 'token', value: describeLocation(location, context), source: source + override };
}

/** Returns where the token is, never the token. */
function describeLocation(location: TokenLocation, context: Context): string {
  switch (location.kind) {
    case 'variable':
      return '(hidden)';
    case 'file':
      return `(hidden, in ${location.path === '-' ? 'standard input' : location.path})`;
    case 'command':
      return `(hidden, printed by ${formatTokenCommand(location.command, context)})`;
  }
}
