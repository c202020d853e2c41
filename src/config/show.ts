/** Every setting as it would hold for a command, and where its value comes from. */
import type { Context } from '../platform/context.js';
import { shellCommand } from '../text/shell-quote.js';
import { withoutUserInfo } from './base-url.js';
import type { Profile } from './profile.js';
import { isPermitted, type RawSetting, rawSetting, type SettingFlags, type SettingName } from './settings.js';
import { type TokenFlags, type TokenLocation, tokenSource } from './token-source.js';
import { WAIT_DEFAULTS } from './wait.js';
import { DEFAULT_WORKFLOW_ID_FIELD } from './workflow.js';

export interface EffectiveSetting {
  name: string;
  /** Undefined where it is not set. Nothing in it is a secret. */
  value: string | undefined;
  /** Such as `flag --base-url`, `WFR_BASE_URL`, `profile x in path:line`, `default`. */
  source: string;
}

const DEFAULTS: Readonly<Record<SettingName, string | undefined>> = {
  baseUrl: undefined,
  allowHttp: 'false',
  workflowIdField: DEFAULT_WORKFLOW_ID_FIELD,
  resend503: 'false',
  ...WAIT_DEFAULTS,
  timeout: undefined,
};

/** In the order in which they are to be shown; nothing is read and no command is run for it. */
export function effectiveSettings(
  flags: SettingFlags & TokenFlags,
  profile: Profile | undefined,
  context: Context,
): EffectiveSetting[] {
  const settings = (Object.keys(DEFAULTS) as SettingName[]).map((name): EffectiveSetting => {
    const written = rawSetting(name, flags, profile, context);
    if (written === undefined) return { name, value: DEFAULTS[name], source: 'default' };
    return { name, value: shownValue(name, written), source: shownSource(written.source) };
  });
  const workflows = Object.entries(profile?.settings.workflows ?? {}).map(([name, id]) => ({
    name: `workflows.${name}`,
    value: id,
    source: profile?.sourceOf('workflows', name) ?? '',
  }));
  return [
    profileSetting(profile),
    ...settings.slice(0, 2),
    tokenSetting(flags, profile, context),
    ...settings.slice(2),
    ...workflows,
  ];
}

function shownValue(name: SettingName, written: RawSetting): string {
  if (name === 'allowHttp' || name === 'resend503') return String(isPermitted(written));
  return name === 'baseUrl' ? withoutUserInfo(written.text) : written.text;
}

function profileSetting(profile: Profile | undefined): EffectiveSetting {
  if (profile === undefined) return { name: 'profile', value: undefined, source: 'default' };
  return { name: 'profile', value: profile.name, source: shownSource(profile.chosenBy) };
}

function tokenSetting(flags: TokenFlags, profile: Profile | undefined, context: Context): EffectiveSetting {
  const { location, withheld } = tokenSource(flags, profile, context);
  if (location.kind === 'none') {
    return {
      name: 'token',
      value: undefined,
      source: withheld ?? (flags.token === false ? 'flag --no-token' : 'default'),
    };
  }
  return { name: 'token', value: shownToken(location), source: shownSource(location.source) };
}

/** Where the token is, never the token. */
function shownToken(place: Exclude<TokenLocation, { kind: 'none' }>): string {
  switch (place.kind) {
    case 'variable':
      return '(hidden)';
    case 'file':
      return `(hidden, in ${place.path === '-' ? 'standard input' : place.path})`;
    case 'command': {
      // An argument may be a secret that cannot be told to be one.
      const [program = '', ...args] = place.words;
      const count = args.length === 1 ? '1 argument' : `${args.length || 'no'} arguments`;
      return `(hidden, printed by ${shellCommand([program])} with ${count})`;
    }
  }
}

function shownSource(source: string): string {
  return source.startsWith('--') ? `flag ${source}` : source;
}
