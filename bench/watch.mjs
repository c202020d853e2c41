/** Measures waiting: the delay after a run's end, and the time between polls. */
import { BIN, measure, median, number, startServer, table, title } from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 7);

title('Waiting');
let ends = 0;
let polls = [];
const server = await startServer((_request, response) => {
  polls.push(performance.now());
  const status = performance.now() >= ends ? 'FINISHED' : 'RUNNING';
  response.end(JSON.stringify({ id: 'r', status, steps: 2, stepsCompleted: 1, output: null }));
});

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
    const flags = ['--interval', `${interval}ms`, '--max-interval', `${interval}ms`];
    await measure(process.execPath, [BIN, 'watch', '-q', 'r', ...flags], { env: server.env });
    late.push(performance.now() - ends);
    gaps.push(...polls.slice(1).map((at, n) => at - polls[n]));
  }
  const figures = [median(late), Math.max(...late), Math.min(...gaps)].map((value) => number(value));
  rows.push([`${interval} ms`, ...figures, `at most ${interval + 100}`]);
}
table(['interval', 'median ms from end to exit', 'maximum', 'shortest poll interval', 'limit'], rows);
server.stop();
