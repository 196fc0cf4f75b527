// A scope's own page.

import { pace } from './chart.js';
import { STAGES, countdown, inLocalTime, make, put } from './words.js';

/** What of a scope can be lifted, by what it does. */
const LIFTS = { suppressed: 'Lift the suppression', broken: 'Lift the breaker' };

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
    this.lift = make('button', { type: 'button', class: 'lift' });
    this.before = make('h3');
    const closer = make('button', { type: 'button', class: 'quiet', 'aria-label': 'Close' }, '✕');
    this.picture = make('figure', {}, make('div'), make('figcaption', {},
      make('span', { class: 'key bars' }), 'departures a second ', make('span', { class: 'key limit' }), 'allowed'));
    this.times = make('ol', { class: 'times' });
    this.facts = make('dl', { class: 'facts' });
    this.known = make('div', { hidden: true },
      this.state,
      make('div', { class: 'acts' }, this.pause, this.lift),
      make('h3', {}, 'Pace'), this.picture,
      this.before, this.times,
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
      put(this.state.children[0], STAGES[row.does]);
      put(this.state.children[2], row.why);
      const { is_paused: whole, has_ended: ended } = message.job;
      put(this.pause, this.isPaused ? 'Resume' : 'Pause');
      this.pause.disabled = whole || ended;
      this.pause.title = whole ? 'The whole job is paused' : '';
      this.lift.hidden = !row.can_lift || ended;
      put(this.lift, LIFTS[row.does] ?? '');
      put(this.before, row.does === 'suppressed' ? 'When that is over, not before the latest of' : 'Not before the latest of');
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
      const item = this.times.children[at];
      const words = waits(bound, now);
      put(item.querySelector('time'), words);
      item.classList.toggle('free', bound.reason === 'free' || words === PAST);
    });
  }
}

const PAST = 'past';

function waits(bound, now) {
  if (bound.reason === 'free') return '–';
  if (bound.not_before_ms == null) return bound.reason === 'paused' ? 'resumed' : 'answered';
  const left = bound.not_before_ms - now;
  if (left > 500) return countdown(left);
  return left > -1000 ? 'now' : PAST;
}

function time(bound) {
  const free = bound.reason === 'free';
  return make('li', { class: bound.binds ? 'binds' : null },
    make('b', {}, bound.name),
    make('time', {}),
    make('span', {}, free ? 'does not bind' : bound.sentence),
    bound.evidence ? make('small', {}, inLocalTime(bound.evidence)) : null,
    bound.binds ? make('em', {}, 'binds') : null);
}

