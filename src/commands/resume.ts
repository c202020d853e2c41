/** The command that goes on where this one stopped. */
import type { ServiceSettings } from '../config/service.js';
import { shellCommand } from '../shell-quote.js';
import type { NextCommands } from './conclude.js';

/** The commands that go on with runs of the same service, ready to be pasted into a shell. */
export function nextCommands(ids: readonly string[], { sameService }: SameService): NextCommands {
  const end = ids.some((id) => id.startsWith('-')) ? ['--'] : [];
  const command = (name: string) => shellCommand(['wfr', name, ...sameService, ...end, ...ids]);
  return { watch: command('watch'), status: command('status') };
}

type SameService = Pick<ServiceSettings, 'sameService'>;
