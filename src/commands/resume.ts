/** The command that goes on where this one stopped. */
import type { ServiceSettings } from '../config/service.js';
import { shellCommand } from '../shell-quote.js';

/** `wfr watch` for a run of the same service, ready to be pasted into a shell. */
export function resumeCommand(id: string, { sameService }: Pick<ServiceSettings, 'sameService'>): string {
  const end = id.startsWith('-') ? ['--'] : [];
  return shellCommand(['wfr', 'watch', ...sameService, ...end, id]);
}
