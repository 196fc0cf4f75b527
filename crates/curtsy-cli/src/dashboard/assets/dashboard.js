// The live page: what is looked at goes to the server with the question, what changes comes back as events.

import { ScopePage } from './scope.js';
import { Table } from './table.js';
import { STAGES, bytes, clock, inLocalTime, make, number, put, rate, short } from './words.js';

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
/** How long until a stream is asked for anew, milliseconds. */
const AGAIN = 3000;

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
    isFirst = true;
    lost();
    // A browser tries again by itself, but not after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED) ask(AGAIN);
  };
}

/** Says why there is no stream, which an EventSource does not. */
async function lost() {
  const asking = new AbortController();
  let why = 'no connection';
  try {
    const answer = await fetch('/events', { signal: asking.signal });
    // Whoever asks for a session that is over is asked for the token.
    if (answer.status === 401) location.reload();
    if (!answer.ok) why = await answer.text();
  } catch { /* nobody answers */ }
  asking.abort();
  if (!job?.has_ended) linked('lost', why);
}

function linked(how, words) {
  put($('link'), words);
  $('link').className = how;
}

function take(message) {
  job = message.job;
  if (job.has_ended) {
    linked('ended', 'ended');
    // Another run may begin at the same address.
    source.close();
    ask(AGAIN);
  } else linked('live', 'live');
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
  const percent = Math.floor((job.total ? job.ended / job.total : 0) * 100);
  put($('job-name'), job.name === 'default' ? '' : job.name);
  $('done').replaceChildren(make('strong', {}, `${percent} %`), ` ${number(job.ended)} of ${number(job.total)} URLs`);
  const bar = $('bar');
  bar.setAttribute('aria-valuenow', percent);
  const parts = {
    fetched: job.fetched,
    disallowed: job.disallowed,
    bad: job.http_errors + job.failed + job.suppressed,
    deferred: job.deferred,
  };
  for (const [part, count] of Object.entries(parts)) {
    bar.style.setProperty(`--${part}`, job.total ? count / job.total : 0);
  }
  const pause = $('pause');
  pause.disabled = job.has_ended;
  put(pause, job.is_paused ? 'Resume job' : 'Pause job');
  pause.classList.toggle('resume', job.is_paused);
  document.title = `${percent} %${job.has_ended ? ', ended' : ''} · curtsy`;
  const figures = [
    ['Rate', rate(job.has_ended ? null : job.rate), '', 'URLs that end, a second'],
    ['Bytes', bytes(job.bytes), '', 'of bodies that are stored'],
    ['Fetched', number(job.fetched), 'fetched'],
    ['Disallowed', number(job.disallowed), 'disallowed', 'by robots.txt'],
    ['HTTP errors', number(job.http_errors), 'bad', 'answered with a status from 400 on'],
    ['Failed', number(job.failed), 'bad', 'not answered after all tries'],
    ['Suppressed', number(job.suppressed), 'bad', 'not asked for, since the scope keeps answering 403'],
    ['Deferred', number(job.deferred), 'deferred', 'put off until later'],
  ];
  const list = $('figures');
  if (!list.children.length) {
    list.append(...figures.map(([name, , part, title]) => make('div', { title, class: part || null },
      make('dt', {}, name), make('dd', {}))));
  }
  figures.forEach(([, value], at) => {
    const figure = list.children[at];
    put(figure.lastChild, value);
    figure.classList.toggle('zero', value === '0');
  });
}

function showEnds() {
  let [words, because] = ['', ''];
  const left = job ? job.total - job.ended : 0;
  if (job?.has_ended) {
    words = left ? `ended with ${number(left)} left` : 'finished';
    if (left) because = 'run it again to go on';
  } else if (job?.is_paused) words = 'paused';
  else if (job?.ends_ms) {
    words = `about ${short(job.ends_ms - now())} left`;
    if (job.last_scope) because = `${job.last_scope} takes longest`;
  }
  put($('ends'), words);
  put($('because'), because);
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
    const time = make('time', { datetime: new Date(told.at_ms).toISOString() }, clock(told.at_ms));
    list.prepend(make('li', {}, time, eventWords(told)));
  }
  while (list.children.length > EVENTS) list.lastChild.remove();
  $('quiet').hidden = list.children.length > 0;
  list.hidden = !list.children.length;
}

/** What happened, its scope by itself. */
function eventWords({ scope, text }) {
  if (!scope) return make('p', {}, inLocalTime(text));
  const link = make('a', { href: `#/scope/${encodeURIComponent(scope)}`, title: scope }, scope);
  // An alert names it after what it is; the rest begins with it.
  const rest = text.includes(`${scope}: `) ? text.replace(`${scope}: `, '')
    : text.startsWith(`${scope} `) ? text.slice(scope.length + 1) : text;
  return make('div', {}, link, make('p', {}, inLocalTime(rest)));
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
  else if (!job.is_paused && !job.has_ended) act(row?.does === 'paused' ? 'resume' : 'pause', scope);
}

/** The scope whose page the address names; none where it makes no sense. */
function namedScope() {
  const [, kind, name] = location.hash.split('/');
  try {
    return kind === 'scope' && name ? decodeURIComponent(name) : '';
  } catch {
    return '';
  }
}

function route() {
  // The link that was printed, opened by who is let in already: the token is not to stay in sight.
  if (location.hash.startsWith('#token=')) history.replaceState(null, '', '/');
  const scope = namedScope();
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
$('sort').addEventListener('change', (event) => sortBy(event.target.value));
document.querySelector('#table .head').addEventListener('click', (event) => {
  const { sort } = event.target.closest('[data-sort]')?.dataset ?? {};
  if (sort === view.sort) setDirection(!view.descending);
  else if (sort) sortBy(sort);
});
$('direction').addEventListener('click', () => setDirection(!view.descending));
$('stages').addEventListener('click', (event) => {
  const chip = event.target.closest('button');
  if (!chip) return;
  view.does = chip.dataset.does === view.does ? '' : chip.dataset.does;
  table.restart();
});

function sortBy(sort) {
  view.sort = sort;
  $('sort').value = sort;
  // Of numbers the largest come first.
  setDirection(['departures', 'rate', 'left'].includes(sort));
}

function setDirection(descending) {
  view.descending = descending;
  for (const head of document.querySelectorAll('#table [data-sort]')) {
    const order = descending ? 'descending' : 'ascending';
    head.setAttribute('aria-sort', head.dataset.sort === view.sort ? order : 'none');
  }
  $('direction').setAttribute('aria-pressed', descending);
  $('direction').textContent = descending ? '↓' : '↑';
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
