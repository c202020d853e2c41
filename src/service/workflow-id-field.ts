/**
 * The variants of the member that carries the workflow's id. The interface spells it `worfklowId` (field reference) and
 * `workflowId` (worked examples) and does not say which one the service reads.
 */
import type { HttpError } from './http-error.js';

export const WORKFLOW_ID_FIELD_CHOICES = ['auto', 'worfklowId', 'workflowId', 'both'] as const;
export type WorkflowIdFieldChoice = (typeof WORKFLOW_ID_FIELD_CHOICES)[number];
export type WorkflowIdField = Exclude<WorkflowIdFieldChoice, 'auto'>;

/** Returns the variants to try, in order. */
export function variantsOf(choice: WorkflowIdFieldChoice): readonly [WorkflowIdField, ...WorkflowIdField[]] {
  return choice === 'auto' ? ['both', 'worfklowId', 'workflowId'] : [choice];
}

/** Returns the members of the body before `inputs`. */
export function fieldsFor(variant: WorkflowIdField, workflowId: string): Record<string, string> {
  return variant === 'both' ? { worfklowId: workflowId, workflowId } : { [variant]: workflowId };
}

const NAMES_FIELD = /wor(fk|kf)low_?id/i;
const UNWANTED_FIELD =
  /\b(unknown|unexpected|additional|unrecogni[sz]ed|extra(neous)?)\b.{0,40}\b(fields?|propert(y|ies)|keys?|members?|attributes?|parameters?)\b/i;

/**
 * Returns whether an error says that the variant of the field is wrong: the message of a 400 or 422 names the field, or
 * mentions unknown fields. Only then is another variant sent, because any other error may come after a run was created.
 */
export function blamesField({ info: { status, message = '' } }: HttpError): boolean {
  if (status !== 400 && status !== 422) return false;
  return NAMES_FIELD.test(message) || (UNWANTED_FIELD.test(message) && !/\binputs?\b/i.test(message));
}
