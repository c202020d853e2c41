/**
 * The script of the HTML report: renders the table of all runs, sorts and filters it, and adds rows while it is scrolled.
 * All texts are set with textContent, never as HTML.
 */
const SLICE = 100;

const { rows, texts, outcomes } = JSON.parse(document.getElementById('data').textContent);

/** Indexes of a row's values; see rows.ts. */
const [
  ID,
  WORKFLOW,
  VERSION,
  OUTCOME,
  STATUS,
  STEPS,
  STARTED,
  DURATION,
  DURATION_TEXT,
  STEP,
  MESSAGE,
  GROUP,
] = Array(12).keys();

/** The rank of each text, so that rows are compared by number. */
const order = Intl.Collator('en', { numeric: true }).compare;
const ranks = rankAll(texts, order);
const textAt = (index) => (row) => texts[row[index]];
const rankAt = (index) => (row) => (texts[row[index]] === '' ? null : ranks[row[index]]);

/** `key` returns a number, or null for a missing value, which is last in both directions. */
const COLUMNS = [
  { name: '#', kind: 'number', cell: (_row, index) => String(index + 1), key: (_row, index) => index },
  { name: 'Run', kind: 'id', cell: (row) => row[ID], keys: () => idRanks() },
  { name: 'Workflow', kind: 'id', cell: textAt(WORKFLOW), key: rankAt(WORKFLOW) },
  { name: 'Version', kind: 'version', cell: textAt(VERSION), key: rankAt(VERSION) },
  { name: 'Status', kind: 'status', cell: statusCell, key: (row) => row[OUTCOME] },
  { name: 'Steps', kind: 'number', cell: textAt(STEPS), key: (row) => parseSteps(texts[row[STEPS]]) },
  {
    name: 'Start (UTC)',
    kind: 'number',
    cell: (row) => formatTime(row[STARTED]),
    key: (row) => row[STARTED],
  },
  { name: 'Duration', kind: 'number', cell: textAt(DURATION_TEXT), key: (row) => row[DURATION] },
  { name: 'Failing step', kind: 'step', cell: textAt(STEP), key: rankAt(STEP) },
  { name: 'Message', kind: 'message', cell: textAt(MESSAGE), key: rankAt(MESSAGE) },
];

const form = document.querySelector('.filters');
const { text: search, outcome: choice } = form.elements;
const result = form.querySelector('output');
const table = document.querySelector('.runs');
const more = document.querySelector('.more');

/** Shown while the table has only the runs of one group of failures. */
const chosen = form.querySelector('.chosen');

let group;
let sorted = [...rows.keys()];
let matching = sorted;
let renderedCount = 0;
let searchTexts;

start();

function start() {
  table.tHead.rows[0].append(...COLUMNS.map(createHead));
  const present = new Set(rows.map((row) => row[OUTCOME]));
  for (const [index, { label }] of outcomes.entries()) {
    if (present.has(index)) choice.append(new Option(label, String(index)));
  }
  form.addEventListener('input', filter);
  form.addEventListener('submit', (event) => event.preventDefault());
  more.addEventListener('click', appendRows);
  new IntersectionObserver(([seen]) => seen.isIntersecting && appendRows(), { rootMargin: '600px' }).observe(
    more,
  );
  for (const button of document.querySelectorAll('.show')) {
    button.hidden = false;
    button.addEventListener('click', () => showGroup(button));
  }
  chosen.addEventListener('click', () => chooseGroup(undefined, ''));
  form.hidden = table.hidden = false;
  filter();
}

/** Shows all runs of one group of failures. */
function showGroup(button) {
  const [, , step, message] = button.closest('tr').cells;
  search.value = choice.value = '';
  chooseGroup(Number(button.dataset.group), oneLine(`${step.textContent} ${message.textContent}`));
  document.getElementById('runs').scrollIntoView();
  chosen.focus({ preventScroll: true });
}

function chooseGroup(id, reason) {
  group = id;
  chosen.hidden = id === undefined;
  chosen.textContent = reason.length > 80 ? `${reason.slice(0, 78)}…` : reason;
  filter();
}

function filter() {
  const query = oneLine(search.value).toLowerCase();
  const outcome = choice.value === '' ? undefined : Number(choice.value);
  searchTexts ??= rows.map(searchTextOf);
  matching = sorted.filter(
    (index) =>
      (outcome === undefined || rows[index][OUTCOME] === outcome) &&
      (group === undefined || rows[index][GROUP] === group) &&
      searchTexts[index].includes(query),
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
  renderedCount = 0;
  const all = formatCount(rows.length);
  result.value =
    matching.length === rows.length
      ? `${all} ${rows.length === 1 ? 'run' : 'runs'}`
      : `${formatCount(matching.length)} of ${all} runs`;
  appendRows();
}

function appendRows() {
  const next = matching.slice(renderedCount, renderedCount + SLICE);
  table.tBodies[0].append(...next.map(createRow));
  renderedCount += next.length;
  const left = matching.length - renderedCount;
  more.hidden = left === 0;
  more.textContent = `${formatCount(left)} more`;
}

function createHead(column) {
  const head = createElement('th', column.kind);
  const button = createElement('button', '', column.name);
  head.scope = 'col';
  button.type = 'button';
  button.addEventListener('click', () => sortBy(column, head));
  head.append(button);
  return head;
}

function createRow(index) {
  const line = document.createElement('tr');
  for (const { name, kind, cell } of COLUMNS) {
    const content = cell(rows[index], index);
    const td = createElement('td', kind);
    // The label of the cell on narrow screens, where the table has no head.
    td.dataset.name = name;
    td.append(kind === 'message' ? collapse(content) : content);
    if (kind === 'id') td.title = content;
    line.append(td);
  }
  return line;
}

function statusCell(row) {
  const { label, tone } = outcomes[row[OUTCOME]];
  const cell = createElement('span', `outcome ${tone}`, label);
  const status = texts[row[STATUS]];
  // The service's status, if it differs.
  if (status !== '' && status.toLowerCase() !== label) cell.append(' ', createElement('small', '', status));
  return cell;
}

function collapse(message) {
  if (message.length <= 160 && !message.includes('\n')) return message;
  const details = document.createElement('details');
  const head = message.split('\n', 1)[0].slice(0, 140);
  details.append(createElement('summary', '', `${head}…`), createElement('div', '', message));
  return details;
}

function createElement(name, className, content = '') {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = content;
  return made;
}

function searchTextOf(row) {
  const { label } = outcomes[row[OUTCOME]];
  const fields = [WORKFLOW, VERSION, STATUS].map((index) => texts[row[index]]);
  const why = oneLine(`${texts[row[STEP]]} ${texts[row[MESSAGE]]}`);
  return [row[ID], ...fields, label, why].join('\n').toLowerCase();
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function rankAll(values, compare) {
  const ranked = [];
  for (const [rank, index] of [...values.keys()].sort((a, b) => compare(values[a], values[b])).entries()) {
    ranked[index] = rank;
  }
  return ranked;
}

function idRanks() {
  // By code unit, as digits in an id are not numbers.
  const ranked = rankAll(
    rows.map((row) => row[ID]),
    (a, b) => (a < b ? -1 : Number(a > b)),
  );
  return rows.map((row, index) => (row[ID] === '' ? null : ranked[index]));
}

function parseSteps(steps) {
  return steps === '' ? null : Number.parseInt(steps, 10);
}

function formatTime(ms) {
  return ms === null ? '' : new Date(ms).toISOString().slice(11, 19);
}

function formatCount(number) {
  return number.toLocaleString('en');
}
