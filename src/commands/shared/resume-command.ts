/** The command that goes on where this one stopped. */
import type { ServiceSettings } from '../../config/service.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { shellCommand } from '../../text/shell-quote.js';
import type { ResumeCommands } from './print-outcome.js';

/** The commands that go on with runs of the same service and save the same documents, ready to be pasted into a shell. */
export function resumeCommands(
  ids: readonly string[],
  { resumeFlags }: SameService,
  documents: DocumentFolder | undefined,
): ResumeCommands {
  const end = ids.some((id) => id.startsWith('-')) ? ['--'] : [];
  const command = (name: string, flags: readonly string[] = []) =>
    shellCommand(['wfr', name, ...resumeFlags, ...flags, ...end, ...ids]);
  return { watch: command('watch', documents?.flagsFor(ids)), status: command('status') };
}

type SameService = Pick<ServiceSettings, 'resumeFlags'>;
