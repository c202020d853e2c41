/** The help on a workflow that a profile names: how to run it, and its declared parameters. */
import { chooseProfile, type Profile, type ProfileFlags } from '../../config/profile.js';
import { namedWorkflows } from '../../config/workflow.js';
import { exampleCommand, itemStart } from '../../inputs/item.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { sanitize } from '../../text/sanitize.js';
import { shellCommand } from '../../text/shell-quote.js';
import { layOutTerms } from '../../text/wrap.js';

/** A longer name has its description on the next line. */
const MAX_NAME_WIDTH = 27;

/** Returns the help; undefined if the profile has no workflow of this name, or cannot be read. */
export async function workflowHelp(
  name: string,
  flags: ProfileFlags,
  context: Context,
): Promise<string | undefined> {
  // Help is for those whose config file is not valid, too.
  const profile = await chooseProfile(flags, context).catch((): Profile | undefined => undefined);
  const workflow = namedWorkflows(profile).find((candidate) => candidate.name === name);
  if (profile === undefined || workflow === undefined) return undefined;
  const { id, parameters } = workflow;
  const title = sanitize(`Workflow ${name} of profile ${profile.name}: ${id}`);
  const command = parameters ? exampleCommand(name, parameters) : shellCommand(['wfr', 'run', name]);
  const list = parameters
    ? ['Parameters:', ...parametersList([...parameters.values()])]
    : ['Its parameters are not declared; see wfr help config.'];
  return `${[title, '', 'Example:', `  ${command}`, '', ...list].join('\n')}\n`;
}

function parametersList(parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return ['  none'];
  const names = parameters.map((parameter) => sanitize(itemStart(parameter)));
  const width = Math.min(Math.max(...names.map(({ length }) => length)), MAX_NAME_WIDTH);
  return layOutTerms(
    parameters.map((parameter, index) => [names[index] ?? '', sanitize(describeParameter(parameter))]),
    width + 4,
  );
}
