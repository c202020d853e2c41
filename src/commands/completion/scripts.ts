/** The scripts that `wfr completion` prints. */
import bash from './wfr.bash?raw';
import fish from './wfr.fish?raw';
import powershell from './wfr.ps1?raw';
import zsh from './wfr.zsh?raw';

/** By shell: a script that calls `wfr __complete` on every Tab. */
export const SCRIPTS = { bash, zsh, fish, powershell } as const;
