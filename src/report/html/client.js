/**
 * The table of all runs: sorted by the column whose head is pressed, filtered by text and outcome, filled slice by slice
 * as it is scrolled. Text reaches the page as text alone.
 */
const SLICE = 100;

const { rows, texts, outcomes } = JSON.parse(document.getElementById('data').textContent);

/** What a row of the data holds, by place. */
const [ID, WORKFLOW, VERSION, OUTCOME, STATUS, STEPS, STARTED, DURATION, DURATION_WORDS, STEP, MESSAGE] =
  Array(11).keys();

/** The places of texts in their order, so that rows are compared by number. */
const order = Intl.Collator('en', { numeric: true }).compare;
const ranks = rankOf(texts, order);
const text = (place) => (row) => texts[row[place]];
const rank = (place) => (row) => (texts[row[place]] === '' ? null : ranks[row[place]]);

/** `key` gives a number, or null for what is not there, which comes last in both directions. */
const COLUMNS = [
  { name: '#', kind: 'number', cell: (_row, index) => String(index + 1), key: (_row, index) => index },
  { name: 'Run', kind: 'id', cell: (row) => row[ID], keys: () => idRanks() },
  { name: 'Workflow', kind: 'id', cell: text(WORKFLOW), key: rank(WORKFLOW) },
  { name: 'Version', kind: 'version', cell: text(VERSION), key: rank(VERSION) },
  { name: 'Status', kind: 'status', cell: statusCell, key: (row) => row[OUTCOME] },
  { name: 'Steps', kind: 'number', cell: text(STEPS), key: (row) => parse(texts[row[STEPS]]) },
  { name: 'Start (UTC)', kind: 'number', cell: (row) => timeOf(row[STARTED]), key: (row) => row[STARTED] },
  { name: 'Duration', kind: 'number', cell: text(DURATION_WORDS), key: (row) => row[DURATION] },
  { name: 'Failing step', kind: 'step', cell: text(STEP), key: rank(STEP) },
  { name: 'Message', kind: 'message', cell: text(MESSAGE), key: rank(MESSAGE) },
];

const form = document.querySelector('.filters');
const { text: search, outcome: choice } = form.elements;
const result = form.querySelector('output');
const table = document.querySelector('.runs');
const more = document.querySelector('.more');

let sorted = [...rows.keys()];
let shown = sorted;
let filled = 0;
let haystack;

start();

function start() {
  table.tHead.rows[0].append(...COLUMNS.map(headOf));
  const present = new Set(rows.map((row) => row[OUTCOME]));
  for (const [index, { label }] of outcomes.entries()) {
    if (present.has(index)) choice.append(new Option(label, String(index)));
  }
  form.addEventListener('input', filter);
  form.addEventListener('submit', (event) => event.preventDefault());
  more.addEventListener('click', fill);
  new IntersectionObserver(([seen]) => seen.isIntersecting && fill(), { rootMargin: '600px' }).observe(more);
  for (const button of document.querySelectorAll('.show')) {
    button.hidden = false;
    button.addEventListener('click', () => showGroup(button.dataset));
  }
  form.hidden = table.hidden = false;
  filter();
}

/** Narrows the table to one group of failures. */
function showGroup({ outcome, search: words }) {
  search.value = oneLine(words);
  choice.value = String(outcomes.findIndex(({ label }) => label === outcome));
  filter();
  document.getElementById('runs').scrollIntoView();
  search.focus({ preventScroll: true });
}

function filter() {
  const words = oneLine(search.value).toLowerCase();
  const wanted = choice.value === '' ? undefined : Number(choice.value);
  haystack ??= rows.map(searchable);
  shown = sorted.filter(
    (index) => (wanted === undefined || rows[index][OUTCOME] === wanted) && haystack[index].includes(words),
  );
  render();
}

function sortBy(column, head) {
  const descending = head.getAttribute('aria-sort') === 'ascending';
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
  column.sortKeys ??= column.keys?.() ?? rows.map(column.key);
  const { sortKeys } = column;
  const sign = descending ? -1 : 1;
  sorted = rows
    .keys()
    .toArray()
    .sort((a, b) => {
      const [left, right] = [sortKeys[a], sortKeys[b]];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (left - right);
    });
  filter();
}

function render() {
  table.tBodies[0].replaceChildren();
  filled = 0;
  const all = count(rows.length);
  result.value =
    shown.length === rows.length
      ? `${all} ${rows.length === 1 ? 'run' : 'runs'}`
      : `${count(shown.length)} of ${all} runs`;
  fill();
}

function fill() {
  const next = shown.slice(filled, filled + SLICE);
  table.tBodies[0].append(...next.map(rowOf));
  filled += next.length;
  const left = shown.length - filled;
  more.hidden = left === 0;
  more.textContent = `${count(left)} more`;
}

function headOf(column) {
  const head = element('th', column.kind);
  const button = element('button', '', column.name);
  head.scope = 'col';
  button.type = 'button';
  button.addEventListener('click', () => sortBy(column, head));
  head.append(button);
  return head;
}

function rowOf(index) {
  const line = document.createElement('tr');
  for (const { name, kind, cell } of COLUMNS) {
    const content = cell(rows[index], index);
    const td = element('td', kind);
    // On a narrow page, where the head of the column is far away.
    td.dataset.name = name;
    td.append(kind === 'message' ? foldable(content) : content);
    if (kind === 'id') td.title = content;
    line.append(td);
  }
  return line;
}

function statusCell(row) {
  const { label, tone } = outcomes[row[OUTCOME]];
  const cell = element('span', `outcome ${tone}`, label);
  const status = texts[row[STATUS]];
  // The service's own word, where it says more.
  if (status !== '' && status.toLowerCase() !== label) cell.append(' ', element('small', '', status));
  return cell;
}

function foldable(message) {
  if (message.length <= 160 && !message.includes('\n')) return message;
  const details = document.createElement('details');
  const head = message.split('\n', 1)[0].slice(0, 140);
  details.append(element('summary', '', `${head}…`), element('div', '', message));
  return details;
}

function element(name, className, content = '') {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = content;
  return made;
}

function searchable(row) {
  const { label } = outcomes[row[OUTCOME]];
  const places = [WORKFLOW, VERSION, STATUS].map((place) => texts[row[place]]);
  const why = oneLine(`${texts[row[STEP]]} ${texts[row[MESSAGE]]}`);
  return [row[ID], ...places, label, why].join('\n').toLowerCase();
}

function oneLine(words) {
  return words.replace(/\s+/g, ' ').trim();
}

function rankOf(values, compare) {
  const ranked = [];
  for (const [place, index] of [...values.keys()].sort((a, b) => compare(values[a], values[b])).entries()) {
    ranked[index] = place;
  }
  return ranked;
}

function idRanks() {
  // As they stand: the digits in an id are no numbers.
  const ranked = rankOf(
    rows.map((row) => row[ID]),
    (a, b) => (a < b ? -1 : Number(a > b)),
  );
  return rows.map((row, index) => (row[ID] === '' ? null : ranked[index]));
}

function parse(steps) {
  return steps === '' ? null : Number.parseInt(steps, 10);
}

function timeOf(ms) {
  return ms === null ? '' : new Date(ms).toISOString().slice(11, 19);
}

function count(number) {
  return number.toLocaleString('en');
}
