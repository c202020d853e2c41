/** The effective settings and where each comes from, for `wfr config show`. Reads no token and runs no command. */
import { describeParameter, type Parameter } from '../parameters/declaration.js';
import type { Context } from '../platform/context.js';
import { redactUrl } from './base-url.js';
import { formatSource, type Profile } from './profile.js';
import { isOn, resolveSetting, type SettingFlags, type SettingName } from './resolve-setting.js';
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
  const raw = resolveSetting(name, flags, profile, context);
  const source = formatSource(raw?.source ?? { kind: 'default' });
  if (raw === undefined) return { name, value: undefined, source };
  if (SETTINGS[name].type === 'boolean') return { name, value: String(isOn(raw)), source };
  return { name, value: name === 'baseUrl' ? redactUrl(raw.text) : raw.text, source };
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
