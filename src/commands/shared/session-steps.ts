/** The steps of validation that every command with a session has. */
import { loadCredentials } from '../../config/credentials.js';
import type { ServiceSources } from '../../config/resolve-setting.js';
import { resolveServiceSettings } from '../../config/service.js';
import { decidePresentation, type PresentationFlags } from '../../view/presentation.js';

/** Returns the steps, for collectUsageErrors. */
export function sessionSteps(sources: ServiceSources & { flags: PresentationFlags }) {
  return {
    presentation: () => decidePresentation(sources.flags, sources.context),
    credentials: () => loadCredentials(sources),
    settings: () => resolveServiceSettings(sources),
  };
}
