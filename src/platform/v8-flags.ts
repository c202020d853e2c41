/** What V8 is told about a process that sends a few requests and ends. */

/**
 * On Node 20, V8 spends about 60 ms of such a process on optimising the WebAssembly of the HTTP parser, which gains it
 * nothing; later versions do not, and some lose by being told. To be called before the first request.
 */
export async function setV8Flags(nodeVersion: string): Promise<void> {
  if (!nodeVersion.startsWith('20.')) return;
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString('--liftoff-only');
}
