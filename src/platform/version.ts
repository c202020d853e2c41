import manifest from '../../package.json' with { type: 'json' };

/** This package's version. */
export const VERSION = manifest.version;

/** Where internal errors are reported. */
export const BUGS_URL = 'https://github.com/owner/wfr/issues';
