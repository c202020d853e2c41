/** `wfr config`: where the config file is, what is wrong in it, and the settings that hold. */
import { existsSync } from 'node:fs';
import { readConfigBytes } from '../../config/file.js';
import { type ConfigLocation, configLocation } from '../../config/location.js';
import { chooseProfile } from '../../config/profile.js';
import type { ServiceFlags } from '../../config/service.js';
import { type EffectiveSetting, effectiveSettings } from '../../config/show.js';
import type { WaitFlags } from '../../config/wait.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { sanitize } from '../../text/sanitize.js';

export interface ConfigFlags extends ServiceFlags, WaitFlags {
  workflowIdField?: string;
  json?: boolean;
}

const ACTIONS = { path, show, check } as const;

/** Throws UsageError: for a config file that cannot be read, for a profile that it does not have, and from `show` for mistakes in it. */
export async function config(
  action: keyof typeof ACTIONS,
  flags: ConfigFlags,
  context: Context,
): Promise<Exit> {
  const location = configLocation(context);
  if (location === undefined) {
    throw new UsageError(['there is no home folder to look for a config file in; set HOME or WFR_CONFIG']);
  }
  return ACTIONS[action](location, flags, context);
}

async function path(
  { path }: ConfigLocation,
  _flags: ConfigFlags,
  { stdout, stderr }: Context,
): Promise<Exit> {
  await stdout.write(`${path}\n`);
  await stderr.write(existsSync(path) ? 'The file exists.\n' : 'There is no such file yet.\n');
  return ExitCode.ok;
}

/** The mistakes are the answer, so stdout has them, as compilers and editors know them. */
async function check(location: ConfigLocation, flags: ConfigFlags, context: Context): Promise<Exit> {
  const bytes = readConfigBytes(location);
  if (bytes === undefined) {
    await chooseProfile(flags, context);
    await context.stderr.write(`There is no ${sanitize(location.path)}, and none is needed.\n`);
    return ExitCode.ok;
  }
  const { configMistakes } = await import('../../config/parse.js');
  const mistakes = await configMistakes(bytes, location.path);
  for (const mistake of mistakes) await context.stdout.write(`${sanitize(mistake)}\n`);
  if (mistakes.length > 0) return ExitCode.usage;
  await chooseProfile(flags, context);
  await context.stderr.write(`There is no mistake in ${sanitize(location.path)}.\n`);
  return ExitCode.ok;
}

async function show({ path }: ConfigLocation, flags: ConfigFlags, context: Context): Promise<Exit> {
  const profile = await chooseProfile(flags, context);
  const settings = effectiveSettings(flags, profile, context);
  const file = {
    name: 'configFile',
    value: path,
    source: existsSync(path) ? 'exists' : 'there is no such file',
  };
  await context.stdout.write(flags.json === true ? asJson([file, ...settings]) : asText([file, ...settings]));
  return ExitCode.ok;
}

function asJson(settings: readonly EffectiveSetting[]): string {
  const entries = settings.map(({ name, value, source }) => [name, { value: value ?? null, source }]);
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
}

function asText(settings: readonly EffectiveSetting[]): string {
  const rows = settings.map(({ name, value, source }) => [name, value ?? '-', source].map(sanitize));
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [names, values] = [width(0), width(1)];
  return rows
    .map(([name = '', value = '', source]) => `${name.padEnd(names)}  ${value.padEnd(values)}  ${source}\n`)
    .join('');
}
