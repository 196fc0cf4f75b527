//! The picture as an SVG that stands by itself.

use std::fmt::Write as _;

use super::figures::Figures;
use super::picture::Picture;

/// The whole picture, and what of it is the plot: pixels.
const SIZE: (f64, f64) = (960.0, 360.0);
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 48.0;

/// In light and dark surroundings alike; the colours are told apart by people who see few of them, too.
const STYLE: &str = "svg{color:#1f2328;background:#fff;font:13px system-ui,sans-serif}\
.bar{fill:#4c8bd6}.pace{stroke:#b35900;fill:none;stroke-width:1.5}\
.limit{stroke:currentColor;stroke-dasharray:6 4}.held{fill:currentColor;opacity:.1}\
.no{stroke:#c2185b;stroke-width:2}.grid{stroke:currentColor;opacity:.15}text{fill:currentColor}\
@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}.bar{fill:#58a6ff}\
.pace{stroke:#f0a347}.no{stroke:#ff6f9c}}";

pub(super) fn draw(picture: &Picture, figures: &Figures) -> String {
    let (width, height) = SIZE;
    let (plot_width, plot_height) = (width - LEFT - RIGHT, height - TOP - BOTTOM);
    let columns = &picture.columns;
    let step = plot_width / columns.counts.len() as f64;
    let x = |nth: usize| LEFT + nth as f64 * step;
    let y = |rate: f64| TOP + plot_height * (1.0 - (rate / picture.top).min(1.0));
    let floor = y(0.0);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n",
        title(figures)
    );
    for quarter in 0..=4 {
        let rate = picture.top * f64::from(quarter) / 4.0;
        let at = y(rate);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{rate}/s</text>",
            width - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    let (mut held, mut bars, mut refused, mut pace) =
        (String::new(), String::new(), String::new(), String::new());
    for (nth, rate) in picture.rates.iter().copied().enumerate() {
        if columns.held[nth] {
            let _ = write!(
                held,
                "M{:.1} {TOP}h{step:.2}V{floor:.1}h-{step:.2}z",
                x(nth)
            );
        }
        if rate > 0.0 {
            let _ = write!(
                bars,
                "M{:.1} {floor:.1}V{:.1}h{step:.2}V{floor:.1}z",
                x(nth),
                y(rate)
            );
        }
        if columns.refused[nth] > 0 {
            let _ = write!(refused, "M{:.1} {floor:.1}v8", x(nth) + step / 2.0);
        }
        if let Some(rate) = picture.paces[nth] {
            let verb = if pace.is_empty() { 'M' } else { 'L' };
            let _ = write!(pace, "{verb}{:.1} {:.1}h{step:.2}", x(nth), y(rate));
        }
    }
    for (class, path) in [
        ("held", held),
        ("bar", bars),
        ("pace", pace),
        ("no", refused),
    ] {
        if !path.is_empty() {
            let _ = writeln!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    if let Some(limit) = picture.limit {
        let at = y(limit);
        let _ = writeln!(
            svg,
            "<path class=\"limit\" d=\"M{LEFT} {at:.1}H{}\"/>",
            width - RIGHT
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"22\">{}</text>\n{}\n<text x=\"{LEFT}\" y=\"{}\">0 s</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.1} s</text>\n</svg>",
        title(figures),
        legend(picture.limit.is_some()),
        height - 16.0,
        width - RIGHT,
        height - 16.0,
        columns.span.as_secs_f64()
    );
    svg
}

fn title(figures: &Figures) -> String {
    let Figures {
        done,
        took_s,
        refused,
        outage_hits,
        in_hold,
        ..
    } = figures;
    let ratio = figures.ratio.map_or(String::new(), |ratio| {
        format!(" ({ratio:.2} × the optimum)")
    });
    format!(
        "{done} done in {took_s:.1} s{ratio}, {refused} refused, {outage_hits} met an outage, {in_hold} arrived in a hold"
    )
}

/// What is what, each piece behind a sample of it.
fn legend(has_limit: bool) -> String {
    let pieces = [
        ("bar", "M0 4V-6h18V4z", "arrivals/s", 110.0),
        ("pace", "M0 0h18", "the bucket's rate", 150.0),
        ("no", "M9 -4v8", "refused", 90.0),
        ("held", "M0 4V-6h18V4z", "asked to be left alone", 180.0),
        ("limit", "M0 0h18", "the server's limit", 0.0),
    ];
    let shown = pieces.len() - usize::from(!has_limit);
    let mut x = LEFT;
    let pieces = pieces.into_iter().take(shown).map(|(class, sample, text, width)| {
        let piece = format!(
            "<g transform=\"translate({x} 42)\"><path class=\"{class}\" d=\"{sample}\"/><text x=\"24\" y=\"4\">{text}</text></g>"
        );
        x += width;
        piece
    });
    pieces.collect()
}
