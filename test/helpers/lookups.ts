/** Answers for host names: no test asks a real name server. */
import dns from 'node:dns';
import { onTestFinished, vi } from 'vitest';

/** Makes every host name lookup fail with `code` until the test has finished; a server must listen before. */
export function failLookups(code: string) {
  type Callback = (error: Error) => void;
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
    _host: string,
    _options: object,
    callback: Callback,
  ) => {
    setImmediate(() => callback(Object.assign(new Error(code), { code })));
  }) as never);
  onTestFinished(() => lookup.mockRestore());
  return lookup;
}

/** Answers every host name lookup with these addresses until the test has finished. */
export function answerLookups(addresses: readonly string[]): void {
  type Callback = (error: null, addresses: { address: string; family: number }[]) => void;
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
    _host: string,
    _options: object,
    callback: Callback,
  ) => {
    setImmediate(() => callback(null, found));
  }) as never);
  onTestFinished(() => lookup.mockRestore());
}
