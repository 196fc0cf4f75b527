//! The pictures: drawn here, so that a browser without scripts shows them too.

use std::fmt::Write;
use std::time::Duration;

use curtsy::core::Timestamp;

use super::escape::escape;
use super::gather::{Page, Pause};
use super::histogram::{BINS, Histogram, end};
use super::series::Series;
use crate::notices::short;

const WIDTH: f64 = 720.0;
/// Of a picture that stands beside another.
const HALF: f64 = 380.0;
const HEIGHT: f64 = 190.0;
/// Room for the names of the axes.
const LEFT: f64 = 46.0;
const BELOW: f64 = 24.0;
const ABOVE: f64 = 10.0;

/// Departures over time against what was allowed, with holds and refusals.
pub(super) fn pace(page: &Page, name: &str) -> String {
    let chart = Chart::of(&page.pace);
    let about = format!(
        "Requests a second to {name} over time, against what was allowed; shaded where nothing was sent"
    );
    let mut svg = open(&about, WIDTH);
    for pause in &page.pauses {
        chart.shade(&mut svg, pause);
    }
    chart.axes(&mut svg);
    chart.bars(&mut svg, &page.pace);
    chart.allowed(&mut svg, &page.pace);
    svg.push_str("</svg>");
    svg
}

/// How often a time was about so long.
pub(super) fn histogram(times: &Histogram, name: &str) -> String {
    let mut svg = open(name, HALF);
    let bins = times.bins();
    let first = bins.iter().position(|bin| *bin > 0).unwrap_or(0);
    let last = bins.iter().rposition(|bin| *bin > 0).unwrap_or(0);
    let (first, last) = (first.saturating_sub(1), (last + 1).min(BINS - 1));
    let most = f64::from(bins.iter().copied().max().unwrap_or(1).max(1));
    let width = (HALF - LEFT) / (last - first + 1) as f64;
    let floor = HEIGHT - BELOW;
    let every = (last - first).div_ceil(5).max(1);
    for (nth, bin) in (first..=last).enumerate() {
        let (count, x) = (bins[bin], LEFT + width * nth as f64);
        let height = (floor - ABOVE) * f64::from(count) / most;
        let below = short(end(bin));
        let _ = write!(
            svg,
            r#"<rect class="bar" x="{:.1}" y="{:.1}" width="{:.1}" height="{height:.1}"><title>{count} up to {below}</title></rect>"#,
            x + 1.0,
            floor - height,
            (width - 2.0).max(0.5)
        );
        if nth % every == 0 {
            // What stands at the very end would be cut off.
            let anchor = if bin == last { "end" } else { "middle" };
            label(&mut svg, x + width, HEIGHT - 7.0, anchor, &below);
        }
    }
    let _ = write!(svg, r#"<path class="axis" d="M{LEFT} {floor}H{HALF}"/>"#);
    label(
        &mut svg,
        LEFT - 6.0,
        ABOVE + 8.0,
        "end",
        &format!("{most:.0}"),
    );
    svg.push_str("</svg>");
    svg
}

/// Where what is drawn.
struct Chart {
    begin: Timestamp,
    /// Seconds from the left to the right.
    span_s: f64,
    /// Departures a second from the bottom to the top.
    most: f64,
}

impl Chart {
    fn of(series: &Series) -> Self {
        let steps = series.steps();
        let width_s = series.width_s.max(1) as f64;
        let last = steps.last().map_or(0, |step| step.place);
        let fastest = steps
            .iter()
            .map(|step| f64::from(step.departures) / width_s)
            .fold(0.0, f64::max);
        let allowed = steps
            .iter()
            .filter_map(|step| step.allowed)
            .fold(0.0, f64::max);
        // What was allowed may be far above what was sent: then it is not what the picture is about.
        let most = if allowed <= 4.0 * fastest {
            fastest.max(allowed)
        } else {
            fastest
        };
        Self {
            begin: series.begin(),
            span_s: (last + 1) as f64 * width_s,
            most: (most * 1.12).max(1e-9),
        }
    }

    fn x(&self, at: Timestamp) -> f64 {
        let since = at.since(self.begin).as_secs_f64();
        LEFT + (WIDTH - LEFT) * (since / self.span_s).clamp(0.0, 1.0)
    }

    fn y(&self, rate: f64) -> f64 {
        let floor = HEIGHT - BELOW;
        floor - (floor - ABOVE) * (rate / self.most).clamp(0.0, 1.0)
    }

    fn shade(&self, svg: &mut String, pause: &Pause) {
        let (from, to) = (
            self.x(pause.since),
            self.x(pause.until.unwrap_or(Timestamp::MAX)),
        );
        let until = pause
            .until
            .map_or("the end".to_owned(), Timestamp::to_rfc3339);
        let _ = write!(
            svg,
            r#"<rect class="{}" x="{from:.1}" y="{ABOVE}" width="{:.1}" height="{}"><title>{} until {until}: {}</title></rect>"#,
            pause.kind.class(),
            (to - from).max(1.0),
            HEIGHT - BELOW - ABOVE,
            escape(&pause.since.to_rfc3339()),
            escape(pause.trigger.as_deref().unwrap_or(pause.kind.sentence())),
        );
    }

    fn axes(&self, svg: &mut String) {
        let floor = HEIGHT - BELOW;
        let _ = write!(
            svg,
            r#"<path class="axis" d="M{LEFT} {ABOVE}V{floor}H{WIDTH}"/>"#
        );
        for part in [0.5, 1.0] {
            let rate = self.most / 1.12 * part;
            label(
                svg,
                LEFT - 6.0,
                self.y(rate) + 4.0,
                "end",
                &rate_words(rate),
            );
        }
        label(svg, LEFT - 6.0, floor, "end", "0/s");
        for (part, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
            let at = self
                .begin
                .after(Duration::from_secs_f64(self.span_s * part));
            let x = LEFT + (WIDTH - LEFT) * part;
            label(svg, x, HEIGHT - 7.0, anchor, &moment(at, self.span_s));
        }
    }

    fn bars(&self, svg: &mut String, series: &Series) {
        let width_s = series.width_s.max(1);
        let width = (WIDTH - LEFT) * width_s as f64 / self.span_s;
        for step in series.steps() {
            let at = self.begin.after(Duration::from_secs(step.place * width_s));
            let (x, rate) = (self.x(at), f64::from(step.departures) / width_s as f64);
            let y = self.y(rate);
            if step.departures > 0 {
                let _ = write!(
                    svg,
                    r#"<rect class="bar" x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}"><title>{}: {} in {}</title></rect>"#,
                    (width - 0.4).max(0.6),
                    HEIGHT - BELOW - y,
                    moment(at, self.span_s),
                    step.departures,
                    short(Duration::from_secs(width_s)),
                );
            }
            if step.refusals > 0 {
                let _ = write!(
                    svg,
                    r#"<circle class="refusal" cx="{:.1}" cy="{:.1}" r="3.5"><title>{}: {} refused</title></circle>"#,
                    x + width / 2.0,
                    HEIGHT - BELOW,
                    moment(at, self.span_s),
                    step.refusals
                );
            }
        }
    }

    /// The most that was allowed, as a line of steps.
    fn allowed(&self, svg: &mut String, series: &Series) {
        let width_s = series.width_s.max(1);
        let mut path = String::new();
        for step in series.steps() {
            let Some(allowed) = step.allowed else {
                continue;
            };
            let begin = self.begin.after(Duration::from_secs(step.place * width_s));
            let ended = begin.after(Duration::from_secs(width_s));
            let (from, to, y) = (self.x(begin), self.x(ended), self.y(allowed));
            let pen = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{pen}{from:.1} {y:.1}H{to:.1}");
        }
        if !path.is_empty() {
            let _ = write!(svg, r#"<path class="allowed" d="{path}"/>"#);
        }
    }
}

fn open(name: &str, width: f64) -> String {
    format!(
        r#"<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{}">"#,
        escape(name)
    )
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escape(text)
    );
}

/// A rate in as many digits as it takes.
pub(super) fn rate_words(rate: f64) -> String {
    match rate {
        rate if rate >= 10.0 => format!("{rate:.0}/s"),
        rate if rate >= 1.0 => format!("{rate:.1}/s"),
        rate if rate >= 0.0095 => format!("{rate:.2}/s"),
        rate => format!("{:.2}/min", rate * 60.0),
    }
}

/// An instant as an axis has it: the day where there are several, the second where there are few.
fn moment(at: Timestamp, span_s: f64) -> String {
    let text = at.to_rfc3339();
    let part = if span_s > 86_400.0 { 5..16 } else { 11..19 };
    text.get(part).unwrap_or_default().replace('T', " ")
}
