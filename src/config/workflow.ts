/** Resolves the workflow to run, and the field that carries its id. */
import { UsageError, unknownName } from '../errors.js';
import type { DeclaredWorkflow } from '../inputs/check-declared.js';
import { declare } from '../parameters/declaration.js';
import type { WorkflowIdFieldChoice } from '../service/workflow-id-field.js';
import { isUuid } from '../text/url.js';
import type { Profile } from './profile.js';
import { isOn, resolveSetting, type ServiceSources } from './resolve-setting.js';

/** Resolves the field that carries the workflow's id, and whether a trigger is sent again after a 503. Throws UsageError. */
export function resolveTriggerSettings(sources: ServiceSources) {
  return {
    field: resolveSetting('workflowIdField', sources)?.text as WorkflowIdFieldChoice,
    resend503: isOn(resolveSetting('resend503', sources)),
  };
}

/**
 * Throws UsageError for an Idempotency-Key that several bodies would have: the rows of a batch, whose `field` is undefined,
 * or the spellings of the workflow's field.
 */
export function assertOneBody(headers: object, field?: WorkflowIdFieldChoice): void {
  // For a key, the service returns the run of an earlier request (draft-ietf-httpapi-idempotency-key-header).
  if (!('idempotency-key' in headers) || (field && field !== 'auto')) return;
  const problem = field
    ? 'requires --workflow-id-field: with auto, one key may have two bodies'
    : 'cannot be used in a batch: all rows would have the same key';
  throw new UsageError(`the header Idempotency-Key ${problem}`);
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Returns the workflows that a profile names; `parameters` is undefined if it does not declare them. */
export function namedWorkflows(profile: Profile | undefined) {
  return Object.entries(profile?.settings.workflows ?? {}).map(([name, setting]) => {
    const { id, parameters } = typeof setting === 'string' ? { id: setting } : setting;
    return { name, id, parameters: parameters && declare(parameters) };
  });
}

/**
 * Resolves a workflow, given as id, URL or name in the profile, to its id. Throws UsageError, also for an unknown name if
 * the profile has names.
 */
export function resolveWorkflowId(workflow: string, profile: Profile | undefined): string {
  if (workflow === '') throw new UsageError('the workflow is empty; pass its UUID or its URL');
  const named = namedWorkflows(profile);
  const own = named.find(({ name }) => name === workflow);
  if (own) return own.id;
  const ids = idsIn(workflow);
  if (ids.length > 1) {
    throw new UsageError(
      `${workflow}: contains several UUIDs; pass only the workflow's: ${ids.join(' or ')}`,
    );
  }
  const [id] = ids;
  if (id !== undefined) return isUuid(workflow) ? workflow : id;
  if (/^[\w.-]+(=|:=|@)/.test(workflow))
    throw new UsageError(`${workflow}: is an input; the workflow must be before it`);
  if (named.length === 0) return workflow;
  const names = named.map(({ name }) => name);
  throw unknownName(`${workflow}: no workflow of profile ${profile?.name}, and no UUID; `, workflow, names);
}

/** Returns the parameters that a profile declares for a workflow, given in any way; undefined if it does not. */
export function findDeclaredWorkflow(
  workflow: string,
  { checkParameters }: { checkParameters?: boolean },
  profile: Profile | undefined,
): DeclaredWorkflow | undefined {
  if (checkParameters === false) return undefined;
  const named = namedWorkflows(profile);
  const [id] = idsIn(workflow);
  const [first, another] = named.filter((one) => one.parameters && one.id.toLowerCase() === id);
  // Two names of one id may be for two versions of it.
  const only = another ? undefined : first;
  const { parameters } = named.find(({ name }) => name === workflow) ?? only ?? {};
  return parameters && { workflow, parameters };
}

/** Returns the UUIDs in a URL, or a text that is one, in lower case. */
function idsIn(workflow: string): string[] {
  if (!isUuid(workflow) && !/^https?:\/\//i.test(workflow)) return [];
  return [...new Set(workflow.toLowerCase().match(UUID))];
}

/** Returns a function that gives the name of a workflow in the profile; undefined for one without a name. */
export function workflowNames(profile: Profile | undefined): (id: string) => string | undefined {
  const names = new Map(namedWorkflows(profile).map(({ name, id }) => [id.toLowerCase(), name]));
  return (id) => names.get(id.toLowerCase());
}
