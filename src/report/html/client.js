/**
 * The script of the HTML report: renders the table of all runs, sorts and filters it, and adds rows while it is scrolled.
 * All texts are set with textContent, never as HTML.
 */
const SLICE = 100;

const { rows, outputs, texts, outcomes } = JSON.parse(document.getElementById('data').textContent);

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
  LABEL,
  INPUTS,
  OUTPUT,
  REQUEST_ID,
  PAGE,
] = Array(17).keys();

/** The rank of each text, so that rows are compared by number. */
const order = Intl.Collator('en', { numeric: true }).compare;
const ranks = rankAll(texts, order);
const textAt = (index) => (row) => texts[row[index]];
const rankAt = (index) => (row) => (texts[row[index]] === '' ? null : ranks[row[index]]);

/** Whether each run is the row of a batch, whose label has its number. */
const isBatch = rows.every((row) => row[LABEL] !== '');

/** `key` returns a number, or null for a missing value, which is last in both directions. */
const COLUMNS = [
  ...(isBatch
    ? [{ name: 'Row', kind: 'id', cell: createToggle, key: (_row, index) => index }]
    : [
        { name: '#', kind: 'number', cell: createToggle, key: (_row, index) => index },
        { name: 'Run', kind: 'id', cell: (row) => shortCell(row[ID]), keys: () => nameRanks() },
      ]),
  { name: 'Workflow', kind: 'id', cell: (row) => shortCell(texts[row[WORKFLOW]]), key: rankAt(WORKFLOW) },
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
].filter(({ name }) => {
  const index = { Workflow: WORKFLOW, Version: VERSION, 'Failing step': STEP, Message: MESSAGE }[name];
  if (index === undefined) return true;
  const found = new Set(rows.map((row) => texts[row[index]])).difference(new Set(['']));
  // What all runs have in common is above the table.
  const isCommon = found.size === 1 && rows.length > 1 && (index === WORKFLOW || index === VERSION);
  return found.size > 0 && !isCommon;
});

const form = document.querySelector('.filters');
const { text: search, outcome: choice } = form.elements;
const result = form.querySelector('output');
const table = document.querySelector('.runs');
const more = document.querySelector('.more');

/** Shown while the table has only the runs of one group of failures, or one run. */
const chosen = form.querySelector('.chosen');

/** Whether a run is among those. */
let isChosen = () => true;
let sorted = [...rows.keys()];
let matching = sorted;
let renderedCount = 0;
let searchTexts;

start();

function start() {
  table.classList.toggle('labelled', isBatch);
  table.classList.toggle('single', rows.length === 1);
  table.tHead.insertRow().append(...COLUMNS.map(createHead));
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
  chosen.addEventListener('click', () => {
    // So that the same link works again.
    history.replaceState(null, '', location.href.replace(/#.*/, ''));
    choose(undefined, '');
  });
  table.tBodies[0].addEventListener('click', toggleRow);
  addEventListener('hashchange', showLinkedRun);
  form.hidden = rows.length === 1;
  table.hidden = false;
  filter();
  showLinkedRun();
}

/** Shows the run that the address names, such as #run-12, with its details. */
function showLinkedRun() {
  const [, number] = /^#run-(\d+)$/.exec(location.hash) ?? [];
  const index = Number(number) - 1;
  if (rows[index] === undefined) return;
  choose((other) => other === index, isBatch ? nameOf(rows[index]) : `Run ${number}`);
  const line = table.querySelector(`[data-number="${number}"]`);
  setDetails(line, true);
  document.getElementById('runs').scrollIntoView();
  line.querySelector('.toggle').focus({ preventScroll: true });
}

/** Shows all runs of one group of failures. */
function showGroup(button) {
  const [, , step, message] = button.closest('tr').cells;
  const text = message.querySelector('div').textContent;
  const group = Number(button.dataset.group);
  choose((index) => rows[index][GROUP] === group, oneLine(`${step.textContent} ${text}`));
  document.getElementById('runs').scrollIntoView();
  chosen.focus({ preventScroll: true });
}

/** Shows only some runs, described by a text; all of them without a predicate. */
function choose(predicate, text) {
  isChosen = predicate ?? (() => true);
  search.value = choice.value = '';
  chosen.hidden = predicate === undefined;
  chosen.textContent = text.length > 80 ? `${text.slice(0, 78)}…` : text;
  filter();
}

function filter() {
  const query = oneLine(search.value).toLowerCase();
  const outcome = choice.value === '' ? undefined : Number(choice.value);
  searchTexts ??= rows.map(searchTextOf);
  matching = sorted.filter(
    (index) =>
      (outcome === undefined || rows[index][OUTCOME] === outcome) &&
      isChosen(index) &&
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
  // A page of one run is for its output.
  if (rows.length === 1 && matching.length === 1) setDetails(table.tBodies[0].rows[0], true);
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
  // Not the id that the address names: the browser would take the focus away when it scrolls there.
  line.dataset.number = index + 1;
  for (const { name, kind, cell } of COLUMNS) {
    const content = cell(rows[index], index);
    const td = createElement('td', kind);
    // The label of the cell on narrow screens, where the table has no head.
    td.dataset.name = name;
    td.append(kind === 'message' ? collapse(content) : content);
    if (kind === 'id') td.title = name === 'Workflow' ? content.textContent : idsOf(rows[index]).join(' ');
    line.append(td);
  }
  return line;
}

/** An id, of which narrow screens show the beginning. */
function shortCell(id) {
  return createElement('span', 'whole', id);
}

function createToggle(row, index) {
  const button = createElement('button', 'toggle', isBatch ? nameOf(row) : String(index + 1));
  button.type = 'button';
  button.title = 'Details';
  button.setAttribute('aria-expanded', 'false');
  return button;
}

/** A click on a row shows its details, except one on its own controls, or one that selects text. */
function toggleRow({ target }) {
  const line = target.closest('tr');
  const isControl = target.closest('summary, a, button:not(.toggle)') !== null;
  if (isControl || line.className === 'details' || !getSelection().isCollapsed) return;
  setDetails(line, line.nextElementSibling?.className !== 'details');
}

function setDetails(line, isOpen) {
  const next = line.nextElementSibling;
  if (next?.className === 'details') next.remove();
  if (isOpen) line.after(createDetails(line.dataset.number - 1));
  line.querySelector('.toggle').setAttribute('aria-expanded', String(isOpen));
}

function createDetails(index) {
  const row = rows[index];
  const facts = [
    ['Row', row[LABEL]],
    ['Run', row[ID]],
    ['Workflow', texts[row[WORKFLOW]]],
    ['Version', texts[row[VERSION]]],
    ['Inputs', texts[row[INPUTS]]],
    ['Start', row[STARTED] === null ? '' : formatDate(row[STARTED])],
    ['Duration', texts[row[DURATION_TEXT]]],
    ['Failing step', texts[row[STEP]]],
    ['Message', texts[row[MESSAGE]]],
    ['Request id', row[REQUEST_ID] ?? ''],
    ['Output', outputOf(row)],
  ];
  const list = document.createElement('dl');
  for (const [name, text] of facts) {
    if (text === '') continue;
    // On narrow screens, the row has the same facts as the table has columns.
    const kind = COLUMNS.some((column) => column.name === name && name !== 'Run') ? 'repeated' : '';
    const value = createElement('dd', kind);
    value.append(createElement(name === 'Message' || name === 'Output' ? 'pre' : 'span', '', text));
    list.append(createElement('dt', kind, name), value);
  }
  if (row[PAGE] !== undefined) {
    const page = createElement('a', '', row[PAGE]);
    page.href = row[PAGE];
    const value = document.createElement('dd');
    value.append(page);
    list.append(createElement('dt', '', 'Page'), value);
  }
  const link = createElement('a', '', 'Link to this run');
  link.href = `#run-${index + 1}`;
  const cell = document.createElement('td');
  cell.colSpan = COLUMNS.length;
  cell.append(list, link);
  const line = createElement('tr', 'details');
  line.append(cell);
  return line;
}

function outputOf(row) {
  if (row[OUTPUT] === null) return '';
  return (
    outputs[row[OUTPUT]] ??
    'omitted, as the outputs of all runs are too long for one page; --report json has it'
  );
}

function statusCell(row) {
  const { label, tone } = outcomes[row[OUTCOME]];
  const cell = createElement('span', `outcome ${tone} ${label.replaceAll(' ', '-')}`, label);
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
  const ids = [...idsOf(row), row[REQUEST_ID] ?? ''];
  return [...ids, ...fields, label, texts[row[INPUTS]], why, outputs[row[OUTPUT]] ?? '']
    .join('\n')
    .toLowerCase();
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

/** The label of the row, else the id of the run. */
function nameOf(row) {
  return row[LABEL] || row[ID];
}

function idsOf(row) {
  return [row[LABEL], row[ID]].filter((text) => text !== '');
}

function nameRanks() {
  // Ids are compared by code unit, as digits in an id are not numbers; those in the label of a row are.
  const hasLabels = rows.some((row) => row[LABEL] !== '');
  const byCodeUnit = (a, b) => (a < b ? -1 : Number(a > b));
  const ranked = rankAll(rows.map(nameOf), hasLabels ? order : byCodeUnit);
  return rows.map((row, index) => (nameOf(row) === '' ? null : ranked[index]));
}

function parseSteps(steps) {
  return steps === '' ? null : Number.parseInt(steps, 10);
}

function formatTime(ms) {
  return ms === null ? '' : new Date(ms).toISOString().slice(11, 19);
}

function formatDate(ms) {
  return new Date(ms).toISOString().replace(/T(.*)\.\d+Z/, ' $1 UTC');
}

function formatCount(number) {
  return number.toLocaleString('en');
}
