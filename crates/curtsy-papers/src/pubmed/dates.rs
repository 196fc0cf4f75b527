//! Ranges of dates, and how they are halved.

use jiff::ToSpan;
use jiff::civil::{Date, date};

/// Which of a record's dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateType {
    /// Of publication.
    #[default]
    Published,
    /// When the record came into PubMed. Every record has this one, and it is a day and never a year alone.
    Entered,
    /// When the record was changed last.
    Modified,
}

/// From one day to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateRange {
    from: Date,
    to: Date,
}

/// What is no range of dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadDates {
    /// It is no date.
    #[error("is no date: write 2024, 2024-02 or 2024-02-03")]
    Malformed,
    /// It ends before it begins.
    #[error("ends before it begins")]
    Inverted,
}

/// Nothing that PubMed has is older.
const FIRST: Date = date(1500, 1, 1);
/// Journals date ahead of time, but not by so much.
const AHEAD: i16 = 5;

impl DateType {
    /// As the interface calls it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Published => "pdat",
            Self::Entered => "edat",
            Self::Modified => "mdat",
        }
    }
}

impl DateRange {
    /// A range of which either end may be open.
    ///
    /// # Errors
    /// It ends before it begins.
    pub fn new(from: Option<Date>, to: Option<Date>, today: Date) -> Result<Self, BadDates> {
        let whole = Self::whole(today);
        let range = Self {
            from: from.unwrap_or(whole.from),
            to: to.unwrap_or(whole.to),
        };
        if range.from > range.to {
            Err(BadDates::Inverted)
        } else {
            Ok(range)
        }
    }

    /// A range of which either end may be open, as people write dates: `2024`, `2024-02`, `2024-02-03`, also with
    /// slashes. A year or a month counts from its first day or to its last.
    ///
    /// # Errors
    /// An end is no date, or it ends before it begins.
    pub fn parse(from: Option<&str>, to: Option<&str>, today: Date) -> Result<Self, BadDates> {
        let first = from.map(parse).transpose()?.map(|day| day.0);
        let last = to.map(parse).transpose()?.map(|day| day.1);
        Self::new(first, last, today)
    }

    /// Every date that a record may have.
    #[must_use]
    pub fn whole(today: Date) -> Self {
        let last = date(today.year().saturating_add(AHEAD).min(9_999), 12, 31);
        Self {
            from: FIRST,
            to: last,
        }
    }

    /// The ends as the interface writes them: `2024/02/03`.
    #[must_use]
    pub fn ends(self) -> (String, String) {
        let text = |day: Date| format!("{:04}/{:02}/{:02}", day.year(), day.month(), day.day());
        (text(self.from), text(self.to))
    }

    /// The later and the earlier half; `None` of a single day.
    pub(super) fn halves(self) -> Option<(Self, Self)> {
        let days = self.from.until(self.to).ok()?.get_days();
        if days < 1 {
            return None;
        }
        let middle = self.from.checked_add((days / 2).days()).ok()?;
        let later = Self {
            from: middle.tomorrow().ok()?,
            to: self.to,
        };
        Some((
            later,
            Self {
                from: self.from,
                to: middle,
            },
        ))
    }
}

/// The first and the last day of what a text names.
fn parse(text: &str) -> Result<(Date, Date), BadDates> {
    let mut parts = text.trim().split(['-', '/']).map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i16>().ok().filter(|_| is_number)
    });
    let mut next = || match parts.next() {
        None => Ok(None),
        Some(Some(part)) => Ok(Some(part)),
        Some(None) => Err(BadDates::Malformed),
    };
    let (year, month, day) = (next()?, next()?, next()?);
    let small = |part: Option<i16>, usual| {
        part.map_or(Ok(usual), |part| {
            i8::try_from(part).map_err(|_| BadDates::Malformed)
        })
    };
    let year = year
        .filter(|year| (1_000..=9_999).contains(year))
        .ok_or(BadDates::Malformed)?;
    let date = |month, day| Date::new(year, month, day).map_err(|_| BadDates::Malformed);
    let first = date(small(month, 1)?, small(day, 1)?)?;
    let last = match (month, day) {
        (_, Some(_)) => first,
        (Some(_), None) => first.last_of_month(),
        (None, None) => date(12, 31)?,
    };
    if next()?.is_some() {
        Err(BadDates::Malformed)
    } else {
        Ok((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Date = date(2026, 12, 1);

    #[test]
    fn an_open_end_is_filled_and_an_inverted_range_refused() {
        let range = |from, to| DateRange::new(from, to, TODAY).map(DateRange::ends);
        let text = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(
            range(Some(date(2020, 2, 3)), None),
            text("2020/02/03", "2031/12/31")
        );
        assert_eq!(
            range(None, Some(date(2020, 2, 3))),
            text("1500/01/01", "2020/02/03")
        );
        assert_eq!(
            range(Some(TODAY), Some(date(2020, 1, 1))),
            Err(BadDates::Inverted)
        );
    }

    #[test]
    fn halves_cover_the_whole_without_an_overlap_down_to_a_day() {
        let mut open =
            vec![DateRange::new(Some(date(2023, 12, 25)), Some(date(2024, 3, 2)), TODAY).unwrap()];
        let mut days = Vec::new();
        while let Some(range) = open.pop() {
            match range.halves() {
                Some((later, earlier)) => open.extend([later, earlier]),
                None => days.push(range.from),
            }
        }
        let mut expected = Vec::new();
        let mut day = date(2023, 12, 25);
        while day <= date(2024, 3, 2) {
            expected.push(day);
            day = day.tomorrow().unwrap();
        }
        assert_eq!(days, expected);
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        let range = |from, to| DateRange::parse(Some(from), Some(to), TODAY).map(DateRange::ends);
        let text = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(range("2023", "2024"), text("2023/01/01", "2024/12/31"));
        assert_eq!(
            range("2023-02", "2024/02"),
            text("2023/02/01", "2024/02/29")
        );
        assert_eq!(
            range("2023-02-03", "2023-02-03"),
            text("2023/02/03", "2023/02/03")
        );
        for wrong in [
            "",
            "x",
            "24",
            "2024-13",
            "2024-02-30",
            "2024-1-1-1",
            "+2024",
            "2024-",
        ] {
            assert_eq!(range(wrong, "2025"), Err(BadDates::Malformed), "{wrong}");
        }
        assert_eq!(range("2025", "2024"), Err(BadDates::Inverted));
    }
}
