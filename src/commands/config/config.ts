/** `wfr config`: prints the path of the config file, shows the effective settings, and writes a first file, or checks it. */
import { existsSync, promises } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ConfigContent, checkConfig } from '../../config/check-config.js';
import {
  findTokenLocations,
  formatTokenCommand,
  needsToken,
  type TokenLocation,
} from '../../config/credentials.js';
import {
  chooseProfile,
  findSources,
  loadConfig,
  locateConfig,
  readConfigBytes,
} from '../../config/profile.js';
import {
  isOn,
  resolveSetting,
  type ServiceFlags,
  type ServiceSources,
  type SettingName,
  settingValues,
} from '../../config/resolve-setting.js';
import { resolveBaseUrl, resolveServiceSettings } from '../../config/service.js';
import { EXAMPLE_BASE_URL, type ProfileSettings, SETTINGS } from '../../config/settings-table.js';
import { namedWorkflows } from '../../config/workflow.js';
import { throwProblems, throwUnless, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { openHistory } from '../../history/history.js';
import { describeParameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { absolutePath, mkdirp, resolvePath } from '../../platform/files.js';
import { throwAsUsageError } from '../../platform/system-error.js';
import { parseJsonFile } from '../../text/json/json-file.js';
import { pluralize } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { redactUrl } from '../../text/url.js';
import { wrap, wrapLines } from '../../text/wrap.js';
import {
  decidePresentation,
  type Layout,
  openLayout,
  type PresentationFlags,
  type Style,
} from '../../view/presentation.js';
import { openReporter } from '../../view/reporter.js';

export interface ConfigFlags extends ServiceFlags, PresentationFlags {
  json?: boolean;
}

const ACTIONS = { path, show, check, init } as const;

export type ConfigAction = keyof typeof ACTIONS;

/** Throws UsageError if the file cannot be read or does not have the profile, and from `show` with every error in it. */
export async function config(action: ConfigAction, flags: ConfigFlags, context: Context): Promise<Exit> {
  const path = locateConfig(context);
  if (!path) throw new UsageError('no home folder to find the config file in; set HOME or WFR_CONFIG');
  return ACTIONS[action](path, flags, context);
}

/** Checks the config file; the errors are the result, so they go to stdout, in the format that editors parse. */
async function check(path: string, flags: ConfigFlags, context: Context): Promise<Exit> {
  const read = readConfigBytes(path, context);
  const { problems } = read ? parseJsonFile(read.bytes, path, checkConfig) : { problems: [] };
  if (problems.length > 0) {
    const lines = context.stdout.wrap(problems.map(sanitize));
    await context.stdout.write(`${lines.join('\n')}\n`);
    await context.stderr.write(`${pluralize(problems.length, 'problem')}\n`);
    return ExitCode.usage;
  }
  const { warnings = [] } = (await chooseProfile(flags, context)) ?? {};
  const reporter = await openReporter(decidePresentation(flags, context), context);
  for (const warning of warnings) reporter.warn(warning);
  const shown = sanitize(path);
  const fact = read ? `${shown} is valid` : `There is no config file at ${shown}; none is required`;
  await context.stderr.write(`${fact}.\n`);
  return ExitCode.ok;
}

async function path(path: string, _flags: ConfigFlags, { stdout, stderr }: Context) {
  await stdout.write(`${path}\n`);
  await stderr.write(`The file ${stateOf(path)}.\n`);
  return ExitCode.ok;
}

/** Returns whether a file exists, for people. */
function stateOf(path: string): string {
  return existsSync(path) ? 'exists' : 'does not exist';
}

async function show(path: string, flags: ConfigFlags, context: Context): Promise<Exit> {
  const settings = await resolveEffectiveSettings(await findSources(flags, context));
  const file = setting('configFile', path, stateOf(path));
  const profiles = Object.keys((await loadConfig(context))?.content.profiles ?? {});
  const names = profiles.length > 0 ? `profiles ${profiles.join(', ')}` : stateOf(path);
  const head = `Config file: ${path} (${names})`;
  await context.stdout.write(
    flags.json
      ? asJson([file, ...settings])
      : asText(head, settings, path, await openLayout(flags.color, context)),
  );
  return ExitCode.ok;
}

function asJson(settings: readonly EffectiveSetting[]): string {
  const entries = settings.map(({ name, values: [first, ...overridden], whyUnset = 'default' }) => {
    const { value = null, source = whyUnset } = first ?? {};
    return [name, { value, source, ...(overridden.length > 0 && { overridden }) }];
  });
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
}

/** What is between the columns of the table. */
const GAP = '  ';
/** The most columns of names; longer ones push the values. */
const MAX_NAME_WIDTH = 24;
/** The columns of values, such as a UUID, in a window that has room for them and their sources. */
const VALUE_WIDTH = 36;
/** The columns of a source, such as `(config.json:12)`, and its gap. */
const SOURCE_WIDTH = 20;

/** Returns the settings that are set, the defaults, the workflows, and the names of the others. Nothing is cut. */
function asText(
  head: string,
  settings: readonly EffectiveSetting[],
  path: string,
  { style, width }: Layout,
): string {
  const rows = settings.flatMap((setting) => toRows(setting, path, style));
  const widestOf = (key: 'name' | 'value') => Math.max(...rows.map((row) => row[key].length));
  const nameWidth = Math.min(MAX_NAME_WIDTH, widestOf('name')) + GAP.length;
  const columns = width || Number.POSITIVE_INFINITY;
  const room = columns - nameWidth - SOURCE_WIDTH;
  const isWide = room >= VALUE_WIDTH;
  const valueWidth = isWide ? Math.min(widestOf('value'), room) : 0;
  /** Returns the rows of a group: value and source in columns, where they fit, else below each other. */
  const layOut = (group: RowGroup) =>
    rows
      .filter((row) => row.group === group)
      .flatMap(({ name, value, source, paint }) => {
        const start = name.padEnd(nameWidth);
        const text = value.padEnd(valueWidth);
        const isWider = text.length > valueWidth || (start + text + GAP + source).length > columns;
        const end = style.dim(source);
        if (!(isWide && isWider)) return wrapLines([start + paint(text) + GAP + end], width);
        const parts = [paint(value), end].flatMap((part) => wrap(part, width - nameWidth));
        return [start + parts.join(`\n${' '.repeat(nameWidth)}`)];
      });
  const workflows = layOut('workflow');
  const unset = settings.filter(isUnset).map(({ name }) => name);
  const lines = [
    ...wrapLines([sanitize(head)], width),
    '',
    ...layOut('chosen'),
    ...layOut('default'),
    ...(workflows.length > 0 ? ['', style.bold('Workflows:'), ...workflows] : []),
    '',
    ...wrapLines([style.dim(`Not set: ${unset.join(', ')}`)], width),
  ];
  return `${lines.join('\n')}\n`;
}

type RowGroup = 'chosen' | 'default' | 'workflow';

function isUnset({ values, whyUnset, isProblem }: EffectiveSetting): boolean {
  return !(values.length > 0 || whyUnset || isProblem);
}

/** Returns the row of a setting, and those of what it overrides; none where there is nothing to say but its name. */
function toRows(setting: EffectiveSetting, path: string, { bad, dim, open }: Style) {
  if (isUnset(setting)) return [];
  const { name, label, values, whyUnset = 'required', isProblem } = setting;
  const shown = values.length > 0 ? values : [{ value: 'not set', source: whyUnset }];
  return shown.map(({ value, source }, index) => {
    const [place, line] = source.split(` in ${path}:`);
    const isDefault = source === 'default';
    const group: RowGroup = label !== undefined ? 'workflow' : isDefault ? 'default' : 'chosen';
    const paint = isDefault || index > 0 ? dim : isProblem ? bad : open;
    return {
      group,
      name: index === 0 ? sanitize(label ?? name) : '  overrides',
      value: sanitize(value),
      source: sanitize(line === undefined ? `(${place})` : `(${basename(path)}:${line})`),
      paint,
    };
  });
}

/** Writes the file that the flags describe, and prints its path. Throws UsageError, also if the file exists. */
async function init(path: string, flags: ServiceFlags, context: Context): Promise<Exit> {
  const content = `${JSON.stringify(createFirstConfig(flags, context), undefined, 2)}\n`;
  const fail = throwAsUsageError(`the config file ${path}`);
  // Only its owner can read the file, and a new folder.
  await mkdirp(dirname(path), 0o700).catch(fail);
  await promises.writeFile(path, content, { flag: 'wx', mode: 0o600 }).catch(fail);
  await context.stdout.write(`${path}\n`);
  const next = flags.baseUrl === undefined ? 'Set its baseUrl to the address of your service. ' : '';
  await context.stderr.write(`Created. ${next}To add workflows and their parameters, see: wfr help config\n`);
  return ExitCode.ok;
}

/** Returns a config file with one profile, which has each setting that a flag gives. Throws UsageError. */
function createFirstConfig(flags: ServiceFlags, { cwd }: Context): ConfigContent {
  const { profile = 'default' } = flags;
  const settings: ProfileSettings = { baseUrl: EXAMPLE_BASE_URL };
  for (const [name, { flag }] of Object.entries(SETTINGS)) {
    const value: unknown = flags[name as keyof ServiceFlags];
    const isPath = name.endsWith('File');
    if (isPath && value === '-') throw new UsageError(`${flag} -: a profile requires a file`);
    // A path in the file would be relative to the file.
    const isRelative = isPath && value && !String(value).startsWith('~/');
    if (value !== undefined)
      Object.assign(settings, { [name]: isRelative ? absolutePath(String(value), cwd) : value });
  }
  const content = { defaultProfile: profile, profiles: { [profile]: { ...settings, workflows: {} } } };
  const problems = checkConfig(content).map(({ message }) => message);
  throwProblems(problems);
  return content;
}

interface EffectiveSetting {
  name: string;
  /** What the table calls a workflow, or below it a parameter. */
  label?: string;
  /** The first one overrides the others. They contain no secret. The source is such as WFR_BASE_URL. */
  values: readonly { value: string; source: string }[];
  whyUnset?: string | undefined;
  /** Whether commands fail because it, or its file, is missing. */
  isProblem?: boolean;
}

/** Returns a setting that nothing overrides; one without a value is not set. */
function setting(name: string, value: string | undefined, source = ''): EffectiveSetting {
  return { name, values: value === undefined ? [] : [{ value, source }] };
}

/** Resolves the effective settings in the order of the table, then what a profile does not have. */
async function resolveEffectiveSettings(sources: ServiceSources): Promise<EffectiveSetting[]> {
  const { flags, profile, context } = sources;
  const isUsable = hasUsableBaseUrl(sources);
  const names = Object.keys(SETTINGS) as (keyof ProfileSettings)[];
  const settings = names.flatMap((name) => {
    if (name === 'tokenFile') return [tokenSetting()];
    if (name === 'workflows') return workflowSettings();
    return name === 'tokenCommand' ? [] : [plainSetting(name)];
  });
  const chosen = setting('profile', profile?.name, profile?.chosenBy.name);
  return [chosen, ...settings, ...(await connectionSettings())];

  function plainSetting(name: SettingName): EffectiveSetting {
    const values = settingValues(name, sources).map((raw) => {
      const text = name === 'baseUrl' ? redactUrl(raw.text) : raw.text;
      const value = SETTINGS[name].type === 'boolean' ? String(isOn(raw)) : text;
      return { value, source: raw.source.name };
    });
    const isUnused = values.length === 0 && profile?.settings[name] !== undefined;
    return {
      name,
      values,
      isProblem: name === 'baseUrl' && !isUsable,
      whyUnset: isUnused ? `that of profile ${profile.name} is for its own base URL` : undefined,
    };
  }

  /** One setting for all sources of a token. */
  function tokenSetting(): EffectiveSetting {
    const { locations, withheld } = findTokenLocations(sources);
    const [location] = locations;
    const whyUnset = withheld ?? (flags.token === false ? '--no-token' : undefined);
    const values = locations.map((one) => ({
      value: describeLocation(one),
      source: one.source.name,
    }));
    const isProblem = location ? isAbsent(location) : needsToken(sources);
    return { name: 'token', values, whyUnset, isProblem };
  }

  /** Returns whether the file of a token does not exist. */
  function isAbsent(location: TokenLocation): boolean {
    if (location.kind !== 'file' || location.path === '-') return false;
    return !existsSync(resolvePath(location.path, context));
  }

  /** Returns where the token is, never the token. */
  function describeLocation(location: TokenLocation): string {
    if (location.kind === 'variable') return '(hidden)';
    if (location.kind === 'command')
      return `(hidden, printed by ${formatTokenCommand(location.command, context)})`;
    const place = location.path === '-' ? 'standard input' : location.path;
    return `(hidden, in ${place}${isAbsent(location) ? ', which does not exist' : ''})`;
  }

  function workflowSettings(): EffectiveSetting[] {
    const sourceOf = (...place: string[]) => profile?.sourceOf('workflows', ...place).name;
    return namedWorkflows(profile).flatMap(({ name, id, parameters }) => [
      { ...setting(`workflows.${name}`, id, sourceOf(name)), label: name },
      ...[...(parameters?.values() ?? [])].map((parameter) => {
        const key = parameter.name + (parameter.isOptional ? '?' : '');
        const full = `workflows.${name}.parameters.${parameter.name}`;
        const source = sourceOf(name, 'parameters', key);
        return { ...setting(full, describeParameter(parameter), source), label: `  ${parameter.name}` };
      }),
    ]);
  }

  /** The proxy, the names of the headers, and the folder of the history: a profile does not have all of them. */
  async function connectionSettings(): Promise<EffectiveSetting[]> {
    const { env } = context;
    const folder = openHistory(context).folder ?? 'off';
    const isInState = folder === join(env.XDG_STATE_HOME ?? '', 'wfr');
    const variable = env.WFR_HISTORY === '0' ? 'WFR_HISTORY' : isInState ? 'XDG_STATE_HOME' : 'default';
    const history = setting('history', folder, variable);
    try {
      const { proxy, headers } = await resolveServiceSettings(sources);
      const used = [
        flags.header && '--header',
        resolveSetting('headerFile', sources) && 'headerFile',
        headers.traceparent && 'TRACEPARENT',
      ].filter(Boolean);
      return [
        setting('proxy', proxy?.url, proxy?.variable),
        setting('headers', Object.keys(headers).join(', ') || undefined, used.join(', ')),
        history,
      ];
    } catch (error) {
      throwUnless(error, UsageError);
      // A base URL that is missing or cannot be used is red in its own line.
      const whyUnset = isUsable ? error.problems[0] : undefined;
      return [...['proxy', 'headers'].map((name) => ({ name, values: [], whyUnset })), history];
    }
  }
}

function hasUsableBaseUrl(sources: ServiceSources): boolean {
  try {
    return Boolean(resolveBaseUrl(sources));
  } catch {
    return false;
  }
}
