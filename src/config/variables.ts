/** Finds variables whose name begins with WFR_ and means nothing: a typo, or a setting without a variable. */
import { findNearest } from '../text/nearest.js';
import { SETTINGS, type Setting } from './settings-table.js';

const SETTING_LIST: readonly [name: string, setting: Setting][] = Object.entries(SETTINGS);

/** The variables of the settings, and those of which `wfr config show` has no line. */
const VARIABLES: readonly string[] = [
  ...SETTING_LIST.flatMap(([, { variable }]) => variable ?? []),
  ...['WFR_TOKEN', 'WFR_PROFILE', 'WFR_CONFIG', 'WFR_HISTORY', 'WFR_TRACE', 'WFR_SANDBOX'],
];

/** Returns a message for each, with what to use instead where that is known. */
export function findUnknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const unknown = Object.keys(env).filter((name) => name.startsWith('WFR_') && !VARIABLES.includes(name));
  return unknown.map((name) => `${name}: wfr has no such variable${suggest(name)}`);
}

function suggest(name: string): string {
  const plain = name.slice('WFR_'.length).replaceAll('_', '').toLowerCase();
  const [found, setting] = SETTING_LIST.find(([one]) => one.toLowerCase() === plain) ?? [];
  if (setting !== undefined && setting.variable === undefined)
    return `; use ${setting.flag === undefined ? '' : `${setting.flag}, or `}"${found}" in a profile`;
  const variable = setting?.variable ?? findNearest(name, VARIABLES);
  return variable === undefined ? '' : `; did you mean ${variable}?`;
}
