/** The workflows of a profile as those of the sandbox, for `--from-profile`. */
import { chooseProfile } from '../../config/profile.js';
import { findDeclaredWorkflow, namedWorkflows } from '../../config/workflow.js';
import { UsageError } from '../../errors.js';
import type { Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { DEFAULT_PENDING_MS, type Workflow } from '../../sandbox/workflow.js';

const STEPS = [
  { name: 'Read inputs', duration: 500 },
  { name: 'Write result', duration: 500 },
];

/**
 * Returns a workflow for each id of a profile, whose output has its inputs. One without declared parameters takes any
 * inputs. Throws UsageError.
 */
export async function profileWorkflows(name: string, context: Context): Promise<Workflow[]> {
  const profile = await chooseProfile({ profile: name }, context, '--from-profile');
  const named = namedWorkflows(profile);
  if (named.length === 0) throw new UsageError([`--from-profile ${name}: this profile has no workflows`]);
  const ids = [...new Set(named.map(({ id }) => id))];
  return ids.map((id) => {
    const names = named.filter((workflow) => workflow.id === id).map((workflow) => workflow.name);
    const parameters = findDeclaredWorkflow(id, {}, profile)?.parameters;
    const output = [...(parameters?.values() ?? [])].map((one) => [one.name, templateOf(one)]);
    return {
      id,
      versionName: names.join(', '),
      parameters,
      pendingFor: DEFAULT_PENDING_MS,
      steps: STEPS,
      output: Object.fromEntries(output),
      failure: undefined,
    };
  });
}

/** A whole document would have to fit into memory. */
function templateOf({ name, type }: Parameter): unknown {
  if (type !== 'document') return `{{${name}}}`;
  const members = ['mediaType', 'bytes', 'sha256'];
  return Object.fromEntries(members.map((member) => [member, `{{${name}.${member}}}`]));
}
