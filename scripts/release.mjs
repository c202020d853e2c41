/**
 * Makes what a release consists of, in release/: the npm package, the executables, and their SHA-256 sums.
 * `npm run release [-- --dry-run] [--targets linux-x64,win-x64] [--out directory]`
 */
import { hash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeExecutable, run, TARGETS } from './executable.mjs';

const ROOT = dirname(import.meta.dirname);
const MAX_PACKAGE_BYTES = 605_000;
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const { values: flags } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    targets: { type: 'string', default: TARGETS.join(',') },
    out: { type: 'string' },
  },
});

const work = mkdtempSync(join(tmpdir(), 'wfr-release-'));
try {
  report(problems());
  release(emptyDirectory());
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Returns why this cannot be released as it is. */
function problems() {
  const { version, repository } = manifest;
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const tag = process.env.GITHUB_REF_TYPE === 'tag' ? process.env.GITHUB_REF_NAME : `v${version}`;
  // A container's checkout may belong to another user.
  const changes = run('git', ['-c', 'safe.directory=*', 'status', '--porcelain']);
  const checks = [
    [changes === '', 'the working tree has changes that are not committed'],
    [changelog.includes(`\n## [${version}]`), `CHANGELOG.md has no section for ${version}`],
    [!/\n## \[Unreleased\]\s+(?!## )\S/.test(changelog), 'CHANGELOG.md has entries under [Unreleased]'],
    [lock.version === version, `package-lock.json has the version ${lock.version}, package.json ${version}`],
    [tag === `v${version}`, `the tag is ${tag}, the version in package.json ${version}`],
    [!repository.url.includes('/OWNER/'), 'package.json: the owner of the repository is a placeholder'],
  ];
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}

/** Prints the problems. Throws if there are any, unless this is a dry run. */
function report(found) {
  for (const problem of found) console.error(`${flags['dry-run'] ? 'warning' : 'error'}: ${problem}`);
  if (found.length > 0 && !flags['dry-run'])
    throw new Error('not released; --dry-run makes the files all the same');
}

/** Makes release/ anew, or the directory that --out names. Throws if that one exists. */
function emptyDirectory() {
  const directory = resolve(flags.out ?? join(ROOT, 'release'));
  if (flags.out === undefined) rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  return directory;
}

function release(out) {
  const dist = join(work, 'dist');
  run(process.execPath, ['build.mjs', dist]);
  pack(dist, out);
  cpSync(join(dist, 'sbom.cdx.json'), join(out, `wfr-${manifest.version}.cdx.json`));
  const bundle = join(work, 'bundle');
  run(process.execPath, ['build.mjs', bundle, 'scripts/executable-main.cjs']);
  for (const target of flags.targets.split(',').filter(Boolean)) archiveExecutable(target, bundle, out);
  const files = readdirSync(out).sort();
  const sums = files.map((file) => `${hash('sha256', readFileSync(join(out, file)))}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  for (const file of files) console.log(`${statSync(join(out, file)).size.toString().padStart(10)}  ${file}`);
}

/** Makes the npm package. npm is handed a copy, so that dist/ of the project is left alone. */
function pack(dist, out) {
  const copy = join(work, 'package');
  for (const path of ['README.md', 'LICENSE', ...manifest.files.filter((name) => name !== 'dist')])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  cpSync(dist, join(copy, 'dist'), { recursive: true });
  nameRepository(join(copy, 'docs/install.md'));
  // An installation would warn about `prepare`, which only a clone runs.
  const { scripts, devDependencies, ...published } = manifest;
  writeFileSync(join(copy, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  run('npm', ['pack', copy, '--ignore-scripts', '--silent', '--pack-destination', out]);
  const { size } = statSync(join(out, `wfr-${manifest.version}.tgz`));
  if (size > MAX_PACKAGE_BYTES)
    throw new Error(`the package has ${size} bytes, more than ${MAX_PACKAGE_BYTES}`);
}

/** Fills in the repository, which package.json alone names. Names of images have no capitals. */
function nameRepository(page) {
  const [, name] = /([^/]+\/[^/]+)\.git$/.exec(manifest.repository.url);
  const text = readFileSync(page, 'utf8').replaceAll('ghcr.io/OWNER/wfr', `ghcr.io/${name.toLowerCase()}`);
  writeFileSync(page, text.replaceAll('OWNER/wfr', name));
}

function archiveExecutable(target, bundle, out) {
  const directory = join(work, target);
  makeExecutable(target, bundle, directory);
  const archive = join(out, `wfr-${manifest.version}-${target}.tar.gz`);
  const reproducible = ['--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+w,go-w'];
  const files = readdirSync(directory).sort();
  run('tar', ['-c', '-I', 'gzip -9n', '-f', archive, ...reproducible, '-C', directory, ...files]);
}
