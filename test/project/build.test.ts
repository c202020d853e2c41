/** The build: what it makes depends on the project alone, not on where it lies. */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { BIN, ROOT, start } from '../helpers/process.js';

const LEFT_OUT = ['.git', 'dist', 'node_modules', 'test'];

/** A copy of the project with only those packages that are bundled; each test moves it to where it builds. */
let project = join(temporaryFolder(), 'project');

beforeAll(() => {
  const licences = readFileSync(join(ROOT, 'dist/LICENSES.txt'), 'utf8');
  const packages = Array.from(
    licences.matchAll(/^(\S+) \d+\.\d+\.\S+$/gm),
    ([, name]) => `node_modules/${name}`,
  );
  const sources = readdirSync(ROOT).filter((name) => !LEFT_OUT.includes(name));
  for (const path of [...sources, ...packages]) {
    cpSync(join(ROOT, path), join(project, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules/rolldown'), join(project, 'node_modules/rolldown'));
});

/** The SHA-256 of each file in a folder. */
function digestsIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

describe('the build', () => {
  test.each(['src/wfr', 'undici/lib', 'commander/project', 'node_modules/x', 'Ein Ordner für alles', 'src'])(
    'gives the same bytes in a folder that is named %s',
    async (name) => {
      const moved = join(temporaryFolder(), name);
      mkdirSync(dirname(moved), { recursive: true });
      renameSync(project, moved);
      project = moved;
      const { exitCode, stderr } = await start(process.execPath, ['build.mjs'], {}, { cwd: moved }).ended;
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(digestsIn(join(moved, 'dist'))).toEqual(digestsIn(join(ROOT, 'dist')));
    },
  );

  test.each([
    ['--version', []],
    ['--help', []],
    ['--bad', ['errors.js']],
  ])('wfr %s loads no more than the start and %j', async (flag, others) => {
    const code = `process.on('exit', () => console.log(Object.keys(require.cache).join('\\n')));
      require(${JSON.stringify(BIN)});`;
    const { stdout } = await start(process.execPath, ['--eval', code, 'wfr', flag]).ended;
    const loaded = stdout.split('\n').filter((line) => line.startsWith(join(ROOT, 'dist')));
    const expected = ['main.js', 'start.js', 'rolldown-runtime.js', ...others];
    expect(loaded.map((path) => basename(path)).sort()).toEqual(expected.sort());
  });
});
