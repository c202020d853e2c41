/**
 * The member that carries the workflow's id. The interface spells it `worfklowId` (field reference) and `workflowId`
 * (worked examples) and does not say which one the service reads.
 */
import type { RefusedError } from '../errors.js';

export type WorkflowIdField = 'worfklowId' | 'workflowId' | 'both';
export const WORKFLOW_ID_FIELD_CHOICES = ['auto', 'worfklowId', 'workflowId', 'both'] as const;
export type WorkflowIdFieldChoice = (typeof WORKFLOW_ID_FIELD_CHOICES)[number];

/** The forms to try, in order. */
export function formsOf(choice: WorkflowIdFieldChoice): readonly WorkflowIdField[] {
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
/** A message of nothing but these words, such as "The request body is invalid." or "Validation failed", says nothing. */
const EMPTY_WORDS =
  /\b(http|error|errors|code|status|\d{3}|an?|the|is|was|were|are|has|have|one|or|more|occurred|your|this|bad|invalid|malformed|failed|failure|request|requests|body|payload|json|validation|unprocessable|entity|content|input|exception|of|html|page)\b/gi;

const saysNothing = (message: string) =>
  message.replace(EMPTY_WORDS, '').replace(/[\s.,:;!()"'-]/g, '') === '';

/** Whether a refusal may be about the spelling, so that another one is worth trying: a refused request created nothing. */
export function mayBeAboutSpelling({ refusal }: RefusedError): boolean {
  if (refusal.status !== 400 && refusal.status !== 422) return false;
  const message = refusal.message ?? '';
  if (NAMES_FIELD.test(message)) return true;
  if (saysNothing(message)) return true;
  return UNWANTED_FIELD.test(message) && !/\binputs?\b/i.test(message);
}

/** Of the refusals of all forms, the one to report: the first that does not speak of the field itself. */
export function mostTelling(refusals: readonly RefusedError[]): RefusedError | undefined {
  const speaksOfField = ({ refusal: { message = '' } }: RefusedError) =>
    NAMES_FIELD.test(message) || UNWANTED_FIELD.test(message);
  return refusals.find((refusal) => !speaksOfField(refusal)) ?? refusals.at(-1);
}
