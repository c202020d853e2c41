/** The bytes of request bodies, with any chunks, buffers and readers. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { aRun, scriptedService } from '../helpers/service.js';
import { certificate } from '../helpers/tls.js';

/** Reads slowly, so that the sender's buffers are full most of the time. */
const readSlowly = (socket: {
  pause(): void;
  resume(): void;
  on(event: 'data', listener: () => void): void;
}) => {
  socket.on('data', () => {
    socket.pause();
    setImmediate(() => socket.resume());
  });
};

describe.each(['http', 'https'] as const)('run: the request body over %s to a slow reader', (scheme) => {
  test.each([
    ['one large document', [5_000_003]],
    ['many small documents', Array.from({ length: 300 }, (_, n) => (n * 37) % 2_000)],
    [
      'documents of sizes around those of the blocks and buffers',
      [1_572_863, 1_572_864, 1_572_865, 3_145_728, 49_151, 49_152, 49_153, 1, 2, 3, 2_097_152],
    ],
    ['alternating large and small documents', [1_000_000, 10, 700_001, 0, 65_536, 2, 1_500_000]],
  ])('run: the bytes of %s arrive unchanged', async (_name, sizes) => {
    const cwd = temporaryFolder();
    const hashes = sizes.map((size, index) => {
      const bytes = randomBytes(size);
      writeFileSync(join(cwd, `${index}.bin`), bytes);
      return createHash('sha256').update(bytes).digest('hex');
    });
    let body = Buffer.alloc(0);
    const service = await scriptedService(
      async (request, reply) => {
        body = Buffer.from(await request.body());
        reply.send(201, aRun());
      },
      { onConnection: readSlowly, ...(scheme === 'https' ? { tls: certificate('good') } : {}) },
    );
    const items = sizes.flatMap((_size, index) => [
      `t${index}=${'text '.repeat(index % 7)}`,
      `d${index}@${index}.bin;type=a/b`,
    ]);
    const { exitCode } = await runCli(['run', 'w', '--detach', '--no-token', ...items], {
      env: { WFR_BASE_URL: service.baseUrl },
      cwd,
    });
    expect(exitCode).toBe(0);
    expect(service.requests[0]?.headers['content-length']).toBe(String(body.length));
    const { inputs } = JSON.parse(body.toString('latin1'));
    const received = sizes.map((_size, index) => {
      const base64 = inputs[`d${index}`].slice('data:a/b;base64,'.length);
      return createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex');
    });
    expect(received).toEqual(hashes);
  });
});
