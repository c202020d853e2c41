/** fast-check, whose values the variable SEED selects; without it, each run has new ones, and a failure prints its seed. */
import fc from 'fast-check';

if (process.env.SEED) fc.configureGlobal({ seed: Number(process.env.SEED) });

export default fc;
