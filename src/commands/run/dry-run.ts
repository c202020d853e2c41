/** `wfr run --dry-run`: prints the request without sending it. */
import { createHash } from 'node:crypto';
import { factsOf } from '../../outcome/describe-error.js';
import { buildParts, digestSource } from '../../service/body.js';
import { runsUrl } from '../../service/service.js';
import { fieldsFor, variantsOf } from '../../service/workflow-id-field.js';
import { formatJson } from '../../text/json/format-json.js';
import { bufferOf } from '../../text/utf8.js';
import type { Session } from '../shared/session.js';
import type { RunPlan } from './plan.js';

/**
 * Prints `{method, url, headers, body}`, with header values hidden, the first spelling of the workflow's field that would be
 * sent, and size and SHA-256 in place of a document's base64.
 */
export async function printDryRun(
  plan: RunPlan,
  { reporter, stdout, layout, interruption }: Session,
): Promise<void> {
  const { trigger, settings, credentials } = plan;
  const { missing } = credentials;
  const { field, workflowId, inputs } = trigger;
  if (missing)
    reporter.warn(`${factsOf(missing).text}; without --dry-run, this command would exit with code 4`);
  const hidden = Object.fromEntries(Object.keys(settings.headers).map((name) => [name, '(hidden)']));
  const head = {
    method: 'POST',
    url: runsUrl(settings.baseUrl).href,
    headers: {
      ...hidden,
      'content-type': 'application/json',
      authorization: credentials.source && 'Bearer (hidden)',
    },
  };
  const [first] = variantsOf(field);
  let text = `${JSON.stringify(head).slice(0, -1)},"body":`;
  for (const part of buildParts(fieldsFor(first, workflowId), inputs))
    text +=
      part instanceof Uint8Array
        ? bufferOf(part).toString()
        : `(${part.size} bytes, SHA-256 ${await digestSource(part, createHash('sha256'), interruption.signal)})`;
  await stdout.write(formatJson(Buffer.from(`${text}}}}`), layout.jsonColors));
}
