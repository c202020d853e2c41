/** `wfr run --dry-run`: prints the request without sending it. */
import { createHash } from 'node:crypto';
import { factsOf } from '../../outcome/describe-error.js';
import { blockBuffer, type Input } from '../../service/body.js';
import type { Trigger } from '../../service/create-run.js';
import { runsUrl } from '../../service/service.js';
import { fieldsFor, variantsOf } from '../../service/workflow-id-field.js';
import { formatJson } from '../../text/json/format-json.js';
import type { Session } from '../shared/session.js';
import type { RunPlan } from './plan.js';

/** Prints `{method, url, headers, body}`, with header values hidden and documents replaced by size and SHA-256. */
export async function printDryRun(plan: RunPlan, { reporter, stdout, layout }: Session): Promise<void> {
  const { trigger, settings, credentials } = plan;
  const { missing } = credentials;
  if (missing !== undefined)
    reporter.warn(`${factsOf(missing).text}; without --dry-run, this command would exit with code 4`);
  const hidden = Object.fromEntries(Object.keys(settings.headers).map((name) => [name, '(hidden)']));
  const head = {
    method: 'POST',
    url: runsUrl(settings.baseUrl).href,
    headers: {
      ...hidden,
      'content-type': 'application/json',
      ...(credentials.source === undefined ? {} : { authorization: 'Bearer (hidden)' }),
    },
  };
  await stdout.write(formatJson(Buffer.from(await requestText(head, trigger)), layout.jsonColors));
}

/** Returns the request as JSON, with the first spelling of the workflow's field that would be sent. */
async function requestText(head: object, trigger: Trigger): Promise<string> {
  const [field] = variantsOf(trigger.field);
  const inputs: string[] = [];
  for (const input of trigger.inputs)
    inputs.push(`${JSON.stringify(input.name)}:${await summarizeValue(input)}`);
  const fields = JSON.stringify(fieldsFor(field, trigger.workflowId)).slice(0, -1);
  return `${JSON.stringify(head).slice(0, -1)},"body":${fields},"inputs":{${inputs.join(',')}}}}`;
}

/** Returns a value's JSON text, with size and digest in place of a document's base64. */
async function summarizeValue({ parts }: Input): Promise<string> {
  let text = '';
  for (const part of parts) {
    if (part instanceof Uint8Array) text += Buffer.from(part).toString();
    else {
      const hash = createHash('sha256');
      for await (const block of part.blocks(blockBuffer(part.size))) hash.update(block);
      text += `(${part.size} bytes, SHA-256 ${hash.digest('hex')})`;
    }
  }
  return text;
}
