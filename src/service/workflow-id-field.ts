/**
 * The variants of the member that carries the workflow's id. The interface spells it `worfklowId` (field reference) and
 * `workflowId` (worked examples) and does not say which one the service reads.
 */

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
