/** A headless Chromium, controlled over HTTP with the WebDriver protocol (W3C) of chromedriver. */
import { afterAll } from 'vitest';
import { startPeer } from './peers.js';
import { findFreePort } from './service.js';

/** The key of an element's id in WebDriver's JSON. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

interface LogEntry {
  level: string;
  message: string;
}

export interface Browser {
  /** Loads a page anew, also where the shown one has the same URL but for its fragment. */
  open(url: string): Promise<void>;
  /** Runs the body of a function in the page, and resolves with its result. */
  run<T = unknown>(body: string, ...args: unknown[]): Promise<T>;
  /** Clicks the first element of a CSS selector. Rejects when it is covered or hidden. */
  click(selector: string): Promise<void>;
  /** Types into the first element of a CSS selector; WebDriver's code points stand for keys. */
  type(selector: string, keys: string): Promise<void>;
  /** Sends a command of the DevTools protocol, and resolves with its result. */
  devtools<T = unknown>(cmd: string, params?: object): Promise<T>;
  /** Resolves with the console messages since the last call: warnings, errors, policy violations. */
  consoleMessages(): Promise<string[]>;
  /** Resolves with every URL that was requested since the last call. */
  requests(): Promise<string[]>;
}

const CAPABILITIES = {
  browserName: 'chrome',
  'goog:chromeOptions': {
    // Chromium's sandbox needs rights that root in a container lacks; the page is trusted.
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--window-size=1280,900',
    ],
    perfLoggingPrefs: { enableNetwork: true, enablePage: false },
  },
  'goog:loggingPrefs': { browser: 'ALL', performance: 'ALL' },
};

const sessions = new Set<string>();

afterAll(async () => {
  for (const session of sessions) await call('DELETE', session);
});

/** Starts a browser that ends with the test file. Rejects when it is not installed. */
export async function startBrowser(): Promise<Browser> {
  const port = await findFreePort();
  await startPeer('chromedriver', 'chromium chromium-driver', [`--port=${port}`], port);
  const base = `http://127.0.0.1:${port}/session`;
  const capabilities = { alwaysMatch: CAPABILITIES };
  const { sessionId } = await call<{ sessionId: string }>('POST', base, { capabilities });
  sessions.add(`${base}/${sessionId}`);
  return createBrowser(`${base}/${sessionId}`);
}

function createBrowser(session: string): Browser {
  const post = <T>(path: string, body: object) => call<T>('POST', `${session}/${path}`, body);
  const find = async (value: string) => {
    const found = await post<Record<string, string>>('element', { using: 'css selector', value });
    return `element/${found[ELEMENT]}`;
  };
  const log = (type: string) => post<LogEntry[]>('se/log', { type });
  return {
    open: async (url) => {
      await post('url', { url: 'about:blank' });
      await post('url', { url });
    },
    run: (script, ...args) => post('execute/sync', { script, args }),
    click: async (selector) => post(`${await find(selector)}/click`, {}),
    type: async (selector, text) => post(`${await find(selector)}/value`, { text }),
    devtools: (cmd, params = {}) => post('goog/cdp/execute', { cmd, params }),
    consoleMessages: async () => (await log('browser')).map(({ level, message }) => `${level} ${message}`),
    requests: async () => (await log('performance')).flatMap(({ message }) => parseRequestUrl(message)),
  };
}

function parseRequestUrl(message: string): string[] {
  const { method, params } = JSON.parse(message).message;
  return method === 'Network.requestWillBeSent' ? [params.request.url] : [];
}

async function call<T>(method: string, url: string, body?: object): Promise<T> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as { value: T & { error?: string; message?: string } };
  if (!response.ok) throw new Error(`${url}: ${value?.error}: ${value?.message}`);
  return value;
}
