/** Settings -> the service as a value, and the end of it. */
import type { ServiceSettings } from '../../config/service.js';
import type { Context } from '../../platform/context.js';
import { setV8Flags } from '../../platform/v8-flags.js';
import { VERSION } from '../../platform/version.js';
import type { Credentials, Service, ServiceEvents } from '../../service/service.js';

/** Runs `work` with the service, and closes its connections afterwards. The HTTP client is loaded only here. */
export async function withService<T>(
  settings: ServiceSettings,
  credentials: Credentials,
  events: ServiceEvents,
  context: Context,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const { Transport } = await import('../../service/transport.js');
  await setV8Flags(context.nodeVersion);
  const { clock, limits } = context;
  const { baseUrl, proxy, headers } = settings;
  const transport = new Transport({ origin: baseUrl, proxy }, clock, limits);
  const userAgent = `wfr/${VERSION}`;
  try {
    return await work({ baseUrl, transport, credentials, headers, userAgent, clock, limits, events });
  } finally {
    await transport.close();
  }
}
