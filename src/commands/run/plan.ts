import type { LoadedCredentials } from '../../config/credentials.js';
import type { ServiceSettings } from '../../config/service.js';
import type { WaitSettings } from '../../config/wait.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { Trigger } from '../../service/create-run.js';
import type { Presentation } from '../../view/presentation.js';
import type { OutputFormat } from '../shared/output-format.js';

/** Everything that a run needs, checked. */
export interface RunPlan {
  settings: ServiceSettings;
  credentials: LoadedCredentials;
  wait: WaitSettings;
  format: OutputFormat;
  presentation: Presentation;
  trigger: Trigger;
  documents: DocumentFolder | undefined;
  /** Return once the run has been accepted. */
  detached: boolean;
  warnings: readonly string[];
}
