/**
 * The script of the HTML report: renders the table of all runs, sorts and filters it, and adds rows while it is scrolled.
 * All texts are added as text nodes, never as HTML.
 */
const SLICE = 100;

const data = JSON.parse(document.getElementById('data').textContent);
const { outcomes } = data;

/** The runs, with the members of entries.ts and the number that the address uses. */
const rows = data.rows.map((indexes, index) => ({
  ...Object.fromEntries(data.members.map((name, place) => [name, data.values[indexes[place]]])),
  number: index + 1,
}));

/** Whether each run is the row of a batch, whose label has its number. */
const isBatch = rows.every(({ label }) => label !== '');

/** By default, a column shows the `member` of a row, and is sorted by it; missing values are last in both directions. */
const COLUMNS = [
  { name: isBatch ? 'Row' : '#', kind: isBatch ? 'id' : 'number', member: 'number', cell: createToggle },
  { name: 'Run', kind: 'id', member: 'id' },
  { name: 'Workflow', kind: 'id', member: 'workflow' },
  { name: 'Version', kind: 'version', member: 'version' },
  { name: 'Status', kind: 'status', member: 'outcome', cell: statusCell },
  { name: 'Steps', kind: 'number steps', member: 'steps' },
  { name: 'Start (UTC)', kind: 'number start', member: 'started', cell: formatTime },
  { name: 'Duration', kind: 'number', member: 'duration', cell: ({ words }) => words },
  { name: 'Failing step', kind: 'step', member: 'step' },
  { name: 'Message', kind: 'message', member: 'message', cell: ({ message }) => collapse(message) },
].filter(({ member }) => {
  if (member === 'id') return !isBatch;
  if (!['workflow', 'version', 'step', 'message'].includes(member)) return true;
  const found = new Set(rows.map((row) => row[member]).filter(Boolean));
  // What all runs have in common is above the table.
  const isCommon = found.size === 1 && rows.length > 1 && (member === 'workflow' || member === 'version');
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
let sorted = rows;
let matching = rows;
let renderedCount = 0;

start();

function start() {
  table.classList.toggle('labelled', isBatch);
  table.tHead.insertRow().append(...COLUMNS.map(createHead));
  const present = new Set(rows.map(({ outcome }) => outcome));
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
  if (rows.length === 1) showOnlyDetails();
  else form.hidden = false;
  table.hidden = false;
  filter();
  showLinkedRun();
}

/** On the page of one run, its details have everything. */
function showOnlyDetails() {
  table.classList.add('single');
  document.getElementById('failures')?.closest('section').remove();
}

/** Shows the run that the address names, such as #run-12, with its details. */
function showLinkedRun() {
  const [, number] = /^#run-(\d+)$/.exec(location.hash) ?? [];
  const row = rows[number - 1];
  if (row === undefined) return;
  choose((other) => other === row, isBatch ? row.label : `Run ${number}`);
  const [line] = table.tBodies[0].rows;
  setDetails(line, true);
  document.getElementById('runs').scrollIntoView();
  line.querySelector('.toggle').focus({ preventScroll: true });
}

/** Shows all runs of one group of failures. */
function showGroup(button) {
  const isOfGroup = ({ group }) => group === Number(button.dataset.group);
  const { step } = rows.find(isOfGroup);
  const message = button.closest('tr').querySelector('.message div').textContent;
  choose(isOfGroup, oneLine(`${step} ${message}`));
  document.getElementById('runs').scrollIntoView();
  chosen.focus({ preventScroll: true });
}

/** Shows only some runs, described by a text; all of them without a predicate. */
function choose(predicate, text) {
  isChosen = predicate ?? (() => true);
  search.value = choice.value = '';
  chosen.hidden = predicate === undefined;
  chosen.textContent = `${text.length > 80 ? `${text.slice(0, 78)}…` : text} ×`;
  filter();
}

function filter() {
  const query = oneLine(search.value).toLowerCase();
  matching = sorted.filter((row) => {
    if (choice.value !== '' && row.outcome !== Number(choice.value)) return false;
    row.searchText ??= searchTextOf(row);
    return isChosen(row) && row.searchText.includes(query);
  });
  render();
}

function sortBy({ member }, head) {
  const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', sign < 0 ? 'descending' : 'ascending');
  // Ids are compared by code unit, as their digits are not numbers.
  const order = member === 'id' ? byCodeUnit : new Intl.Collator('en', { numeric: true }).compare;
  sorted = rows.toSorted(({ [member]: one }, { [member]: other }) => {
    if (one === other) return 0;
    const [isMissing, isOtherMissing] = [one, other].map((value) => value === null || value === '');
    if (isMissing || isOtherMissing) return isMissing - isOtherMissing;
    return sign * (typeof one === 'number' ? one - other : order(one, other));
  });
  filter();
}

function byCodeUnit(one, other) {
  return one < other ? -1 : 1;
}

function render() {
  table.tBodies[0].replaceChildren();
  renderedCount = 0;
  const all = `${formatCount(rows.length)} ${rows.length === 1 ? 'run' : 'runs'}`;
  result.value = matching.length === rows.length ? all : `${formatCount(matching.length)} of ${all}`;
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
  const button = createElement('button', '', column.name);
  button.type = 'button';
  const head = createElement('th', column.kind, button);
  head.scope = 'col';
  button.addEventListener('click', () => sortBy(column, head));
  return head;
}

function createRow(row) {
  const line = document.createElement('tr');
  // Not the id that the address names: the browser would take the focus away when it scrolls there.
  line.dataset.number = row.number;
  for (const { kind, member, cell } of COLUMNS) {
    const td = createElement('td', kind, cell?.(row) ?? row[member]);
    if (kind === 'id') td.title = member === 'number' ? `${row.label} ${row.id}` : row[member];
    line.append(td);
  }
  return line;
}

function createToggle({ label, number }) {
  const button = createElement('button', 'toggle', isBatch ? label : String(number));
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
  if (isOpen) line.after(createDetails(rows[line.dataset.number - 1]));
  line.querySelector('.toggle').setAttribute('aria-expanded', String(isOpen));
}

function createDetails(row) {
  const facts = [
    ['Row', row.label],
    ['Run', row.id],
    ['Workflow', row.workflow],
    ['Version', row.version],
    ['Status', statusCell(row)],
    ['Steps', row.steps],
    ['Inputs', row.inputs],
    ['Start', row.started === null ? '' : formatDate(row.started)],
    ['Duration', row.words],
    ['Failing step', row.step],
    ['Message', row.message && createElement('pre', '', row.message)],
    ['Request id', row.requestId],
    ['Output', row.output && createElement('pre', '', row.output)],
    ['Page', row.page && createLink(row.page, row.page)],
  ].filter(([, value]) => value);
  const list = createElement('dl', '');
  for (const [name, value] of facts)
    list.append(createElement('dt', '', name), createElement('dd', '', value));
  const cell = createElement('td', '', list);
  if (rows.length > 1) cell.append(createLink(`#run-${row.number}`, 'Link to this run'));
  cell.colSpan = COLUMNS.length;
  return createElement('tr', 'details', cell);
}

function statusCell(row) {
  const { label, tone } = outcomes[row.outcome];
  const cell = createElement('span', `outcome ${tone}`, label);
  // The service's status, if it differs.
  if (row.status !== '' && row.status.toLowerCase() !== label)
    cell.append(' ', createElement('small', '', row.status));
  return cell;
}

function collapse(message) {
  if (message.length <= 160 && !message.includes('\n')) return message;
  const head = message.split('\n', 1)[0].slice(0, 140);
  return createElement(
    'details',
    '',
    createElement('summary', '', `${head}…`),
    createElement('div', '', message),
  );
}

/** The content is elements, or texts, which the browser never reads as HTML. */
function createElement(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

function createLink(href, text) {
  const link = createElement('a', '', text);
  link.href = href;
  return link;
}

function searchTextOf(row) {
  const { label, id, requestId, workflow, version, status, inputs, step, message, output } = row;
  const why = oneLine(`${step} ${message}`);
  return [label, id, requestId, workflow, version, status, outcomes[row.outcome].label, inputs, why, output]
    .join('\n')
    .toLowerCase();
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function formatTime({ started }) {
  return started === null ? '' : new Date(started).toISOString().slice(11, 19);
}

function formatDate(ms) {
  return new Date(ms).toISOString().replace(/T(.*)\.\d+Z/, ' $1 UTC');
}

function formatCount(number) {
  return number.toLocaleString('en');
}
