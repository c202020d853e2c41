/** fast-check, whose values the variable SEED selects; without it, each run has new ones, and a failure prints its seed. */
import fc from 'fast-check';
import { effort } from './effort.js';

fc.configureGlobal({ numRuns: effort(200), ...(process.env.SEED && { seed: Number(process.env.SEED) }) });

export default fc;
