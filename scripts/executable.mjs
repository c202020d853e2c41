/** Makes an executable of wfr: a Node with one bundle of bin/ and src/ inside it, compiled where that Node runs here. */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { component } from './bundled-packages.mjs';

const ROOT = dirname(import.meta.dirname);
const HOST = `${process.platform}-${process.arch}`.replace('win32', 'win');
const NODE = JSON.parse(readFileSync(join(import.meta.dirname, 'node-binaries.json'), 'utf8'));

/** What runs a foreign Node, where it is installed. */
const EMULATORS = { 'linux-arm64': ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'] };

export const TARGETS = Object.keys(NODE.integrity);

/**
 * Makes `directory/wfr` (or wfr.exe) of the bundle in `bundle`, with the licences and the bill of materials beside it. It has
 * a code cache if programs of the target run here; otherwise a warning says so.
 */
export function makeExecutable(target, bundle, directory) {
  const node = nodeBinary(target);
  const hostNode = nodeBinary(HOST);
  const emulator = emulatorFor(target, node);
  const output = join(directory, target.startsWith('win') ? 'wfr.exe' : 'wfr');
  const config = {
    main: join(bundle, 'main.js'),
    executable: node,
    output,
    disableExperimentalSEAWarning: true,
    // V8 accepts what the same build of Node has compiled alone.
    useCodeCache: emulator !== undefined,
  };
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}.json`, JSON.stringify(config));
  const [command, ...args] = emulator ? [...emulator, node] : [hostNode];
  run(command, [...args, '--build-sea', `${directory}.json`]);
  if (!emulator) console.error(`warning: ${target} does not run here: its executable has no code cache`);
  copyFileSync(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  copyFileSync(join(bundle, 'LICENSES.txt'), join(directory, 'LICENSES.txt'));
  // The package for Windows lacks it; it is the same for all systems.
  copyFileSync(join(dirname(hostNode), '../LICENSE'), join(directory, 'LICENSE-node.txt'));
  writeFileSync(join(directory, 'sbom.cdx.json'), billWithNode(target, bundle));
}

/** Returns what stands before a program of the target on a command line here, or undefined if it does not run here. */
function emulatorFor(target, node) {
  const emulator = target === HOST ? [] : (EMULATORS[target] ?? []);
  const [command, ...args] = [...emulator, node, '-e', '0'];
  return spawnSync(command, args).status === 0 ? emulator : undefined;
}

/** Returns the path of a target's Node, downloaded from npm into node_modules/.cache. */
function nodeBinary(target) {
  const integrity = NODE.integrity[target];
  if (integrity === undefined)
    throw new Error(`no Node is known for ${target}; there is ${TARGETS.join(', ')}`);
  const cache = join(ROOT, 'node_modules/.cache/wfr-node', `${target}-${NODE.version}`);
  const node = join(cache, 'package/bin', target.startsWith('win') ? 'node.exe' : 'node');
  if (existsSync(node)) return node;
  mkdirSync(cache, { recursive: true });
  run('npm', ['pack', '--silent', `node-${target}@${NODE.version}`, '--pack-destination', cache]);
  const archive = join(cache, `node-${target}-${NODE.version}.tgz`);
  const digest = hash('sha512', readFileSync(archive), 'base64');
  if (`sha512-${digest}` !== integrity)
    throw new Error(`${archive} is not the one in scripts/node-binaries.json`);
  run('tar', ['-xzf', archive, '-C', cache]);
  return node;
}

function billWithNode(target, bundle) {
  const bill = JSON.parse(readFileSync(join(bundle, 'sbom.cdx.json'), 'utf8'));
  const node = { name: `node-${target}`, version: NODE.version, license: 'MIT' };
  const entry = component('platform', node, NODE.integrity[target]);
  bill.components.push(entry);
  bill.dependencies[0].dependsOn.push(entry['bom-ref']);
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Runs a command in the project. Throws with what it printed if it fails. */
export function run(command, args) {
  const { WFR_TOKEN, WFR_BASE_URL, NODE_OPTIONS, ...env } = process.env;
  const result = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', env });
  if (result.status === 0) return result.stdout;
  throw new Error(`${command} ${args.join(' ')}: ${result.error?.message ?? result.stderr}`);
}
