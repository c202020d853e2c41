#!/usr/bin/env node
// The only place that sets the exit code or raises a signal. It imports wfr inside a try: a defect at import has the
// code of a defect, too.
const DEFECT = 70;

function fail(error) {
  process.stderr.write(
    `wfr: this is a defect of wfr itself; please report it with what follows\n${error?.stack}\n`,
  );
  process.exitCode = DEFECT;
}

try {
  const { main, processContext, SIGNAL_EXIT_CODES } = await import('../dist/main.js');
  const exit = await main(process.argv.slice(2), processContext());
  if (typeof exit === 'number') {
    process.exitCode = exit;
  } else {
    process.exitCode = SIGNAL_EXIT_CODES[exit] ?? 1;
    // Nobody of ours listens any longer: the signal ends the process as it should, and a shell's loop of runs stops.
    process.removeAllListeners(exit);
    if (process.platform !== 'win32') process.kill(process.pid, exit);
  }
} catch (error) {
  fail(error);
}
