// The live page: what is looked at goes to the server with the question, what changes comes back as events.

import { ScopePage } from './scope.js';
import { Table } from './table.js';
import { STAGES, bytes, clock, make, number, rate, short } from './words.js';

const $ = (id) => document.getElementById(id);

/** What is looked at. */
const view = { q: '', does: '', sort: 'does', descending: false, from: 0, count: 40, scope: '', event: 0 };
/** The server's clock less the browser's, milliseconds. */
let ahead = 0;
let job = null;
let source = null;
let isFirst = true;
let asking = 0;
const EVENTS = 200;

const now = () => Date.now() + ahead;

// --- What is asked ---------------------------------------------------------

function ask(after = 40) {
  clearTimeout(asking);
  asking = setTimeout(connect, after);
}

function connect() {
  source?.close();
  isFirst = true;
  const question = Object.entries(view).filter(([, value]) => value !== '' && value !== false);
  source = new EventSource(`/events?${new URLSearchParams(question)}`);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => {
    linked(false);
    // A browser tries again by itself, but not after an answer that is no stream.
    isFirst = true;
    if (source.readyState === EventSource.CLOSED) ask(2000);
  };
}

function linked(isLinked) {
  const link = $('link');
  const words = isLinked ? 'live' : 'no connection: the run may have ended';
  if (link.textContent !== words) link.textContent = words;
  link.className = isLinked ? 'live' : 'lost';
}

function take(message) {
  linked(true);
  job = message.job;
  ahead = job.now_ms - Date.now();
  showJob();
  showStages(message.stages);
  showEvents(message.events ?? []);
  table.take(message, isFirst);
  page.take(message);
  $('none').hidden = message.total > 0;
  isFirst = false;
  tick();
}

// --- The job -----------------------------------------------------------------

function showJob() {
  const share = job.total ? job.ended / job.total : 0;
  const percent = Math.floor(share * 100);
  $('job-name').textContent = job.name === 'default' ? '' : job.name;
  $('done').replaceChildren(make('strong', {}, `${percent} %`), ` ${number(job.ended)} of ${number(job.total)} URLs`);
  const bar = $('bar');
  bar.setAttribute('aria-valuenow', percent);
  const bad = job.http_errors + job.failed + job.suppressed;
  bar.style.setProperty('--ok', job.total ? (job.ended - bad) / job.total : 0);
  bar.style.setProperty('--bad', job.total ? bad / job.total : 0);
  const pause = $('pause');
  pause.disabled = false;
  pause.textContent = job.is_paused ? 'Resume' : 'Pause';
  pause.classList.toggle('resume', job.is_paused);
  document.title = `${percent} % · curtsy`;
  const figures = [
    ['Rate', rate(job.rate), 'URLs that end, a second'],
    ['Fetched', number(job.fetched)],
    ['Bytes', bytes(job.bytes)],
    ['Deferred', number(job.deferred)],
    ['HTTP errors', number(job.http_errors)],
    ['Failed', number(job.failed)],
    ['Disallowed', number(job.disallowed)],
    ['Suppressed', number(job.suppressed)],
  ];
  const list = $('figures');
  if (!list.children.length) {
    list.append(...figures.map(([name, , title]) => make('div', { title }, make('dt', {}, name), make('dd', {}))));
  }
  figures.forEach(([, value], at) => {
    const figure = list.children[at];
    figure.lastChild.textContent = value;
    figure.classList.toggle('zero', value === '0');
  });
}

function showEnds() {
  let words = '';
  if (job?.is_paused) words = 'paused';
  else if (job?.ends_ms) words = `about ${short(job.ends_ms - now())} left`;
  if (words && job.last_scope && !job.is_paused) words += ` (${job.last_scope})`;
  if ($('ends').textContent !== words) $('ends').textContent = words;
}

function showStages(stages) {
  const group = $('stages');
  const all = Object.values(stages).reduce((sum, count) => sum + count, 0);
  const chips = [['', 'all', all], ...Object.entries(STAGES).filter(([key]) => stages[key] || view.does === key)
    .map(([key, word]) => [key, word, stages[key] ?? 0])];
  const shape = chips.map(([key]) => key).join();
  if (group.dataset.shape !== shape) {
    group.dataset.shape = shape;
    const focused = document.activeElement?.dataset?.does;
    group.replaceChildren(...chips.map(([key, word]) => {
      const chip = make('button', { type: 'button', class: `chip ${key}` }, make('b', {}, word), ' ', make('span'));
      chip.dataset.does = key;
      return chip;
    }));
    if (focused !== undefined) [...group.children].find((chip) => chip.dataset.does === focused)?.focus();
  }
  chips.forEach(([key, , count], at) => {
    const chip = group.children[at];
    chip.lastChild.textContent = number(count);
    chip.setAttribute('aria-pressed', view.does === key);
  });
}

// --- Events ------------------------------------------------------------------

function showEvents(events) {
  const list = $('event-list');
  for (const told of events) {
    if (told.id <= view.event) continue;
    view.event = told.id;
    const item = make('li', {},
      make('time', { datetime: new Date(told.at_ms).toISOString() }, clock(told.at_ms)),
      told.scope ? make('a', { href: `#/scope/${encodeURIComponent(told.scope)}` }, told.text) : make('span', {}, told.text));
    list.prepend(item);
  }
  while (list.children.length > EVENTS) list.lastChild.remove();
  $('quiet').hidden = list.children.length > 0;
  list.hidden = !list.children.length;
}

// --- What a person does ----------------------------------------------------------

async function act(deed, scope) {
  let trouble = null;
  try {
    const answer = await fetch('/act', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ act: deed, scope: scope ?? null }),
    });
    if (!answer.ok) trouble = await answer.text();
  } catch {
    trouble = 'the run cannot be reached';
  }
  const toast = $('toast');
  toast.hidden = !trouble;
  toast.textContent = trouble ?? '';
  if (trouble) setTimeout(() => { toast.hidden = true; }, 5000);
}

const actOnJob = () => act(job?.is_paused ? 'resume' : 'pause');

function actOnScope(deed) {
  const scope = page.scope ?? table.chosenScope;
  const row = [...table.rows.values()].find((known) => known.scope === scope) ?? page.row;
  if (!scope) return;
  if (deed === 'lift') act('lift', scope);
  else if (!job.is_paused) act(row?.does === 'paused' ? 'resume' : 'pause', scope);
}

function route() {
  const [, kind, name] = location.hash.split('/');
  const scope = kind === 'scope' && name ? decodeURIComponent(name) : '';
  if (scope === view.scope) return;
  view.scope = scope;
  page.show(scope || null);
  if (!scope) $('table').focus();
  ask();
}

const open = (scope) => { location.hash = `#/scope/${encodeURIComponent(scope)}`; };
const close = () => { location.hash = '#/'; };

const page = new ScopePage($('scope'), act, close);
const table = new Table($('table'), $('rows'), (from, count) => {
  Object.assign(view, { from, count });
  ask();
}, open);

function tick() {
  table.tick(now());
  page.tick(now());
  showEnds();
}

$('pause').addEventListener('click', actOnJob);
$('search').addEventListener('input', (event) => {
  view.q = event.target.value;
  table.restart();
});
$('sort').addEventListener('change', (event) => {
  view.sort = event.target.value;
  // Of numbers the largest come first.
  setDirection(['departures', 'rate', 'left'].includes(view.sort));
});
$('direction').addEventListener('click', () => setDirection(!view.descending));
$('stages').addEventListener('click', (event) => {
  const chip = event.target.closest('button');
  if (!chip) return;
  view.does = chip.dataset.does === view.does ? '' : chip.dataset.does;
  table.restart();
});

function setDirection(descending) {
  view.descending = descending;
  $('direction').setAttribute('aria-pressed', descending);
  $('direction').textContent = descending ? '↑' : '↓';
  table.restart();
}

$('keys').addEventListener('click', () => $('help').showModal());
$('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).getPropertyValue('--is-dark').trim() === '1';
  root.dataset.theme = isDark ? 'light' : 'dark';
  localStorage.setItem('theme', root.dataset.theme);
});
const theme = localStorage.getItem('theme');
if (theme) document.documentElement.dataset.theme = theme;

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea, dialog');
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && !$('help').open) {
    if (isTyping) event.target.blur();
    else if (page.scope) close();
    return;
  }
  if (isTyping) return;
  const deed = {
    '/': () => $('search').focus(),
    '?': () => $('help').showModal(),
    p: () => actOnScope('pause'),
    l: () => actOnScope('lift'),
    P: actOnJob,
    j: () => $('table').focus(),
    k: () => $('table').focus(),
  }[event.key];
  if (!deed || (event.target.id === 'table' && 'jk'.includes(event.key))) return;
  event.preventDefault();
  deed();
});

window.addEventListener('hashchange', route);
setInterval(tick, 250);
route();
table.sight();
ask();
