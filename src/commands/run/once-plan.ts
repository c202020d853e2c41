/** The flags of `wfr run` that decide about an earlier command with the same --once file. */

import { UsageError } from '../../errors.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { NamedFile } from '../../platform/same-file.js';
import type { ResendOptions } from '../../runs/next-action.js';
import { isUsableId } from '../../service/parse-run.js';
import type { OutputFormat } from '../shared/output-flags.js';

export interface OnceFlags {
  once?: string;
  adopt?: string;
  resendUnknown?: boolean;
  retryFailed?: boolean;
  retryLost?: boolean;
}

export interface OncePlan {
  file: { path: string; name: string };
  /** The run that the user found for an unknown outcome. */
  adopted: string | undefined;
  resend: ResendOptions;
}

/** Returns the decisions; undefined without --once. Throws UsageError. */
export function planOnce(flags: OnceFlags, context: Context): OncePlan | undefined {
  const { once, adopt, resendUnknown = false, retryFailed = false, retryLost = false } = flags;
  if (once === undefined) return rejectDecisions(flags);
  if (once === '' || once === '-') throw new UsageError([`--once ${once}: expected the path of a file`]);
  if (adopt !== undefined && !isUsableId(adopt))
    throw new UsageError([`--adopt ${JSON.stringify(adopt)}: expected the id of a run`]);
  if (adopt !== undefined && resendUnknown)
    throw new UsageError(['--adopt and --resend-unknown exclude each other']);
  return {
    file: { path: resolvePath(once, context.cwd, context), name: once },
    adopted: adopt,
    resend: { resendUnknown: resendUnknown ? 'all' : [], retryFailed, retryLost, resendRejected: true },
  };
}

/** Throws UsageError where the Run would have to be printed, which a later command knows only after a request. */
export function assertIdOnly(isDetached: boolean, once: string | undefined, format: OutputFormat): void {
  if (!isDetached || once === undefined || format === 'text' || format === 'id') return;
  throw new UsageError([
    `--detach and --once print the id; --output ${format} requires the run: leave out --detach, or use wfr status`,
  ]);
}

/** Returns the file of --once, for the check that no two files are the same. */
export function onceFile({ once }: OnceFlags, context: Context): NamedFile[] {
  if (once === undefined) return [];
  return [{ name: `--once ${once}`, path: resolvePath(once, context.cwd, context), isWritten: true }];
}

function rejectDecisions({ adopt, resendUnknown, retryFailed, retryLost }: OnceFlags): undefined {
  const decisions = {
    '--adopt': adopt,
    '--resend-unknown': resendUnknown,
    '--retry-failed': retryFailed,
    '--retry-lost': retryLost,
  };
  const given = Object.entries(decisions).filter(([, value]) => value !== undefined);
  if (given.length === 0) return undefined;
  throw new UsageError(given.map(([flag]) => `${flag} requires --once <file>`));
}
