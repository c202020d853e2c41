/** Declared parameters as the items that people type: `customer=text`, `invoice@document.pdf`. */
import type { Parameter, Parameters, ParameterType } from '../parameters/declaration.js';
import { shellCommand } from '../text/shell-quote.js';
import { escapeName } from './item.js';

/** An example of each type: the separator, and a value. */
const EXAMPLES: Readonly<Record<ParameterType, readonly [separator: string, value: string]>> = {
  string: ['=', 'text'],
  document: ['@', 'document.pdf'],
  number: [':=', '1'],
  boolean: [':=', 'true'],
  object: [':=', '{}'],
  array: [':=', '[]'],
};

/** Returns the name of a parameter with the separator of its type, such as `invoice@`. */
export function itemStart({ name, type }: Pick<Parameter, 'name' | 'type'>): string {
  return escapeName(name) + EXAMPLES[type][0];
}

/** Returns an item with an example value. */
export function exampleItem(parameter: Parameter): string {
  return itemStart(parameter) + EXAMPLES[parameter.type][1];
}

/** Returns the command line that runs a workflow with an example of each required parameter, then the optional ones. */
export function exampleCommand(workflow: string, parameters: Parameters): string {
  const items = (isOptional: boolean) =>
    [...parameters.values()].filter((one) => one.isOptional === isOptional).map(exampleItem);
  const command = shellCommand(['wfr', 'run', workflow, ...items(false)]);
  const optional = items(true);
  return optional.length === 0 ? command : `${command}; optional: ${shellCommand(optional)}`;
}
