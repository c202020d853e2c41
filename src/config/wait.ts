/** How long to wait, and how often to look. */
import { parseDuration } from '../duration.js';
import { UsageError } from '../errors.js';

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

/** Throws UsageError with every complaint. */
export function waitSettings(flags: WaitFlags): WaitSettings {
  const problems: string[] = [];
  const parse = (name: string, text: string | undefined, fallback: number, least: number) => {
    if (text === undefined) return fallback;
    const duration = parseDuration(text);
    if (duration !== undefined && duration >= least) return duration;
    const not = duration === undefined ? 'is not a duration' : 'is too short';
    problems.push(
      `${name} ${text || '""'}: ${not}; write 500ms, 2s, 1.5m or 1h (a bare number means seconds)`,
    );
    return fallback;
  };
  const interval = parse('--interval', flags.interval, 2_000, 1);
  const maxInterval = parse('--max-interval', flags.maxInterval, 10_000, 1);
  const timeout = parse('--timeout', flags.timeout, Number.POSITIVE_INFINITY, 0);
  if (problems.length > 0) throw new UsageError(problems);
  return {
    interval,
    maxInterval: Math.max(interval, maxInterval),
    timeout: Number.isFinite(timeout) ? timeout : undefined,
  };
}
