/** Finds the places of the sources where a small change should make a test fail, and compiles such changes in. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const OPERATORS = {
  __proto__: null,
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
};
const METHODS = {
  __proto__: null,
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  indexOf: 'lastIndexOf',
  lastIndexOf: 'indexOf',
  toLowerCase: 'toUpperCase',
  padStart: 'padEnd',
  padEnd: 'padStart',
};
/** Methods whose call may be left out. */
const OMITTED = new Set([
  'trim',
  'trimEnd',
  'filter',
  'sort',
  'reverse',
  'slice',
  'toWellFormed',
  'replace',
  'replaceAll',
]);

/**
 * Returns every mutant of the sources below `root`: `{ file, line, start, end, kind, from, to, atImport }`, offsets in
 * characters; `atImport`: outside of functions.
 */
export function findMutants(root) {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?<!\.d)\.ts$/.test(name),
  );
  return files.sort().flatMap((name) => findMutantsOf(join(root, name)));
}

function findMutantsOf(file) {
  const source = readFileSync(file, 'utf8');
  const found = [];
  const text = ({ start, end }) => source.slice(start, end);
  let depth = 0;
  const add = (node, to, kind = 'expression') => {
    const line = source.slice(0, node.start).split('\n').length;
    const { start, end } = node;
    found.push({ file, line, start, end, kind, from: text(node), to, atImport: depth === 0 });
  };
  const visit = (node, parent, key) => {
    if (node.type.startsWith('TS')) {
      // Types have no effect; `value as Type` and `value!` do.
      if (node.expression !== undefined) visit(node.expression, node, 'expression');
      return;
    }
    if (/^(Import|ExportAll)/.test(node.type) && node.type !== 'ImportExpression') return;
    const isFunction = /Function/.test(node.type);
    if (isFunction) depth += 1;
    if (!isName(node, parent, key)) mutate(node, parent, key, { text, add, source });
    for (const [name, child] of Object.entries(node)) {
      for (const each of Array.isArray(child) ? child : [child]) {
        if (typeof each?.type === 'string') visit(each, node, name);
      }
    }
    if (isFunction) depth -= 1;
  };
  visit(parseAst(source, { lang: 'ts', astType: 'ts' }), { type: 'none' }, '');
  return found;
}

/** Whether a node names a member, a module or a directive, and is no value. */
function isName(node, parent, key) {
  if (node.type !== 'Literal' && node.type !== 'TemplateLiteral') return false;
  if (key === 'key' && parent.computed !== true) return true;
  return (
    ['ImportExpression', 'ImportAttribute', 'TaggedTemplateExpression'].includes(parent.type) ||
    key === 'source' ||
    typeof parent.directive === 'string'
  );
}

function mutate(node, parent, key, { text, add, source }) {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      const [left, right] = [text(node.left), text(node.right)];
      for (const operator of OPERATORS[node.operator] ?? [])
        add(node, `(${left}) ${operator} (${right})`.replace(/^\((.*)\) ([-+]=)/, '$1 $2'));
      if (node.operator === '??') add(node, left);
      return;
    }
    case 'UnaryExpression':
      if (node.operator === '!' || node.operator === '-') add(node, text(node.argument));
      return;
    case 'UpdateExpression':
      return add(
        node,
        text(node).replace(/\+\+|--/, (operator) => (operator === '++' ? '--' : '++')),
      );
    case 'ConditionalExpression':
    case 'IfStatement':
      add(node.test, 'true');
      return add(node.test, 'false');
    case 'WhileStatement':
      return add(node.test, 'false');
    case 'Literal':
      if (node.regex !== undefined) return mutateRegExp(node, { text, add });
      if (typeof node.value === 'boolean') return add(node, String(!node.value));
      if (typeof node.value === 'number') return add(node, String(node.value + 1));
      if (typeof node.value === 'string') add(node, node.value === '' ? "'mutant'" : "''");
      return;
    case 'TemplateLiteral':
      return add(node, "''");
    case 'ArrayExpression':
      if (node.elements.length > 0) add(node, '[]');
      return;
    case 'ObjectExpression':
      if (node.properties.length > 0) add(node, '{}');
      return;
    case 'ChainExpression':
      return add(node, text(node).replace('?.', text(node).match(/\?\.[[(]/) ? '' : '.'));
    case 'ArrowFunctionExpression':
      if (node.expression) add(node.body, 'undefined');
      return;
    case 'CallExpression':
      return mutateCall(node, parent, key, { text, add, source });
    case 'ExpressionStatement':
      if (typeof node.directive !== 'string' && node.expression.callee?.type !== 'Super')
        add(node, '', 'statement');
      return;
    case 'BlockStatement':
      if (node.body.length === 0) return;
      if (/Function/.test(parent.type)) add(node, '{}', 'function');
      else if (node.body.length > 1) add(node, '{}', 'block');
  }
}

function mutateCall(node, parent, key, { text, add, source }) {
  const { callee } = node;
  // Inside `a?.b()`, parentheses would change what is left out.
  if (callee.type !== 'MemberExpression' || callee.optional || callee.computed) return;
  if (parent.type === 'ChainExpression' || (key === 'object' && text(node).includes('?.'))) return;
  const { name } = callee.property;
  if (OMITTED.has(name)) add(node, text(callee.object));
  if (METHODS[name] !== undefined)
    add(
      node,
      source.slice(node.start, callee.property.start) +
        METHODS[name] +
        source.slice(callee.property.end, node.end),
    );
}

function mutateRegExp(node, { text, add }) {
  const { pattern, flags } = node.regex;
  if (pattern.startsWith('^')) add(node, `/${pattern.slice(1)}/${flags}`);
  if (pattern.endsWith('$') && !pattern.endsWith('\\$'))
    add(node, `/${pattern.slice(0, -1) || '(?:)'}/${flags}`);
  const quantified = text(node).replace(/(?<=[\])a-zA-Z.])\+/, '');
  if (quantified !== text(node)) add(node, quantified);
}

/** Returns the source with all these mutants in it; `globalThis.isMutant(id)` says which of them is on. */
export function compileMutants(source, mutants) {
  const inserted = mutants.flatMap((mutant, index) => {
    const { id, start, end, kind, to } = mutant;
    const [before, after] = {
      expression: [`(globalThis.isMutant(${id}) ? (${to}) : (`, '))'],
      statement: [`{ if (!globalThis.isMutant(${id})) { `, ' } }'],
      function: [`{ if (globalThis.isMutant(${id})) return; `, ' }'],
      block: [`{ if (!globalThis.isMutant(${id})) `, ' }'],
    }[kind];
    // What begins first, or ends last, is outside.
    return [
      { at: start, rank: [1, -end, index], text: before },
      { at: end, rank: [0, -start, -index], text: after },
    ];
  });
  inserted.sort(
    (a, b) => a.at - b.at || a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2],
  );
  let result = '';
  let from = 0;
  for (const { at, text } of inserted) {
    result += source.slice(from, at) + text;
    from = at;
  }
  return result + source.slice(from);
}
