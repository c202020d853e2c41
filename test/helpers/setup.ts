/** Runs anew for each test file, unlike the modules of the helpers. */
import { afterAll } from 'vitest';
import { cleanUp } from './clean-up.js';

afterAll(cleanUp);
