/** Measures waiting: the delay after a run's end, the number of polls, and the cost of a long wait. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { BIN, HERE, measure, median, number, table, title } from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 7);
/** Seconds of the long wait. */
const LONG = Number(process.argv[3] ?? 30);

title('Waiting');
let ends = 0;
let polls = [];
const server = createServer((_request, response) => {
  polls.push(performance.now());
  const ended = performance.now() >= ends;
  response.end(
    JSON.stringify({
      id: 'r',
      status: ended ? 'FINISHED' : 'RUNNING',
      steps: 2,
      stepsCompleted: ended ? 2 : 1,
      output: null,
    }),
  );
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const env = { WFR_BASE_URL: `http://127.0.0.1:${server.address().port}` };
const watch = (...flags) => measure(process.execPath, [BIN, 'watch', '-q', 'r', ...flags], { env });

const rows = [];
for (const [interval, length] of [
  [200, 1_500],
  [500, 2_300],
]) {
  const late = [];
  const gaps = [];
  for (let round = 0; round < ROUNDS; round++) {
    polls = [];
    ends = performance.now() + length + round * 37;
    await watch('--interval', `${interval}ms`, '--max-interval', `${interval}ms`);
    late.push(performance.now() - ends);
    gaps.push(...polls.slice(1).map((at, n) => at - polls[n]));
  }
  rows.push([
    `${interval} ms`,
    number(median(late)),
    number(Math.max(...late)),
    `at most ${interval + 100}`,
    number(Math.min(...gaps)),
  ]);
}
table(
  ['interval', 'median delay from end to exit, ms', 'maximum, ms', 'limit, ms', 'shortest poll interval, ms'],
  rows,
);

polls = [];
ends = performance.now() + LONG * 1000;
const before = process.resourceUsage();
const { peak } = await watch();
const after = process.resourceUsage();
console.log(
  `A wait of ${LONG} s at the default intervals: ${polls.length} polls, peak ${number(peak)} MB;` +
    ` CPU of the service ${number((after.userCPUTime - before.userCPUTime) / 1e6, 2)} s.\n`,
);

const SPEED = 100;
polls = [];
ends = performance.now() + 3_600_000 / SPEED;
const script = `${HERE}/hour.mjs`;
const hour = spawn(process.execPath, ['--expose-gc', script, `${SPEED}`, 'r'], {
  env: { ...process.env, ...env },
});
let [output, lines] = ['', 0];
hour.stdout.on('data', (text) => (output += text));
hour.stderr.on('data', (text) => (lines += String(text).split('\n').length - 1));
await new Promise((resolve) => hour.once('close', resolve));
const { exit, cpu, early, late } = JSON.parse(output.trim().split('\n').at(-1));
console.log(
  `An hour at the default intervals, on a clock ${SPEED} times faster: exit ${exit}, ${polls.length} polls, ${lines} lines,` +
    ` ${number(cpu, 2)} s of CPU, ${number(early, 2)} MB of heap after 20 % of the time and ${number(late, 2)} MB at the end.\n`,
);
server.close();
