/** Host names that cannot be looked up: no test asks a real name server. */
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
