/** `wfr config`: prints the path of the config file, checks the file, shows the effective settings, and writes a first file. */
import { existsSync } from 'node:fs';
import { unlink, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { redactUrl } from '../../config/base-url.js';
import { type ConfigContent, checkConfig } from '../../config/check-config.js';
import {
  type ConfigLocation,
  chooseProfile,
  formatSource,
  locateConfig,
  type Profile,
} from '../../config/profile.js';
import {
  isOn,
  type RawSetting,
  type ServiceFlags,
  type ServiceSources,
  type SettingName,
  type SettingSources,
  settingValues,
} from '../../config/resolve-setting.js';
import { type ProfileSettings, SETTINGS } from '../../config/settings-table.js';
import { findTokenSource, formatTokenCommand, type TokenLocation } from '../../config/token-source.js';
import { namedWorkflows } from '../../config/workflow.js';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { absolutePath, mkdirp, throwForPathBelow } from '../../platform/files.js';
import { describeSystemError, errorCode } from '../../platform/system-error.js';
import type { JsonProblem } from '../../text/json/json-file.js';
import { sanitize } from '../../text/sanitize.js';
import { wrapLines } from '../../text/wrap.js';
import { type Layout, openLayout, type PresentationFlags } from '../../view/presentation.js';
import { textWidth } from '../../view/table.js';

export interface ConfigFlags extends ServiceFlags, PresentationFlags {
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

async function path({ path }: ConfigLocation, _flags: ConfigFlags, { stdout, stderr }: Context) {
  await stdout.write(`${path}\n`);
  await stderr.write(existsSync(path) ? 'The file exists.\n' : 'The file does not exist yet.\n');
  return ExitCode.ok;
}

async function show({ path }: ConfigLocation, flags: ConfigFlags, context: Context): Promise<Exit> {
  const profile = await chooseProfile(flags, context);
  const settings = resolveEffectiveSettings({ flags, profile, context });
  const source = existsSync(path) ? 'exists' : 'does not exist';
  await context.stdout.write(
    flags.json === true
      ? asJson([{ name: 'configFile', value: path, source }, ...settings])
      : asText(settings, path, source, await openLayout(flags.color, context)),
  );
  return ExitCode.ok;
}

function asJson(settings: readonly EffectiveSetting[]): string {
  const entries = settings.map(({ name, value, source, overridden }) => [
    name,
    { value: value ?? null, source, ...(overridden && { overridden }) },
  ]);
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
}

/** Settings that are listed first, also where they have no value, and how to set them. */
const FIRST: ReadonlyMap<string, string> = new Map([
  ['profile', 'see wfr help config'],
  ['baseUrl', 'set WFR_BASE_URL or --base-url'],
  ['token', 'set WFR_TOKEN or --token-file'],
]);

type SettingRow = SourcedValue & { name: string; isDim?: boolean };

/** Returns a line for each setting, and below it one for each that it overrides. `state` is that of the config file. */
function asText(
  settings: readonly EffectiveSetting[],
  path: string,
  state: string,
  { style, width }: Layout,
): string {
  const place = (source: string) => {
    const start = source.lastIndexOf(` in ${path}:`);
    return sanitize(start < 0 ? source : basename(path) + source.slice(start + ` in ${path}`.length));
  };
  const isSet = ({ name, value }: EffectiveSetting) => value !== undefined || FIRST.has(name);
  const ordered = [
    ...settings.filter(({ name }) => FIRST.has(name)),
    ...settings.filter((one) => isSet(one) && !FIRST.has(one.name)),
  ];
  const row = (name: string, one: SourcedValue, isDim: boolean): SettingRow => {
    return { name: sanitize(name), value: sanitize(one.value), source: place(one.source), isDim };
  };
  const rows = ordered.flatMap(({ name, value, source, overridden = [] }) => {
    const isDefault = source === 'default';
    const first = { value: value ?? '(not set)', source: (isDefault && FIRST.get(name)) || source };
    return [
      row(name.replace(/^workflows\..*\.parameters\./, '  '), first, isDefault && value !== undefined),
      ...overridden.map((one) => row('', { ...one, source: `${one.source} (overridden)` }, true)),
    ];
  });
  const unset = settings.filter((one) => !isSet(one)).map(({ name }) => name);
  return [
    ...wrapLines([`Config file: ${sanitize(path)} (${state})`], width),
    ...layOutSettings(rows, style, width || Number.POSITIVE_INFINITY),
    ...(unset.length === 0 ? [] : wrapLines([`Not set: ${unset.join(', ')}`], width)),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** Aligns settings in columns; what is too wide for that is on lines of its own, as nothing in them may be cut. */
function layOutSettings(rows: readonly SettingRow[], style: Layout['style'], width: number): string[] {
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => textWidth(text)));
  const pad = (text: string, columns: number) =>
    `${text}${' '.repeat(Math.max(0, columns - textWidth(text)))}  `;
  const nameWidth = widest(rows.map(({ name }) => name));
  const room = ({ source }: SettingRow) => width - nameWidth - textWidth(source) - 4;
  const valueWidth = widest(
    rows.filter((row) => textWidth(row.value) <= room(row)).map(({ value }) => value),
  );
  const line = ({ name, value, source }: SettingRow, columns: number) =>
    pad(name, nameWidth) + pad(value, columns) + source;
  const lines = rows.flatMap((row) => {
    const { name, value, source, isDim = false } = row;
    const fitting = [line(row, valueWidth), line(row, 0)].find((text) => textWidth(text) <= width);
    const own = () => [...(name === '' ? [] : [name]), ...wrapLines([`    ${value}  ${source}`], width)];
    return (fitting === undefined ? own() : [fitting]).map((text) => (isDim ? style.dim(text) : text));
  });
  return [style.bold(line({ name: 'SETTING', value: 'VALUE', source: 'SOURCE' }, valueWidth)), ...lines];
}

/** Writes the file that the flags describe, and prints its path. Throws UsageError, also if the file exists. */
async function init({ path }: ConfigLocation, flags: ServiceFlags, context: Context): Promise<Exit> {
  const content = createFirstConfig(flags, context);
  await writeNewFile(path, `${JSON.stringify(content, undefined, 2)}\n`).catch((error) => {
    const isExisting = errorCode(error) === 'EEXIST';
    const reason = isExisting ? 'exists already, and is left unchanged' : describeSystemError(error);
    throw new UsageError([`the config file ${path}: ${reason}`]);
  });
  await context.stdout.write(`${path}\n`);
  const next = flags.baseUrl === undefined ? 'Set its baseUrl to the address of your service. ' : '';
  await context.stderr.write(`Created. ${next}To add workflows and their parameters, see: wfr help config\n`);
  return ExitCode.ok;
}

/** Writes a file that only its owner can read, in a folder that only its owner can read unless it exists. */
async function writeNewFile(path: string, text: string): Promise<void> {
  await mkdirp(dirname(path), 0o700).catch(throwForPathBelow);
  await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch(async (error) => {
    // Part of it may have been written, but not to a file that exists already.
    if (errorCode(error) !== 'EEXIST') await unlink(path).catch(() => {});
    throw error;
  });
}

/** The profile without --profile. */
const DEFAULT_NAME = 'default';

/** Returns a config file with one profile, which has each setting that a flag gives. Throws UsageError. */
function createFirstConfig(flags: ServiceFlags, context: Context): ConfigContent {
  const { profile = DEFAULT_NAME } = flags;
  const names = Object.keys(SETTINGS) as (keyof ProfileSettings)[];
  const given = names.flatMap((name) => {
    const value = name === 'tokenCommand' || name === 'workflows' ? undefined : flags[name];
    return value === undefined ? [] : [[name, isPath(name) ? toAbsolute(name, value, context) : value]];
  });
  const example = 'https://workflows.example.com/api/v1';
  const settings = { baseUrl: example, ...Object.fromEntries(given), workflows: {} };
  const content = { defaultProfile: profile, profiles: { [profile]: settings } };
  const problems = checkConfig(content).map((problem) => describeFlag(problem, flags));
  if (problems.length > 0) throw new UsageError(problems);
  return content;
}

function isPath(name: keyof ProfileSettings): boolean {
  return name.endsWith('File');
}

/** A path in the file would be relative to the file. */
function toAbsolute(name: keyof ProfileSettings, value: string | boolean, { cwd }: Context): string {
  const path = String(value);
  if (path === '-') throw new UsageError([`${SETTINGS[name].flag} -: a profile requires a file`]);
  return path.startsWith('~/') || path === '' ? path : absolutePath(path, cwd);
}

/** Describes a mistake as one in the flag that gave the value, which is of the right type. */
function describeFlag({ path: [, , name], message }: JsonProblem, flags: ServiceFlags): string {
  if (name === undefined) return `--profile: ${message}`;
  const { flag = '', title, isSensitive } = SETTINGS[name as SettingName];
  if (name === 'baseUrl')
    return message.replace('"baseUrl"', flag).replace('"allowHttp": true', '--allow-http');
  return `${flag}${isSensitive ? '' : ` ${flags[name as SettingName] || '""'}`}: must be ${title}`;
}

interface SourcedValue {
  value: string;
  source: string;
}

interface EffectiveSetting {
  name: string;
  /** Undefined if it is not set. Contains no secret. */
  value: string | undefined;
  /** Such as `--base-url`, `WFR_BASE_URL`, `profile x in path:line`, `default`. */
  source: string;
  /** The values that this one overrides. */
  overridden?: readonly SourcedValue[];
}

/** Resolves the effective settings, in the order of the table. */
function resolveEffectiveSettings(sources: ServiceSources): EffectiveSetting[] {
  const { profile } = sources;
  const source = formatSource(profile?.chosenBy ?? { kind: 'default' });
  const names = Object.keys(SETTINGS) as (keyof ProfileSettings)[];
  const settings = names.flatMap((name) => {
    switch (name) {
      case 'tokenFile':
        return [tokenSetting(sources)];
      case 'tokenCommand':
        return [];
      case 'workflows':
        return workflowSettings(profile);
      default:
        return [plainSetting(name, sources)];
    }
  });
  return [{ name: 'profile', value: profile?.name, source }, ...settings];
}

function plainSetting(name: SettingName, sources: SettingSources): EffectiveSetting {
  const describe = (raw: RawSetting) => {
    const text = name === 'baseUrl' ? redactUrl(raw.text) : raw.text;
    const value = SETTINGS[name].type === 'boolean' ? String(isOn(raw)) : text;
    return { value, source: formatSource(raw.source) };
  };
  const values = settingValues(name, sources);
  const set = values.filter(({ source }, index) => index === 0 || source.kind !== 'default');
  return withOverridden(name, set.map(describe));
}

/** Returns a setting with the first value, which overrides the others. */
function withOverridden(name: string, [first, ...overridden]: readonly SourcedValue[]): EffectiveSetting {
  const { value, source } = first ?? { value: undefined, source: 'default' };
  return { name, value, source, ...(overridden.length > 0 && { overridden }) };
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
function tokenSetting(sources: ServiceSources): EffectiveSetting {
  const { flags, context } = sources;
  const { location, withheld, overridden } = findTokenSource(sources);
  if (location === undefined) {
    const source = withheld ?? (flags.token === false ? '--no-token' : 'default');
    return { name: 'token', value: undefined, source };
  }
  const describe = (one: TokenLocation) => {
    return { value: describeLocation(one, context), source: formatSource(one.source) };
  };
  return withOverridden('token', [location, ...overridden].map(describe));
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
