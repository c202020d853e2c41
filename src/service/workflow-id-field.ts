/**
 * The member that carries the workflow's id. The interface spells it `worfklowId` (field reference) and `workflowId`
 * (worked examples) and does not say which one the service reads.
 */
import type { HttpError } from '../errors.js';

export type WorkflowIdField = 'worfklowId' | 'workflowId' | 'both';
export const WORKFLOW_ID_FIELD_CHOICES = ['auto', 'worfklowId', 'workflowId', 'both'] as const;
export type WorkflowIdFieldChoice = (typeof WORKFLOW_ID_FIELD_CHOICES)[number];

/** The forms to try, in order. */
export function variantsOf(choice: WorkflowIdFieldChoice): readonly WorkflowIdField[] {
  return choice === 'auto' ? ['both', 'worfklowId', 'workflowId'] : [choice];
}

/** The members that stand before `inputs`. */
export function fieldsFor(form: WorkflowIdField, workflowId: string): Record<string, string> {
  return {
    ...(form === 'workflowId' ? {} : { worfklowId: workflowId }),
    ...(form === 'worfklowId' ? {} : { workflowId }),
  };
}

const NAMES_FIELD = /wor(fk|kf)low_?id/i;
const UNWANTED_FIELD =
  /\b(unknown|unexpected|additional|unrecogni[sz]ed|extra(neous)?)\b.{0,40}\b(fields?|propert(y|ies)|keys?|members?|attributes?|parameters?)\b/i;

/**
 * Returns what a refusal says about the spelling that was sent: `refused` where the message names the field or speaks of
 * unknown fields, so that another spelling is worth trying; `perhaps` for any other 400 or 422. That one is final: a
 * message that says nothing may come after a run was created.
 */
export function spellingHint({ info: { status, message = '' } }: HttpError): HttpError['spellingHint'] {
  if (status !== 400 && status !== 422) return undefined;
  const speaksOfField =
    NAMES_FIELD.test(message) || (UNWANTED_FIELD.test(message) && !/\binputs?\b/i.test(message));
  return speaksOfField ? 'refused' : 'perhaps';
}
