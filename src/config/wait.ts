/** How long to wait, and how often to look. */

import { UsageError } from '../errors.js';
import { parseDuration } from '../text/duration.js';
import type { Profile } from './profile.js';
import { rawSetting } from './settings.js';

/** The flags of waiting, as they were written. */
export interface WaitFlags {
  interval?: string;
  maxInterval?: string;
  timeout?: string;
}

/** Milliseconds. */
export interface WaitSettings {
  interval: number;
  maxInterval: number;
  timeout: number | undefined;
}

/** What applies where nothing was written. */
export const WAIT_DEFAULTS = { interval: '2s', maxInterval: '10s' } as const;

/** Throws UsageError with every complaint. */
export function waitSettings(flags: WaitFlags, profile: Profile | undefined): WaitSettings {
  const problems: string[] = [];
  const parse = (name: keyof WaitFlags, fallback: string | undefined, least: number) => {
    const { text, source } = rawSetting(name, flags, profile, { env: {} }) ?? {
      text: fallback,
      source: name,
    };
    if (text === undefined) return Number.POSITIVE_INFINITY;
    const duration = parseDuration(text);
    if (duration !== undefined && duration >= least) return duration;
    const not = duration === undefined ? 'is not a duration' : 'is too short';
    problems.push(
      `${source} ${text || '""'}: ${not}; write 500ms, 2s, 1.5m or 1h (a bare number means seconds)`,
    );
    return least;
  };
  const interval = parse('interval', WAIT_DEFAULTS.interval, 1);
  const maxInterval = parse('maxInterval', WAIT_DEFAULTS.maxInterval, 1);
  const timeout = parse('timeout', undefined, 0);
  if (problems.length > 0) throw new UsageError(problems);
  return {
    interval,
    maxInterval: Math.max(interval, maxInterval),
    timeout: Number.isFinite(timeout) ? timeout : undefined,
  };
}
