// The table of scopes: only the rows in sight exist, however many there are.

import { spark } from './chart.js';
import { STAGES, countdown, make, number, put, rate } from './words.js';

/** Rows above and below those in sight. */
const MARGIN = 8;

export class Table {
  /** `look(from, count)` is called when other rows come into sight, `open(scope)` when one is chosen. */
  constructor(grid, body, look, open) {
    Object.assign(this, { grid, body, look, open });
    this.rows = new Map();
    this.total = 0;
    /** Which row is chosen, and of which scope: the others may change places about it. */
    this.chosen = null;
    this.chosenScope = null;
    this.elements = new Map();
    grid.addEventListener('scroll', () => this.sight());
    grid.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.sight()).observe(grid);
    body.addEventListener('click', (event) => {
      const row = event.target.closest('[role=row]');
      if (!row) return;
      this.choose(Number(row.dataset.at));
      this.open(this.chosenScope);
    });
    this.window = { from: 0, count: 40 };
  }

  get high() {
    return parseFloat(getComputedStyle(this.body).getPropertyValue('--row')) || 44;
  }

  /** Which rows are in sight; asks for others where those are not the known ones. */
  sight() {
    const { high } = this;
    const first = Math.floor(this.grid.scrollTop / high);
    const seen = Math.ceil(this.grid.clientHeight / high) + 1;
    const { from, count } = this.window;
    if (first < from || first + seen > from + count) {
      this.window = { from: Math.max(0, first - MARGIN), count: seen + 2 * MARGIN };
      this.look(this.window.from, this.window.count);
    }
    this.draw();
  }

  /** The same rows by another question. */
  restart() {
    this.grid.scrollTop = 0;
    this.chosen = null;
    this.chosenScope = null;
    this.window = { from: 0, count: Math.ceil(this.grid.clientHeight / this.high) + 2 * MARGIN };
    this.look(this.window.from, this.window.count);
  }

  /** What has changed. */
  take(message, isFirst) {
    this.total = message.total;
    if (isFirst) this.rows.clear();
    for (const [at, row] of message.rows) this.rows.set(message.from + at, row);
    for (const at of this.rows.keys()) {
      if (at < message.from || at >= message.from + message.count) this.rows.delete(at);
    }
    this.follow();
    this.draw();
  }

  /** The chosen scope keeps being chosen wherever it has gone; a row that had not come yet is known now. */
  follow() {
    if (this.chosen == null) return;
    this.chosenScope ??= this.rows.get(this.chosen)?.scope ?? null;
    const found = [...this.rows].find(([, row]) => row.scope === this.chosenScope);
    if (found) [this.chosen] = found;
  }

  draw() {
    this.body.style.setProperty('--total', this.total);
    this.grid.setAttribute('aria-rowcount', this.total + 1);
    for (const [at, element] of this.elements) {
      if (!this.rows.has(at)) {
        element.remove();
        this.elements.delete(at);
      }
    }
    for (const [at, row] of this.rows) {
      let element = this.elements.get(at);
      if (!element) {
        element = this.body.appendChild(blank(at));
        this.elements.set(at, element);
      }
      fill(element, row);
      const isChosen = row.scope === this.chosenScope;
      element.setAttribute('aria-selected', isChosen);
    }
    const active = this.elements.get(this.chosen);
    if (active?.getAttribute('aria-selected') === 'true') this.grid.setAttribute('aria-activedescendant', active.id);
    else this.grid.removeAttribute('aria-activedescendant');
  }

  /** Counts down. */
  tick(now) {
    for (const [at, element] of this.elements) {
      const row = this.rows.get(at);
      if (row) fillTimes(element, row, now);
    }
  }

  choose(at) {
    this.chosen = Math.max(0, Math.min(at, this.total - 1));
    this.chosenScope = this.rows.get(this.chosen)?.scope ?? null;
    const { high } = this;
    const [top, bottom] = [this.chosen * high, (this.chosen + 1) * high];
    const room = this.grid.clientHeight - this.grid.querySelector('.head').offsetHeight;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    if (bottom > this.grid.scrollTop + room) this.grid.scrollTop = bottom - room;
    this.sight();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.high) - 2);
    const at = this.chosen ?? -1;
    const to = {
      ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page,
      Home: 0, End: this.total - 1,
    }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined && this.total) this.choose(to);
    else if (event.key === 'Enter' && this.chosenScope) this.open(this.chosenScope);
    else return;
    event.preventDefault();
  }
}

function blank(at) {
  const row = make('div', { role: 'row', id: `row-${at}`, 'aria-rowindex': at + 2 });
  row.dataset.at = at;
  row.style.setProperty('--at', at);
  for (const kind of ['name', 'state', 'wide', 'number', 'number wide rare', 'number left', 'number wide']) {
    row.append(make('span', { role: 'gridcell', class: kind }));
  }
  const state = row.children[1];
  state.append(make('b'), make('time'), make('i'));
  return row;
}

function fill(element, row) {
  const [name, state, course, speed, quota, left] = element.children;
  put(name, row.scope);
  name.title = row.scope;
  state.className = `state ${row.does}`;
  put(state.children[0], STAGES[row.does]);
  put(state.children[2], row.why);
  state.title = row.why;
  const bars = row.spark.join();
  if (course.dataset.bars !== bars) {
    course.dataset.bars = bars;
    course.replaceChildren(...(row.spark.length ? [spark(row.spark)] : []));
  }
  const pace = ['done', 'suppressed'].includes(row.does) ? null : row.rate;
  put(speed, rate(pace));
  speed.classList.toggle('none', pace == null);
  put(quota, row.quota ? row.quota.filter((part) => part != null).map(number).join(' / ') : '–');
  put(left, number(row.left));
}

function fillTimes(element, row, now) {
  const [, state, , , , , next] = element.children;
  put(state.children[1], row.until_ms == null ? '' : countdown(row.until_ms - now));
  put(next, row.next_ms == null ? '–' : row.next_ms <= now + 500 ? 'now' : countdown(row.next_ms - now));
}
