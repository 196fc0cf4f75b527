// Numbers and times as people read them.

/** What a scope does, in words. */
export const STAGES = {
  suppressed: 'suppressed',
  broken: 'broken',
  held: 'held',
  backing_off: 'backing off',
  paused: 'paused',
  waiting: 'waiting',
  flowing: 'flowing',
  queued: 'queued',
  done: 'done',
};

const whole = new Intl.NumberFormat('en');

export const number = (value) => whole.format(value);

export function rate(value) {
  if (value == null) return '–';
  const digits = value >= 100 ? 0 : value >= 1 ? 1 : 2;
  return `${value.toFixed(digits)}/s`;
}

export function bytes(value) {
  let at = 0;
  while (value >= 1000 && at < 4) {
    value /= 1000;
    at += 1;
  }
  return `${at && value < 100 ? value.toFixed(1) : Math.round(value)} ${['B', 'kB', 'MB', 'GB', 'TB'][at]}`;
}

/** A duration in one short piece. */
export function short(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** What is left of a wait, as `0:42` or `1:02:03`. */
export function countdown(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (value) => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** A time of day, as the browser's clock has it. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}

/** The same text with its times, which the server tells in UTC, by the browser's clock. */
export function inLocalTime(text) {
  return text.replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC\b/g, (given, day, time) => {
    const at = new Date(`${day}T${time}Z`);
    if (Number.isNaN(at.getTime())) return given;
    const isToday = at.toDateString() === new Date().toDateString();
    return isToday ? clock(at) : `${at.toLocaleDateString('en-CA')} ${clock(at)}`;
  });
}

/** Writes a text where another stands. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** An element with its attributes and children. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, '');
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}
