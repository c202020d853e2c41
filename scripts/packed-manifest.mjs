/**
 * Leaves the scripts out of the package.json that `npm pack` packs, as npm warns about them at each installation: before
 * npm packs, and puts it back after.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** npm never packs a file of this name. */
const ORIGINAL = 'package.json.orig';

if (process.env.npm_lifecycle_event === 'postpack') {
  renameSync(ORIGINAL, 'package.json');
} else if (!existsSync(ORIGINAL)) {
  const { scripts, devDependencies, ...published } = JSON.parse(readFileSync('package.json', 'utf8'));
  renameSync('package.json', ORIGINAL);
  writeFileSync('package.json', `${JSON.stringify(published, null, 2)}\n`);
}
