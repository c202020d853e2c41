/** The version of this package; a test compares it with package.json. */
export const VERSION = '0.1.0';

/** Where internal errors are reported. */
export const BUGS_URL = 'https://github.com/owner/wfr/issues';
