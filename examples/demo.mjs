/**
 * `npm run demo`: sends a real document through the built-in sandbox. It is not a line of package.json, because npm
 * mistakes the workflow's id for a secret and hides it in the command that it prints.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('..', import.meta.url));
const run = ['run', '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', 'invoice@examples/invoice.pdf', 'customer=ACME'];
console.error(`wfr sandbox -- wfr ${run.join(' ')}\n`);
const wfr = [process.execPath, 'bin/wfr.js'];
const [node, ...args] = [...wfr, 'sandbox', '--', ...wfr, ...run];
const { status } = spawnSync(node, args, { cwd, stdio: 'inherit' });
process.exitCode = status ?? 1;
