// A scope's own page.

import { pace } from './chart.js';
import { STAGES, countdown, make } from './words.js';

export class ScopePage {
  /** `act(deed, scope)` does something to it, `close()` closes it. */
  constructor(section, act, close) {
    Object.assign(this, { section, act, close });
    this.scope = null;
    this.detail = null;
    this.row = null;
  }

  /** Opens the page of a scope, or none. */
  show(scope) {
    this.scope = scope;
    this.detail = null;
    this.row = null;
    this.section.hidden = !scope;
    document.body.classList.toggle('has-scope', Boolean(scope));
    if (!scope) return;
    this.title = make('h2', { id: 'scope-name', tabindex: '-1' }, scope);
    this.state = make('p', { class: 'state' }, make('b'), make('time'), make('i'));
    this.pause = make('button', { type: 'button' }, 'Pause');
    this.lift = make('button', { type: 'button', class: 'lift' }, 'Lift');
    const closer = make('button', { type: 'button', class: 'quiet', 'aria-label': 'Close' }, '✕');
    this.picture = make('figure', {}, make('div'), make('figcaption', {},
      make('span', { class: 'key bars' }), 'departures a second ', make('span', { class: 'key limit' }), 'allowed'));
    this.times = make('ol', { class: 'times' });
    this.facts = make('dl', { class: 'facts' });
    this.known = make('div', { hidden: true },
      this.state,
      make('div', { class: 'acts' }, this.pause, this.lift),
      make('h3', {}, 'Pace'), this.picture,
      make('h3', {}, 'Not before the latest of'), this.times,
      make('h3', {}, 'What is known'), this.facts);
    this.unknown = make('p', { class: 'unknown', hidden: true }, 'Nothing is known of it now: it has not begun, or it is done and rests.');
    this.section.replaceChildren(make('div', { class: 'scope-top' }, this.title, closer), this.known, this.unknown);
    closer.addEventListener('click', () => this.close());
    this.pause.addEventListener('click', () => this.act(this.isPaused ? 'resume' : 'pause', scope));
    this.lift.addEventListener('click', () => this.act('lift', scope));
    this.title.focus();
  }

  get isPaused() {
    return this.row?.does === 'paused';
  }

  take(message) {
    if (!this.scope) return;
    this.row = message.scope_row ?? null;
    const { row } = this;
    this.known.hidden = !row;
    this.unknown.hidden = Boolean(row);
    if (row) {
      this.state.className = `state ${row.does}`;
      this.state.children[0].textContent = STAGES[row.does];
      this.state.children[2].textContent = row.why;
      this.pause.textContent = this.isPaused ? 'Resume' : 'Pause';
      this.pause.disabled = message.job.is_paused;
      this.pause.title = message.job.is_paused ? 'The whole job is paused' : '';
      this.lift.hidden = !row.can_lift;
    }
    if (message.scope?.scope === this.scope) {
      this.detail = message.scope;
      this.picture.firstChild.replaceChildren(pace(this.detail.points, this.detail.step_s));
      this.times.replaceChildren(...this.detail.bounds.map(time));
      this.facts.replaceChildren(...this.detail.facts.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
    }
  }

  tick(now) {
    if (!this.scope) return;
    const until = this.row?.until_ms;
    this.state.children[1].textContent = until == null ? '' : countdown(until - now);
    this.detail?.bounds.forEach((bound, at) => {
      const wait = this.times.children[at]?.querySelector('time');
      if (wait) wait.textContent = waits(bound, now);
    });
  }
}

function waits(bound, now) {
  if (bound.reason === 'free') return '–';
  if (bound.not_before_ms == null) return 'until resumed';
  const left = bound.not_before_ms - now;
  if (left > 500) return countdown(left);
  return left > -1000 ? 'now' : `past`;
}

function time(bound) {
  const free = bound.reason === 'free';
  return make('li', { class: bound.binds ? 'binds' : free ? 'free' : null },
    make('b', {}, bound.name),
    make('time', {}),
    make('span', {}, free ? 'does not bind' : bound.sentence),
    bound.evidence ? make('small', {}, bound.evidence) : null,
    bound.binds ? make('em', {}, 'binds') : null);
}

