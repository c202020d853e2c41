/** `wfr run --dry-run`: prints the request without sending it. */
import { createHash } from 'node:crypto';
import { factsOf } from '../../outcome/describe-error.js';
import { blockBuffer, buildParts, type Source } from '../../service/body.js';
import type { Trigger } from '../../service/create-run.js';
import { runsUrl } from '../../service/service.js';
import { fieldsFor, variantsOf } from '../../service/workflow-id-field.js';
import { formatJson } from '../../text/json/format-json.js';
import { bufferOf } from '../../text/utf8.js';
import type { Session } from '../shared/session.js';
import type { RunPlan } from './plan.js';

/** Prints `{method, url, headers, body}`, with header values hidden and documents replaced by size and SHA-256. */
export async function printDryRun(plan: RunPlan, { reporter, stdout, layout }: Session): Promise<void> {
  const { trigger, settings, credentials } = plan;
  const { missing } = credentials;
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
  await stdout.write(formatJson(Buffer.from(await requestText(head, trigger)), layout.jsonColors));
}

/**
 * Returns the request as JSON, with the first spelling of the workflow's field that would be sent, and size and digest in
 * place of a document's base64.
 */
async function requestText(head: object, { field, workflowId, inputs }: Trigger): Promise<string> {
  const [first] = variantsOf(field);
  let text = `${JSON.stringify(head).slice(0, -1)},"body":`;
  for (const part of buildParts({ fields: fieldsFor(first, workflowId), inputs }))
    text += part instanceof Uint8Array ? bufferOf(part).toString() : await summarizeDocument(part);
  return `${text}}}}`;
}

async function summarizeDocument(document: Source): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of document.blocks(blockBuffer(document.size))) hash.update(block);
  return `(${document.size} bytes, SHA-256 ${hash.digest('hex')})`;
}
