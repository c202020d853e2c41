/** Which workflow, and how its id is sent. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { WORKFLOW_ID_FIELD_CHOICES, type WorkflowIdFieldChoice } from '../service/workflow-id-field.js';
import type { Profile } from './profile.js';
import { isPermitted, rawSetting } from './settings.js';

/** What applies where nothing was written. */
export const DEFAULT_WORKFLOW_ID_FIELD: WorkflowIdFieldChoice = 'auto';

/** Throws UsageError. */
export function workflowIdField(
  flags: { workflowIdField?: string },
  profile: Profile | undefined,
  context: Context,
): WorkflowIdFieldChoice {
  const written = rawSetting('workflowIdField', flags, profile, context);
  if (written === undefined) return DEFAULT_WORKFLOW_ID_FIELD;
  const choice = WORKFLOW_ID_FIELD_CHOICES.find((candidate) => candidate === written.text);
  if (choice !== undefined) return choice;
  const choices = WORKFLOW_ID_FIELD_CHOICES.join(', ');
  throw new UsageError([`${written.source} ${written.text}: choose one of ${choices}`]);
}

/** Returns whether a trigger may be sent again after a 503 with Retry-After. */
export function mayResend503(
  flags: { resend503?: boolean; baseUrl?: string },
  profile: Profile | undefined,
  context: Context,
): boolean {
  return isPermitted(rawSetting('resend503', flags, profile, context));
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** The id of a workflow that was given as such, as its URL, or by a name that the profile has for it. Throws UsageError. */
export function workflowId(workflow: string, profile: Profile | undefined): string {
  if (workflow === '') throw new UsageError(['the workflow is empty; give its UUID or its URL']);
  const { workflows = {} } = profile?.settings ?? {};
  if (Object.hasOwn(workflows, workflow)) return workflows[workflow] ?? workflow;
  if (!/^https?:\/\//i.test(workflow)) return workflow;
  const ids = [...new Set((workflow.match(UUID) ?? []).map((id) => id.toLowerCase()))];
  if (ids.length > 1) {
    throw new UsageError([`${workflow}: holds several UUIDs; give the workflow's own: ${ids.join(' or ')}`]);
  }
  return ids[0] ?? workflow;
}

/** A warning for a text that is neither a UUID nor a URL, nor any of the names that the profile has; none otherwise. */
export function unknownNameWarning(workflow: string, profile: Profile | undefined): string[] {
  const names = Object.keys(profile?.settings.workflows ?? {});
  if (profile === undefined || names.length === 0 || names.includes(workflow)) return [];
  if (new RegExp(`^(https?://|${UUID.source}$)`, 'i').test(workflow)) return [];
  return [
    `${workflow} is sent as it stands: it is no UUID, and none of the names in profile ${profile.name} (${names.join(', ')})`,
  ];
}
