/** Which workflow, and how its id is sent. */
import type { Context } from '../context.js';
import { UsageError } from '../errors.js';
import { WORKFLOW_ID_FIELD_CHOICES, type WorkflowIdFieldChoice } from '../service/workflow-id-field.js';

/** Throws UsageError. */
export function workflowIdField(flag: string | undefined, context: Context): WorkflowIdFieldChoice {
  const written = flag ?? (context.env.WFR_WORKFLOW_ID_FIELD || 'auto');
  const choice = WORKFLOW_ID_FIELD_CHOICES.find((candidate) => candidate === written);
  if (choice !== undefined) return choice;
  const source = flag === undefined ? 'WFR_WORKFLOW_ID_FIELD' : '--workflow-id-field';
  throw new UsageError([`${source} ${written}: choose one of ${WORKFLOW_ID_FIELD_CHOICES.join(', ')}`]);
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** The id of a workflow that was given as such or as its URL. Throws UsageError. */
export function workflowId(workflow: string): string {
  if (workflow === '') throw new UsageError(['the workflow is empty; give its UUID or its URL']);
  if (!/^https?:\/\//i.test(workflow)) return workflow;
  const ids = [...new Set((workflow.match(UUID) ?? []).map((id) => id.toLowerCase()))];
  if (ids.length > 1) {
    throw new UsageError([`${workflow}: holds several UUIDs; give the workflow's own: ${ids.join(' or ')}`]);
  }
  return ids[0] ?? workflow;
}
