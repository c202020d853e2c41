/** Resolves the workflow to run, and the field that carries its id. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { WORKFLOW_ID_FIELD_CHOICES, type WorkflowIdFieldChoice } from '../service/workflow-id-field.js';
import type { Profile } from './profile.js';
import { isOn, resolveSetting } from './resolve-setting.js';
import { formatSource } from './setting-source.js';

/** Resolves the field that carries the workflow's id. Throws UsageError. */
export function resolveWorkflowIdField(
  flags: { workflowIdField?: string },
  profile: Profile | undefined,
  context: Context,
): WorkflowIdFieldChoice {
  const raw = resolveSetting('workflowIdField', flags, profile, context);
  const choice = WORKFLOW_ID_FIELD_CHOICES.find((candidate) => candidate === raw?.text);
  if (raw === undefined || choice === undefined) {
    const choices = WORKFLOW_ID_FIELD_CHOICES.join(', ');
    throw new UsageError([`${raw && formatSource(raw.source)} ${raw?.text}: choose one of ${choices}`]);
  }
  return choice;
}

/** Returns whether a trigger may be sent again after a 503 with Retry-After. */
export function mayResend503(
  flags: { resend503?: boolean; baseUrl?: string },
  profile: Profile | undefined,
  context: Context,
): boolean {
  return isOn(resolveSetting('resend503', flags, profile, context));
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** Resolves a workflow, given as id, URL or name in the profile, to its id. Throws UsageError. */
export function resolveWorkflowId(workflow: string, profile: Profile | undefined): string {
  if (workflow === '') throw new UsageError(['the workflow is empty; pass its UUID or its URL']);
  const { workflows = {} } = profile?.settings ?? {};
  if (Object.hasOwn(workflows, workflow)) return workflows[workflow] ?? workflow;
  if (!/^https?:\/\//i.test(workflow)) return workflow;
  const ids = [...new Set((workflow.match(UUID) ?? []).map((id) => id.toLowerCase()))];
  if (ids.length > 1) {
    throw new UsageError([
      `${workflow}: contains several UUIDs; pass only the workflow's: ${ids.join(' or ')}`,
    ]);
  }
  return ids[0] ?? workflow;
}

/** Returns a warning for a workflow that is not a UUID, a URL or a name in the profile; none if the profile has no names. */
export function checkWorkflowName(workflow: string, profile: Profile | undefined): string[] {
  const names = Object.keys(profile?.settings.workflows ?? {});
  if (profile === undefined || names.length === 0 || names.includes(workflow)) return [];
  if (new RegExp(`^(https?://|${UUID.source}$)`, 'i').test(workflow)) return [];
  return [
    `${workflow} is neither a UUID nor a workflow name in profile ${profile.name} (${names.join(', ')}); it is sent unchanged`,
  ];
}
