// Pictures of a pace.

const SVG = 'http://www.w3.org/2000/svg';

function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** What departed in the last steps, one bar each. */
export function spark(values, width = 108, height = 24, most = 36) {
  const highest = Math.max(1, ...values);
  const step = width / most;
  const first = most - values.length;
  const bars = values.flatMap((value, at) => {
    if (!value) return [];
    const high = Math.max(1.5, (value / highest) * height);
    const x = ((first + at) * step).toFixed(2);
    const y = (height - high).toFixed(2);
    return [`M${x} ${y}h${(step * 0.75).toFixed(2)}v${high.toFixed(2)}h-${(step * 0.75).toFixed(2)}z`];
  });
  return draw('svg', { viewBox: `0 0 ${width} ${height}`, class: 'spark', 'aria-hidden': 'true' },
    draw('path', { class: 'ground', d: `M0 ${height - 0.5}H${width}` }),
    draw('path', { class: 'bars', d: bars.join('') }));
}

/** A rate up to which the axis goes: the next of 1, 2, 5 times a power of ten. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 0.01)));
  return [1, 2, 5, 10].map((times) => times * power).find((top) => top >= value * 0.999) ?? value;
}

/** What departed in each step as bars, and the rate that it was paced at as a line. */
export function pace(points, step, most = 120) {
  const [width, height, left, right, bottom, top] = [440, 140, 44, 6, 24, 10];
  const wide = width - left - right;
  const high = height - top - bottom;
  const rates = points.map((point) => point.departed / step);
  const limits = points.map((point) => point.rate);
  const highest = ceiling(Math.max(0.1, ...rates, ...limits.filter((limit) => limit != null)));
  const x = (at) => left + ((most - points.length + at) / most) * wide;
  const y = (value) => top + high - (Math.min(value, highest) / highest) * high;

  const bars = rates.flatMap((value, at) => (value
    ? [`M${x(at).toFixed(1)} ${y(value).toFixed(1)}h${(wide / most * 0.8).toFixed(2)}V${top + high}h-${(wide / most * 0.8).toFixed(2)}z`]
    : []));
  let line = '';
  let isDown = false;
  limits.forEach((limit, at) => {
    if (limit == null) {
      isDown = false;
      return;
    }
    line += `${isDown ? 'L' : 'M'}${x(at).toFixed(1)} ${y(limit).toFixed(1)}H${x(at + 1).toFixed(1)}`;
    isDown = true;
  });
  const text = (words, at, down, anchor) => draw('text', { x: at, y: down, 'text-anchor': anchor }, words);
  const level = (part) => draw('path', { class: 'level', d: `M${left} ${y(highest * part)}H${width - right}` });
  const minutes = Math.round((most * step) / 60);
  const peak = Math.max(0, ...rates);
  return draw('svg', {
    viewBox: `0 0 ${width} ${height}`,
    class: 'pace',
    role: 'img',
    'aria-label': `Departures a second in the last ${minutes} minutes, at most ${peak.toFixed(1)}; the line is the rate that was allowed`,
  },
  level(0), level(0.5), level(1),
  text(`${highest}/s`, left - 6, y(highest) + 4, 'end'),
  text(`${highest / 2}`, left - 6, y(highest / 2) + 4, 'end'),
  text('0', left - 6, y(0) + 4, 'end'),
  text(`${minutes} min ago`, left, height - 8, 'start'),
  text('now', width - right, height - 8, 'end'),
  draw('path', { class: 'bars', d: bars.join('') }),
  draw('path', { class: 'limit', d: line }));
}
