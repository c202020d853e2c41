/** Resolves how often to poll a run, and how long to wait for its end. */

import { UsageError } from '../errors.js';
import { parseDuration } from '../text/duration.js';
import type { Profile } from './profile.js';
import { resolveSetting } from './resolve-setting.js';
import { formatSource } from './setting-source.js';

/** The flags of waiting, not parsed yet. */
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

/** Resolves the settings of waiting. Throws UsageError with every error. */
export function resolveWaitSettings(flags: WaitFlags, profile: Profile | undefined): WaitSettings {
  const problems: string[] = [];
  const parse = (name: keyof WaitFlags, minimum: number) => {
    // No environment variable sets any of them.
    const raw = resolveSetting(name, flags, profile, { env: {} });
    if (raw === undefined) return undefined;
    const duration = parseDuration(raw.text);
    if (duration !== undefined && duration >= minimum) return duration;
    const problem = duration === undefined ? 'is not a duration' : 'is too short';
    problems.push(
      `${formatSource(raw.source)} ${raw.text || '""'}: ${problem}; use 500ms, 2s, 1.5m or 1h (a bare number means seconds)`,
    );
    return undefined;
  };
  const interval = parse('interval', 1) ?? 0;
  const maxInterval = parse('maxInterval', 1) ?? 0;
  const timeout = parse('timeout', 0);
  if (problems.length > 0) throw new UsageError(problems);
  return { interval, maxInterval: Math.max(interval, maxInterval), timeout };
}
