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

/** Returns the command line that runs a workflow with an example of each required parameter. */
export function exampleCommand(workflow: string, parameters: Parameters): string {
  return shellCommand(['wfr', 'run', workflow, ...exampleItems(parameters, false)]);
}

/** Returns examples of the optional parameters, to add to the command line; undefined if there are none. */
export function optionalItems(parameters: Parameters): string | undefined {
  const items = exampleItems(parameters, true);
  return items.length === 0 ? undefined : shellCommand(items);
}

function exampleItems(parameters: Parameters, isOptional: boolean): string[] {
  return [...parameters.values()].filter((one) => one.isOptional === isOptional).map(exampleItem);
}
