/**
 * The script of the HTML report: fills the table of all runs, sorts and filters it, and adds rows while it is scrolled.
 * All texts are added as text nodes, never as HTML.
 */
const SLICE = 100;

const {
  rows: data,
  outcomes,
  common,
  table: tableName = '',
} = JSON.parse(document.getElementById('data').textContent);

/** The runs, with the members of entries.ts that are not empty; the outcome is an index of `outcomes`. */
const rows = data.map((row, index) => ({ number: index + 1, ...common, ...row }));

const section = document.getElementById('runs');
const table = section.querySelector('table');
const [body] = table.tBodies;
const heads = [...table.tHead.rows[0].cells];
const form = section.querySelector('form');
const { text: search, outcome: choice } = form.elements;
const more = section.querySelector('.more');

/** Shown while the table has only the runs that the address names. */
const chosen = form.querySelector('.chosen');

/** What a cell shows, where it is not the member that its column is sorted by. */
const CELLS = {
  number: ({ number, label = number }) =>
    createElement('details', '', createElement('summary', 'toggle', label)),
  outcome: outcomeOf,
  started: ({ started }) => formatDate(started).slice(11, 19),
  duration: ({ duration, words = '' }) => (duration === undefined && words ? '–' : words),
  message: ({ message = '' }) => shorten(message, 160),
};

/** Matches the tokens of JSON that have a color: a name with its colon, a string, any other value. */
const TOKEN = /("(?:[^"\\]|\\.)*"(?=:))|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*|true|false|null)/g;

/** Whether a run is one that the address names. */
let isChosen = () => true;
/** Those that did not succeed come first. */
let sorted = rows.toSorted((one, other) => (one.group === undefined) - (other.group === undefined));
let matching = rows;
let renderedCount = 0;

for (const head of heads) head.firstChild.addEventListener('click', () => sortBy(head));
form.addEventListener('input', filter);
form.addEventListener('submit', (event) => event.preventDefault());
more.addEventListener('click', appendRows);
new IntersectionObserver(([seen]) => seen.isIntersecting && appendRows(), { rootMargin: '600px' }).observe(
  more,
);
body.addEventListener('click', clickRow);
addEventListener('hashchange', showAddressed);
document.body.classList.remove('static');
if (table.tHead.querySelector('.time') && rows.some(({ duration, words }) => duration === undefined && words))
  table.after(
    createElement('p', 'note time', '– Duration not observed: wfr was not watching when the run ended.'),
  );
showAddressed();

/** Shows the runs that the address names: one, such as #run-12, or those of #reason-3 or of #outcome-1. */
function showAddressed() {
  const [, kind, number] = /^#(run|reason|outcome)-(\d+)$/.exec(location.hash) ?? [];
  const member = { run: 'number', reason: 'group' }[kind];
  isChosen = (row) => member === undefined || row[member] === Number(number);
  chosen.hidden = member === undefined;
  search.value = '';
  choice.value = kind === 'outcome' ? number : '';
  filter();
  if (rows.length === 1) openDetails(body.rows[0]);
  if (kind === undefined || matching.length === 0) return;
  const [{ label = `Run ${number}`, step = '', message = '' }] = matching;
  const name = kind === 'run' ? label : [step, message].filter(Boolean).join(': ');
  chosen.textContent = `${shorten(name, 80)} ×`;
  section.scrollIntoView();
  if (kind === 'run' && rows.length > 1) openDetails(body.rows[0]);
  const focused = { run: body.querySelector('.toggle'), reason: chosen, outcome: choice }[kind];
  focused.focus({ preventScroll: true });
}

function filter() {
  const query = oneLine(search.value).toLowerCase();
  matching = sorted.filter((row) => {
    if (choice.value !== '' && row.outcome !== Number(choice.value)) return false;
    row.searchText ??= searchTextOf(row);
    return isChosen(row) && row.searchText.includes(query);
  });
  body.replaceChildren();
  renderedCount = 0;
  const all = `${rows.length.toLocaleString('en')} ${section.classList.contains('labelled') ? 'rows' : 'runs'}`;
  form.querySelector('output').value =
    matching.length === rows.length ? all : `${matching.length.toLocaleString('en')} of ${all}`;
  appendRows();
}

function sortBy(head) {
  const sign = head.ariaSort === 'ascending' ? -1 : 1;
  for (const other of heads) other.ariaSort = null;
  head.ariaSort = sign < 0 ? 'descending' : 'ascending';
  const { member } = head.dataset;
  const { compare } = new Intl.Collator('en', { numeric: true });
  sorted = rows.toSorted(({ [member]: one }, { [member]: other }) => {
    // What is empty is last in both directions.
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    return sign * (typeof one === 'number' ? one - other : compare(one, other));
  });
  filter();
}

function appendRows() {
  const next = matching.slice(renderedCount, renderedCount + SLICE);
  body.append(...next.map(createRow));
  renderedCount += next.length;
  const left = matching.length - renderedCount;
  more.hidden = left === 0;
  more.textContent = `${left.toLocaleString('en')} more`;
}

function createRow(row) {
  const cells = heads.map(({ className, dataset: { member } }) =>
    createElement('td', className, CELLS[member]?.(row) ?? row[member] ?? ''),
  );
  const line = createElement('tr', '', ...cells);
  line.dataset.number = row.number;
  return line;
}

/** A click anywhere in a row shows or hides its details, except one that selects text. */
function clickRow(event) {
  const line = event.target.closest('tr');
  if (line.className === 'details' || !getSelection().isCollapsed) return;
  event.preventDefault();
  if (line.nextElementSibling?.className === 'details') {
    line.nextElementSibling.remove();
    line.querySelector('details').open = false;
  } else openDetails(line);
}

function openDetails(line) {
  line.querySelector('details').open = true;
  line.after(createDetails(rows[line.dataset.number - 1]));
}

function createDetails(row) {
  const isAlone = rows.length === 1;
  const facts = {
    Row: row.label,
    Run: row.id && copyable('span', row.id),
    Workflow: row.workflow && copyable('span', row.workflow),
    Version: row.version,
    Status: outcomeOf(row),
    Steps: row.steps,
    Start: formatDate(row.started),
    Duration: row.words,
    Inputs:
      row.inputs &&
      createElement('span', '', row.inputs, createElement('small', '', 'names only: wfr stores no values')),
    'Request id': row.requestId && copyable('span', row.requestId),
    Page: row.page && createLink(row.page, row.page),
    Address: !isAlone && createLink(`#run-${row.number}`, 'Link to this run'),
    // The page of one run has them above.
    'Failing step': !isAlone && row.step,
    Message: !isAlone && row.message && createElement('pre', '', row.message),
    Output: row.output && copyable('pre', ...highlight(row.output)),
  };
  const list = createElement('dl', '');
  for (const [name, value] of Object.entries(facts)) {
    if (!value) continue;
    const kind = /^(Failing|Message|Output)/.test(name) ? 'wide' : '';
    list.append(createElement('div', kind, createElement('dt', '', name), createElement('dd', '', value)));
  }
  const cell = createElement('td', '', list);
  cell.colSpan = heads.length;
  return createElement('tr', 'details', cell);
}

/** Returns an element with a button that copies its text, where the browser allows that. */
function copyable(name, ...content) {
  const shown = createElement(name, 'code', ...content);
  const both = createElement('span', '', shown);
  if (!navigator.clipboard) return both;
  const button = createElement('button', 'copy', 'Copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = 'Copied';
  });
  both.append(button);
  return both;
}

/** Returns the text of JSON, which may be cut, as nodes of which the tokens have colors. */
function highlight(json) {
  const nodes = [];
  let end = 0;
  for (const match of json.matchAll(TOKEN)) {
    const [token, name, string] = match;
    nodes.push(
      json.slice(end, match.index),
      createElement('span', name ? 'key' : string ? 'string' : 'literal', token),
    );
    end = match.index + token.length;
  }
  return [...nodes, json.slice(end)];
}

function outcomeOf({ outcome, status }) {
  const { label, tone } = outcomes[outcome];
  const cell = createElement('span', `outcome ${tone}`, label);
  if (status) cell.append(' ', createElement('small', '', status));
  return cell;
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
  const texts = Object.values(row).filter((value) => typeof value === 'string');
  // As the terminal and the results file name a row.
  const name = row.label?.replace(/^line /, tableName);
  return oneLine([outcomes[row.outcome].label, name, ...texts].join(' ')).toLowerCase();
}

function shorten(text, length) {
  const line = oneLine(text);
  return line.length > length ? `${line.slice(0, length - 2)}…` : line;
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function formatDate(ms) {
  return ms === undefined ? '' : new Date(ms).toISOString().replace(/T(.*)\.\d+Z/, ' $1 UTC');
}
