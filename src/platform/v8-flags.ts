/**
 * Turns off the optimization of WebAssembly on Node 20, where it spends about 60 ms of a short process on the HTTP
 * parser without a benefit. Later versions do not need the flag. Must be called before the first request.
 */
export async function setV8Flags(nodeVersion: string): Promise<void> {
  if (!nodeVersion.startsWith('20.')) return;
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString('--liftoff-only');
}
