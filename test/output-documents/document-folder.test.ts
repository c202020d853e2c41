/** `--save-documents`: documents in outputs become files. */
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemError } from '../../src/platform/system-error.js';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { effort } from '../helpers/effort.js';
import { bash, startWfr } from '../helpers/process.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const uri = (type: string, bytes: Buffer | string) =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

/** Watches a run with this output, in a folder of its own. */
async function watched(
  output: unknown,
  flags: string[] = ['--save-documents', 'out'],
  cwd = temporaryFolder(),
  platform: NodeJS.Platform = 'linux',
) {
  const body = typeof output === 'string' && output.startsWith('{') ? output : JSON.stringify(output);
  const run = JSON.stringify({ ...aFinishedRun(), output: 0 }).replace('"output":0', `"output":${body}`);
  const { baseUrl } = await scriptedService((request, reply) => {
    reply.send(200, run.replace('"run-1"', `"${request.path.slice('/runs/'.length)}"`));
  });
  const args = flags.includes('--') ? ['watch', ...flags] : ['watch', 'run-1', ...flags];
  return { ...(await runCli(args, { cwd, env: { WFR_BASE_URL: baseUrl }, platform })), cwd };
}

describe('--save-documents', () => {
  test('--save-documents: each data URI becomes a file named after its position, and the JSON has the path', async () => {
    const scan = randomBytes(300_001);
    const { stdout, stderr, exitCode, cwd } = await watched({
      total: 1,
      document: uri('application/pdf', scan),
      pages: [{ image: uri('image/png', 'one') }, { image: uri('image/png', 'two') }],
      'scan.txt': 'data:text/plain;charset=utf-8;base64,aGk=',
      unknown: uri('application/x-of-our-own', ''),
    });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      total: 1,
      document: join('out', 'document.pdf'),
      pages: [{ image: join('out', 'pages-0-image.png') }, { image: join('out', 'pages-1-image.png') }],
      'scan.txt': join('out', 'scan.txt'),
      unknown: join('out', 'unknown.bin'),
    });
    const read = (name: string) => readFileSync(join(cwd, 'out', name));
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    expect(digest(read('document.pdf'))).toBe(digest(scan));
    expect(read('pages-1-image.png').toString()).toBe('two');
    expect(read('scan.txt').toString()).toBe('hi');
    expect(read('unknown.bin')).toHaveLength(0);
    expect(stderr).toContain(`Saved ${join('out', 'document.pdf')}, ${join('out', 'pages-0-image.png')}, `);
  });

  test('--save-documents: numbers, escapes and text that only resembles a data URI stay unchanged', async () => {
    const text =
      '{"n":1.0,"a":"data: see below","b":"data:text/plain;base64,no!","c":"\\u0041","d":"data:text/plain,caf%C3%A9","e":"as ;base64, say"}';
    const { stdout, stderr, exitCode, cwd } = await watched(text);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('invalid base64 remains in the output: 1 document\n');
    expect(stdout).toBe(
      `${JSON.stringify(JSON.parse(text), undefined, 2).replace('1,', '1.0,').replace('"A"', '"\\u0041"')}\n`,
    );
    expect(readdirSync(join(cwd, 'out'))).toEqual([]);
  });

  test('--save-documents: data URIs without a media type, or with spaces and line breaks are decoded', async () => {
    const lines = (text: string) => text.replace(/.{76}/g, '$&\r\n');
    const scan = randomBytes(200_000);
    const kept = {
      prose: 'data: foo, bar',
      prose2: 'data:, foo',
      prose3: 'data:;foo,bar',
      prose4: 'data:a b,c',
    };
    const { stdout, stderr, exitCode, cwd } = await watched({
      base64: 'data:;base64,aGk=',
      space: 'data:text/plain; charset=utf-8; base64,aGk=',
      name: `data:image/png;name=${'x'.repeat(2000)};base64,aGk=`,
      upper: 'DATA:Image/PNG;BASE64,aGk',
      lines: `data:application/pdf;base64,${lines(scan.toString('base64'))}\n`,
      url: `data:application/pdf;base64,${scan.toString('base64url')}`,
      ...kept,
    });
    expect({ exitCode, warned: stderr.includes('warning') }).toEqual({ exitCode: 0, warned: false });
    const small = {
      'base64.txt': 'hi',
      'space.txt': 'hi',
      'name.png': 'hi',
      'upper.png': 'hi',
    };
    const names = [...Object.keys(small), 'lines.pdf', 'url.pdf'];
    expect(Object.values(JSON.parse(stdout))).toEqual([
      ...names.map((name) => join('out', name)),
      ...Object.values(kept),
    ]);
    const read = (name: string) => readFileSync(join(cwd, 'out', name));
    for (const [name, text] of Object.entries(small))
      expect([name, read(name).toString()]).toEqual([name, text]);
    expect(read('lines.pdf').equals(scan)).toBe(true);
    expect(read('url.pdf').equals(scan)).toBe(true);
  });

  test('--save-documents: data that cannot be decoded stays in the output, with a warning', async () => {
    const big = Buffer.alloc(200_000).toString('base64');
    const output = {
      pages: [{}, { image: 'data:image/png;base64,no!' }],
      'a b': ['data:text/plain;base64,abcde'],
      big: `data:image/png;base64,${big.slice(0, 100_000)}*${big.slice(100_000)}`,
    };
    const { stdout, stderr, exitCode } = await watched(output);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(output);
    expect(stderr).toContain('wfr: warning: invalid base64 remains in the output: 3 documents\n');
    const flags = ['--save-documents', 'out', '--', 'r1', 'r2'];
    const { stderr: ofSeveral } = await watched(Array(12).fill('data:;base64,!'), flags);
    expect(ofSeveral).toContain('warning: run r2: invalid base64 remains in the output: 12 documents\n');
  });

  test('--save-documents: base64 whose padding is wrong stays in the output, with a warning', async () => {
    const wrong = ['=', '==', 'aaaa=', 'aaaa==', 'aGk==', 'aG=', 'a=', 'aGk=aGk='];
    const long = 'aaaa'.repeat(16 * 1024);
    const output = [...wrong, `${long}==`, `${long}aa=`].map((data) => `data:image/png;base64,${data}`);
    const { stdout, stderr } = await watched(output);
    expect(JSON.parse(stdout)).toEqual(output);
    expect(stderr).toContain('wfr: warning: invalid base64 remains in the output: 10 documents\n');
  });

  test('--save-documents: documents beyond the maximum number stay in the output, with a warning', async () => {
    const output = [1, 2, 3, 4, 5].map((n) => uri('text/plain', `${n}`));
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aFinishedRun(output)));
    const world = { env: { WFR_BASE_URL: baseUrl }, cwd: temporaryFolder(), limits: { documents: 3 } };
    const { stdout, stderr, exitCode } = await runCli(
      ['watch', 'run-1', '--save-documents', '.', '-q'],
      world,
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(['0.txt', '1.txt', '2.txt', ...output.slice(3)]);
    expect(stderr).toBe(
      'Run run-1 (version v1)\nwfr: warning: only the first 3 documents are saved; 2 more remain in the output\n',
    );
  });

  test('--save-documents: documents are saved with an escaped slash, from the whole Run, and from the last line of jsonl', async () => {
    const output = `{"d":${JSON.stringify(uri('image/svg+xml', '????>>>>')).replaceAll('/', '\\/')}}`;
    const { stdout } = await watched(output, ['--save-documents', 'out', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      id: 'run-1',
      output: { d: join('out', 'd.svg') },
      status: 'FINISHED',
    });
    const lines = await watched(output, ['--save-documents', 'out', '-o', 'jsonl']);
    expect(JSON.parse(lines.stdout)).toMatchObject({ output: { d: join('out', 'd.svg') } });
    expect(readFileSync(join(lines.cwd, 'out/d.svg'), 'utf8')).toBe('????>>>>');
  });

  test('--save-documents: files have common extensions', async () => {
    const office = 'application/vnd.openxmlformats-officedocument';
    const extensions = {
      'audio/mpeg': 'mp3',
      'image/jpg': 'jpg',
      'image/jpeg': 'jpg',
      'text/plain': 'txt',
      'application/octet-stream': 'bin',
      'audio/mp4': 'm4a',
      'video/quicktime': 'mov',
      'image/svg+xml': 'svg',
      'application/xml': 'xml',
      'text/markdown': 'md',
      'application/zip': 'zip',
      'application/x-yaml': 'yaml',
      [`${office}.wordprocessingml.document`]: 'docx',
      [`${office}.spreadsheetml.sheet`]: 'xlsx',
      [`${office}.presentationml.presentation`]: 'pptx',
      'x/constructor': 'bin',
    };
    const { stdout } = await watched(Object.keys(extensions).map((type) => uri(type.toUpperCase(), 'x')));
    expect(JSON.parse(stdout)).toEqual(
      Object.values(extensions).map((end, index) => join('out', `${index}.${end}`)),
    );
  });

  test('--save-documents: an extension that is executed or opened as a page is never chosen from a media type', async () => {
    const types = [
      'application/x-msdownload',
      'application/x-ms-shortcut',
      'application/x-sh',
      'application/x-csh',
      'application/x-msi',
      'application/java-archive',
      'application/javascript',
      'text/javascript',
      'text/html',
      'application/xhtml+xml',
      'application/x-httpd-php',
      'application/x-apple-diskimage',
      'application/vnd.android.package-archive',
      'application/vnd.ms-word.document.macroenabled.12',
    ];
    const { stdout, exitCode } = await watched(types.map((type) => uri(type, 'x')));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(types.map((_type, index) => join('out', `${index}.bin`)));
    const named = await watched({ 'run.exe': uri('text/plain', 'x'), 'a.HTML': uri('text/html', 'x') });
    expect(JSON.parse(named.stdout)).toEqual({
      'run.exe': join('out', 'run.exe.txt'),
      'a.HTML': join('out', 'a.HTML.bin'),
    });
  });

  test('--save-documents: more than a thousand documents of one name at a depth of 60,000 become as many files', async () => {
    const count = effort(10_000);
    const documents = Array(count).fill('"data:;base64,eA"').join(',');
    const output = `${'['.repeat(60_000)}${documents}${']'.repeat(60_000)}`;
    const { stdout, stderr, exitCode, cwd } = await watched(`{"a":${output}}`);
    expect({ exitCode, stderr: stderr.slice(0, 500) }).toMatchObject({ exitCode: 0 });
    expect(readdirSync(join(cwd, 'out'))).toHaveLength(count);
    expect(new Set(stdout.match(/"out(\/|\\\\)a-0-0-.*"/g))).toHaveProperty('size', count);
  });

  test('--save-documents: a header of any text is parsed in linear time, and escapes in a document are decoded', async () => {
    const escaped = Array.from(
      'data:text/plain;base64,eA==',
      (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
    );
    const { exitCode, cwd } = await watched(
      `{"a":"d${escaped.slice(1).join('')}","b":"data:${' ; ;'.repeat(900)}"}`,
    );
    expect(exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'out'))).toEqual([]);
    const { cwd: other } = await watched(`{"a":"data:${escaped.slice(5).join('')}"}`);
    expect(readFileSync(join(other, 'out/a.txt'), 'utf8')).toBe('x');
  });

  test('--save-documents: file names stay in the folder, are unique, and never hidden or a device', async () => {
    const text = uri('text/plain', 'x');
    const names = [
      '../../etc/passwd',
      '/root',
      '.bashrc',
      '-rf',
      'CON',
      'a',
      'A',
      'a\u0000\u001b[2J',
      '',
      '…',
    ];
    const { stdout, exitCode, cwd } = await watched(
      `{${names.map((name) => `${JSON.stringify(name)}:"${text}"`).join(',')}}`,
    );
    expect(exitCode).toBe(0);
    const expected = ['_.._etc_passwd', '_root', 'bashrc', 'rf', '_CON', 'a', 'A-2', 'a_2J', 'document', '_'];
    expect(Object.values(JSON.parse(stdout))).toEqual(expected.map((name) => join('out', `${name}.txt`)));
    expect(readdirSync(join(cwd, 'out')).sort()).toEqual(expected.map((name) => `${name}.txt`).sort());
    expect(readdirSync(cwd)).toEqual(['out']);
  });

  test('--save-documents: an output that consists of one document is saved', async () => {
    const { stdout } = await watched(uri('application/pdf', 'x'));
    expect(JSON.parse(stdout)).toBe(join('out', 'document.pdf'));
  });

  test('--save-documents: an existing file exits 74 with the whole output on stdout, and --force overwrites it', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'out'));
    writeFileSync(join(cwd, 'out/b.txt'), 'mine');
    const output = { a: uri('text/plain', 'new a'), b: uri('text/plain', 'new b') };
    const refused = await watched(output, undefined, cwd, process.platform);
    expect(refused.exitCode).toBe(74);
    expect(JSON.parse(refused.stdout)).toEqual(output);
    expect(refused.stderr).toContain(
      `wfr: error: cannot write ${join('out', 'b.txt')}: it already exists\n  Choose another folder, or overwrite it with --force.\n`,
    );
    expect(refused.stderr).toContain('Run run-1 has ended.\n');
    const suggested = ['watch', '--save-documents', join('out', 'run-1'), 'run-1'];
    expect(refused.stderr.split('\n')).toContain(`To print its output: wfr ${suggested.join(' ')}`);
    expect(readdirSync(join(cwd, 'out'))).toEqual(['b.txt']);
    expect(readFileSync(join(cwd, 'out/b.txt'), 'utf8')).toBe('mine');
    expect((await watched(output, suggested.slice(1, 3), cwd)).exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'out/run-1/b.txt'), 'utf8')).toBe('new b');

    expect((await watched(output, ['--save-documents', 'out', '--force'], cwd)).exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'out/b.txt'), 'utf8')).toBe('new b');
  });

  test.each([
    ['with the same start', 'new b and more', false],
    ['where the file system has no hard links', 'mine', true],
  ])('--save-documents: a file with other content is kept, %s', async (_which, mine, isWithoutLinks) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'out'));
    writeFileSync(join(cwd, 'out/b.txt'), mine);
    const noLinks = async () => Promise.reject(Object.assign(new Error(), { code: 'ENOSYS' }));
    if (isWithoutLinks) replaceFunction(promises, 'link', noLinks);
    expect((await watched({ b: uri('text/plain', 'new b') }, undefined, cwd)).exitCode).toBe(74);
    expect(readFileSync(join(cwd, 'out/b.txt'), 'utf8')).toBe(mine);
  });

  test('run --save-documents: files in the folder exit 2 before anything is sent, without --force', async () => {
    const service = await scriptedService(acceptThenShow(aFinishedRun({ a: uri('text/plain', 'new') })));
    const world = {
      env: { WFR_BASE_URL: service.baseUrl },
      cwd: temporaryFolder(),
      clock: new VirtualClock(),
    };
    const run = (...flags: string[]) =>
      runCli(['run', 'w', 'x=1', '--save-documents', 'out', ...flags], world);
    mkdirSync(join(world.cwd, 'out/folder'), { recursive: true });
    for (const name of ['.hidden', 'a.txt', 'b', 'c', 'd'])
      writeFileSync(join(world.cwd, 'out', name), 'mine');
    const { stderr, exitCode } = await run();
    expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 2, connections: 0 });
    expect(stderr).toMatch(
      /--save-documents out: has files that documents could replace, such as [abcd](\.txt)?; use another folder, or --force\n/,
    );
    expect((await run('--force')).exitCode).toBe(0);
    expect(readFileSync(join(world.cwd, 'out/a.txt'), 'utf8')).toBe('new');
    for (const name of ['a.txt', 'b', 'c', 'd']) rmSync(join(world.cwd, 'out', name));
    expect((await run('--once', 'my.once')).exitCode).toBe(0);
    // The recorded run has saved the same documents.
    expect((await run('--once', 'my.once')).exitCode).toBe(0);
    writeFileSync(join(world.cwd, 'my.once'), '');
    expect((await run('--once', 'my.once')).exitCode).toBe(2);
    expect(service.posts().length).toBe(2);
  });

  test('--save-documents: an output without documents is said to have none', async () => {
    const { stderr } = await watched({ a: 1 });
    expect(stderr).toContain('Saved 0 documents: the output of run run-1 has none\n');
  });

  test.skipIf(LACKS.symlinks)(
    '--save-documents: a link out of the folder is not followed, even with --force',
    async () => {
      const cwd = temporaryFolder();
      const outside = join(cwd, 'outside');
      mkdirSync(join(cwd, 'out'));
      symlinkSync(outside, join(cwd, 'out/a.txt'));
      const output = { a: uri('text/plain', 'new') };
      expect((await watched(output, undefined, cwd)).exitCode).toBe(74);
      expect((await watched(output, ['--save-documents', 'out', '--force'], cwd)).exitCode).toBe(0);
      expect(existsSync(outside)).toBe(false);
      expect(readFileSync(join(cwd, 'out/a.txt'), 'utf8')).toBe('new');
    },
  );

  test.each([
    ['text', true],
    ['json', true],
    ['jsonl', true],
    ['id', false],
  ])(
    '--save-documents: if a document cannot be saved, -o %s says how to go on, and its output has it: %s',
    async (format, isHeld) => {
      const cwd = temporaryFolder();
      mkdirSync(join(cwd, "it's/d.txt"), { recursive: true });
      const flags = ['--save-documents', "it's", '--force', '-o', format];
      const document = uri('text/plain', 'x');
      const { stdout, stderr, exitCode } = await watched({ d: document }, flags, cwd);
      expect(exitCode).toBe(74);
      expect(stdout.includes(document)).toBe(isHeld);
      const command = (flags: string) => `wfr watch ${flags}--save-documents 'it'"'"'s' --force run-1`;
      const hint = 'Choose another folder, or watch the run again once this is fixed.';
      if (format.startsWith('json')) {
        const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
        expect(error).toMatchObject({ code: 'output-not-written', exitCode: 74, hints: [hint] });
        expect(error.resume).toBe(command(`--output ${format} `));
        return;
      }
      expect(stderr).toContain(`  ${hint}\nRun run-1 has ended.\nTo print its output: ${command('')}\n`);
    },
  );

  test('watch --save-documents: a run whose documents could not be saved can be watched again into a folder of its own', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'out/b'), { recursive: true });
    writeFileSync(join(cwd, 'out/b/d.txt'), 'mine');
    const flags = ['--save-documents', 'out', '--', 'a', 'b'];
    const output = { d: uri('text/plain', 'x') };
    const { stderr, exitCode } = await watched(output, flags, cwd, process.platform);
    expect(exitCode).toBe(74);
    expect(stderr).toContain('Run b has ended.\n');
    const command = `wfr watch --save-documents ${join('out', 'b', 'b')} b`;
    expect(stderr.split('\n')).toContain(`To watch it: ${command}`);
  });

  test('--report: a run whose documents could not be saved is not written', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'out/d.txt'), { recursive: true });
    const flags = ['--save-documents', 'out', '--force', '--report', 'json=report.json'];
    const { exitCode } = await watched({ d: uri('text/plain', 'x') }, flags, cwd);
    expect(exitCode).toBe(74);
    const { runs } = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8'));
    expect(runs).toMatchObject([{ id: 'run-1', exitCode: 74, outcome: 'not written' }]);
  });

  test.skipIf(LACKS.bash)(
    '--save-documents: after a full disk, the suggested command saves everything',
    async () => {
      const output = { a: uri('text/plain', 'small'), b: uri('text/plain', Buffer.alloc(100_000)) };
      const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aFinishedRun(output)));
      const cwd = temporaryFolder();
      const env = { WFR_BASE_URL: baseUrl };
      // No file may be larger than 8 KiB.
      const limited = 'ulimit -f 8; wfr watch --save-documents out run-1';
      const { stderr, exitCode } = await bash(limited, env, { cwd });
      expect(exitCode).toBe(74);
      expect(stderr).toContain('wfr: error: cannot write out/b.txt: file too large (EFBIG)\n');
      expect(readdirSync(join(cwd, 'out'))).toEqual([]);
      const command = /^To print its output: (.*)$/m.exec(stderr)?.[1] ?? 'false';
      expect((await bash(command, env, { cwd })).exitCode).toBe(0);
      expect(readdirSync(join(cwd, 'out'))).toEqual(['a.txt', 'b.txt']);
    },
  );

  test('--save-documents: the suggested command for a run that continues has the same flags', async () => {
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const env = { WFR_BASE_URL: baseUrl };
    const args = ['run', 'w', '--timeout', '0', '--save-documents', 'my files', '--force'];
    const { stderr, exitCode } = await runCli(args, { env });
    expect(exitCode).toBe(8);
    const command = "To watch it: wfr watch --save-documents 'my files' --force run-1\n";
    expect(stderr.split(command)).toHaveLength(3);
  });

  test('watch --save-documents: each of several runs has its own folder', async () => {
    const flags = ['--save-documents', 'out', '--', 'a', 'b'];
    const { exitCode, cwd } = await watched({ d: uri('text/plain', 'x') }, flags);
    expect(exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'out'), { recursive: true }).sort()).toEqual([
      'a',
      join('a', 'd.txt'),
      'b',
      join('b', 'd.txt'),
    ]);
  });

  test('watch --save-documents: no run uses the folder of another, whatever their ids and order', async () => {
    const long = 'x'.repeat(120);
    const ids = ['a/b', 'a_b', 'A_b', 'a_b-2', `${long}1`, `${long}2`];
    const service = await scriptedService((request, reply) => {
      const id = decodeURIComponent(request.path.slice('/runs/'.length));
      const looks = service.requests.filter(({ path }) => path === request.path).length;
      // The first one ends last.
      const hasEnded = id !== 'a/b' || looks > 1;
      reply.send(200, hasEnded ? { ...aFinishedRun({ d: uri('text/plain', id) }), id } : aRun({ id }));
    });
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd: temporaryFolder() };
    const cut = long.slice(0, 100);
    const folders = ['a_b', 'a_b-2', 'A_b-3', 'a_b-2-2', cut, `${cut}-2`];
    for (const flags of [[], ['--force']]) {
      const { exitCode } = await runCli(['watch', ...ids, '--save-documents', 'out', ...flags], world);
      expect(exitCode).toBe(0);
      const read = (name: string) => readFileSync(join(world.cwd, 'out', name, 'd.txt'), 'utf8');
      expect(folders.map(read)).toEqual(ids);
      expect(readdirSync(join(world.cwd, 'out')).sort()).toEqual([...folders].sort());
    }
  });

  test.skipIf(LACKS.symlinks)(
    'watch --save-documents: the folder of a run may exist, but not as a link or a file',
    async () => {
      const cwd = temporaryFolder();
      for (const folder of ['out/here', 'away']) mkdirSync(join(cwd, folder), { recursive: true });
      symlinkSync('../away', join(cwd, 'out/r9'));
      symlinkSync('../nowhere', join(cwd, 'out/r10'));
      writeFileSync(join(cwd, 'out/r11'), '');
      const flags = ['--save-documents', 'out', '--force', '--', 'r9', 'r10', 'r11', 'here'];
      const { stderr, exitCode } = await watched({ d: uri('text/plain', 'x') }, flags, cwd);
      expect(exitCode).toBe(74);
      expect(stderr).toContain('wfr: error: cannot write out/r9: it is a symbolic link\n');
      expect(stderr).toContain('wfr: error: cannot write out/r10: it is a symbolic link\n');
      expect(stderr).toContain('wfr: error: cannot write out/r11: it is not a folder\n');
      expect(readdirSync(join(cwd, 'out/here'))).toEqual(['d.txt']);
      expect(readdirSync(join(cwd, 'away'))).toEqual([]);
      expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
    },
  );

  test('--save-documents: a folder that cannot be created or written to exits 2, and nothing is sent', async () => {
    const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    const env = { WFR_BASE_URL: baseUrl };
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'file'), '');
    const { exitCode, stderr } = await runCli(['run', 'w', '--save-documents', 'file/out'], { env, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--save-documents file/out: a part of the path is not a folder (ENOTDIR)');
    for (const [args, message] of [
      [['run', 'w', '--force'], '--force requires --save-documents'],
      [
        ['run', '-d', 'w', '--save-documents', 'x'],
        '--save-documents cannot be used with --detach; pass it to wfr watch',
      ],
      [['watch', 'r', '--save-documents', ''], '--save-documents: pass a folder'],
    ] as const) {
      const result = await runCli(args, { env });
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain(message);
    }
    replaceFunction(promises, 'access', () => Promise.reject(systemError('EACCES')));
    const unwritable = await runCli(['run', 'w', '--save-documents', 'out'], { env, cwd });
    expect(unwritable.exitCode).toBe(2);
    expect(unwritable.stderr).toContain('--save-documents out: permission denied (EACCES)\n');
    expect(requests).toEqual([]);
  });

  test('--save-documents: a file in place of the folder exits 2', async () => {
    const world = { env: { WFR_BASE_URL: CLOSED_URL }, cwd: temporaryFolder() };
    writeFileSync(join(world.cwd, 'file'), '');
    const { stderr, exitCode } = await runCli(['watch', 'r', '--save-documents', 'file'], world);
    expect(stderr).toContain(
      'wfr: error: --save-documents file: a part of the path is not a folder (ENOTDIR)\n',
    );
    expect(exitCode).toBe(2);
  });

  test.skipIf(LACKS.procfs)(
    '--save-documents: a file system that allows no new folder exits 2 at once',
    async () => {
      // In a process of its own, which can be killed if it hangs.
      const args = ['watch', 'r', '--save-documents', '/proc/nope/x'];
      const limit = { timeout: 100_000, killSignal: 'SIGKILL' } as const;
      const ended = await startWfr(args, { WFR_BASE_URL: CLOSED_URL }, limit).ended;
      expect(ended.stderr).toContain('wfr: error: --save-documents /proc/nope/x: no such file (ENOENT)\n');
      expect(ended.exitCode).toBe(2);
    },
  );

  test('--save-documents: missing parent folders are created', async () => {
    const { stdout, cwd } = await watched({ d: uri('text/plain', 'x') }, ['--save-documents', 'a/b/../c/d']);
    expect(JSON.parse(stdout)).toEqual({ d: join('a', 'c', 'd', 'd.txt') });
    expect(readdirSync(join(cwd, 'a'), { recursive: true })).toEqual([
      'c',
      join('c', 'd'),
      join('c', 'd', 'd.txt'),
    ]);
  });
});
