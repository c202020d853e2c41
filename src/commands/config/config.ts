/** `wfr config`: prints the path of the config file, checks the file, shows the effective settings, and writes a first file. */
import { existsSync } from 'node:fs';
import { type ConfigLocation, locateConfig } from '../../config/load-config.js';
import { chooseProfile } from '../../config/profile.js';
import type { WaitFlags } from '../../config/resolve-setting.js';
import type { ServiceFlags } from '../../config/service.js';
import { type EffectiveSetting, resolveEffectiveSettings } from '../../config/show.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { sanitize } from '../../text/sanitize.js';
import type { PresentationFlags } from '../../view/presentation.js';
import { init } from './init.js';

export interface ConfigFlags extends ServiceFlags, WaitFlags, PresentationFlags {
  workflowIdField?: string;
  json?: boolean;
  connect?: boolean;
}

const ACTIONS = {
  path,
  show,
  async check(...args: Parameters<typeof show>) {
    const module = await import('./check.js');
    return module.check(...args);
  },
  init,
} as const;

export type ConfigAction = keyof typeof ACTIONS;

/** Throws UsageError if the file cannot be read or does not have the profile, and from `show` with every error in it. */
export async function config(action: ConfigAction, flags: ConfigFlags, context: Context): Promise<Exit> {
  const location = locateConfig(context);
  if (location === undefined) {
    throw new UsageError(['no home folder to find the config file in; set HOME or WFR_CONFIG']);
  }
  return ACTIONS[action](location, flags, context);
}

async function path(
  { path }: ConfigLocation,
  _flags: ConfigFlags,
  { stdout, stderr }: Context,
): Promise<Exit> {
  await stdout.write(`${path}\n`);
  await stderr.write(existsSync(path) ? 'The file exists.\n' : 'The file does not exist yet.\n');
  return ExitCode.ok;
}

async function show({ path }: ConfigLocation, flags: ConfigFlags, context: Context): Promise<Exit> {
  const profile = await chooseProfile(flags, context);
  const settings = resolveEffectiveSettings(flags, profile, context);
  const file = {
    name: 'configFile',
    value: path,
    source: existsSync(path) ? 'exists' : 'does not exist',
  };
  await context.stdout.write(
    flags.json === true ? asJson([file, ...settings]) : asText([file, ...settings], path),
  );
  return ExitCode.ok;
}

function asJson(settings: readonly EffectiveSetting[]): string {
  const entries = settings.map(({ name, value, ...rest }) => [name, { value: value ?? null, ...rest }]);
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
}

/** Returns a line for each setting, and below it one for each that it overrides. The path is in the first line alone. */
function asText(settings: readonly EffectiveSetting[], path: string): string {
  const place = (source: string) => source.replaceAll(` in ${path}:`, ', line ');
  const rows = settings
    .flatMap(({ name, value, source, overridden = [] }) => [
      [name, value ?? '-', place(source)],
      ...overridden.map((one) => ['', one.value, `${place(one.source)} (overridden)`]),
    ])
    .map((row) => row.map(sanitize));
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [names, values] = [width(0), width(1)];
  return rows
    .map(([name = '', value = '', source]) => `${name.padEnd(names)}  ${value.padEnd(values)}  ${source}\n`)
    .join('');
}
