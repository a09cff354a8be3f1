//! Where a cell stands: the key that it shares with the cells it is compared to.

use super::grid::Align;
use super::{ReportError, View};

/// What is null in the key of most cells, as views call it and as tables do.
const EXTRA: [(&str, &str); 5] = [
    ("mode", "mode"),
    ("loop", "loop"),
    ("offered_rps", "offered rps"),
    ("instances", "instances"),
    ("loops", "loops"),
];

/// The key of a comparison: that of a cell, without its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The run.
    pub run: String,
    /// The resource budget, if the run has any.
    pub tier: Option<String>,
    /// The response format, `-` where there is no choice of it.
    pub format: String,
    /// The query class or scenario.
    pub class: String,
    /// Connections held.
    pub concurrency: String,
    extra: [Option<String>; EXTRA.len()],
}

impl Place {
    /// The places of a view's rows.
    ///
    /// # Errors
    /// If a column of the key is missing or of another type.
    pub fn read(view: &View) -> Result<Vec<Self>, ReportError> {
        Self::with_tiers(view, view.texts("tier")?)
    }

    /// The places of the rows of a view about several tiers: they have none.
    ///
    /// # Errors
    /// As [`Place::read`].
    pub fn read_untiered(view: &View) -> Result<Vec<Self>, ReportError> {
        Self::with_tiers(view, vec![None; view.len()])
    }

    fn with_tiers(view: &View, tiers: Vec<Option<String>>) -> Result<Vec<Self>, ReportError> {
        let runs = view.names("run")?;
        let (formats, classes) = (view.names("response_format")?, view.names("query_class")?);
        let concurrencies = view.ints("concurrency")?;
        let mut extra = Vec::with_capacity(EXTRA.len());
        for (column, _) in EXTRA {
            extra.push(match column {
                "mode" | "loop" => view.texts(column)?,
                "offered_rps" => shown(view.floats(column)?),
                _ => shown(view.ints(column)?),
            });
        }
        Ok((0..view.len())
            .map(|row| Self {
                run: runs[row].clone(),
                tier: tiers[row].clone(),
                format: formats[row].clone(),
                class: classes[row].clone(),
                concurrency: super::figure::whole(concurrencies[row]),
                extra: std::array::from_fn(|index| extra[index][row].clone()),
            })
            .collect())
    }

    /// The place in a sentence, `tier 8, csv, Q01, c=8`.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> =
            heading(self.tier.as_deref(), &self.format).into_iter().collect();
        parts.push(self.class.clone());
        parts.push(format!("c={}", self.concurrency));
        for ((_, name), value) in EXTRA.iter().zip(&self.extra) {
            parts.extend(value.as_ref().map(|value| format!("{name} {value}")));
        }
        parts.join(", ")
    }
}

fn shown<T: ToString>(values: Vec<Option<T>>) -> Vec<Option<String>> {
    values.into_iter().map(|value| value.map(|value| value.to_string())).collect()
}

/// What stands over a table of one tier and format, `tier 8, csv`; nothing where
/// there are neither.
pub fn heading(tier: Option<&str>, format: &str) -> Option<String> {
    let tier = tier.map(|tier| format!("tier {tier}"));
    let format = (format != "-").then(|| format.to_owned());
    match (tier, format) {
        (Some(tier), Some(format)) => Some(format!("{tier}, {format}")),
        (tier, format) => tier.or(format),
    }
}

/// The columns that say where a row of one table stands: class and connections,
/// and what else tells its rows apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceColumns {
    extra: Vec<usize>,
}

impl PlaceColumns {
    /// The columns that these places need.
    pub fn of<'a>(places: impl IntoIterator<Item = &'a Place> + Clone) -> Self {
        let used =
            |index: &usize| places.clone().into_iter().any(|place| place.extra[*index].is_some());
        Self { extra: (0..EXTRA.len()).filter(used).collect() }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        2 + self.extra.len()
    }

    /// Their names and alignments.
    pub fn header(&self) -> Vec<(String, Align)> {
        let mut header = vec![("class".to_owned(), Align::Left), ("c".to_owned(), Align::Right)];
        header.extend(self.extra.iter().map(|&index| {
            let align = if index < 2 { Align::Left } else { Align::Right };
            (EXTRA[index].1.to_owned(), align)
        }));
        header
    }

    /// What they say of a place.
    pub fn cells(&self, place: &Place) -> Vec<String> {
        let mut cells = vec![place.class.clone(), place.concurrency.clone()];
        cells.extend(
            self.extra.iter().map(|&index| {
                place.extra[index].clone().unwrap_or_else(|| super::MISSING.to_owned())
            }),
        );
        cells
    }
}

/// Rows that make one table: those of one run, tier and format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The run.
    pub run: String,
    /// The tier.
    pub tier: Option<String>,
    /// The response format.
    pub format: String,
    /// The heading, if there is anything to say.
    pub heading: Option<String>,
    /// The numbers of its rows.
    pub rows: Vec<usize>,
}

/// Splits rows into sections, in the order in which they first appear.
pub fn sections(places: &[Place]) -> Vec<Section> {
    let mut sections: Vec<(&Place, Section)> = Vec::new();
    for (row, place) in places.iter().enumerate() {
        let same = |(first, _): &&mut (&Place, Section)| {
            (&first.run, &first.tier, &first.format) == (&place.run, &place.tier, &place.format)
        };
        match sections.iter_mut().find(same) {
            Some((_, section)) => section.rows.push(row),
            None => {
                let heading = heading(place.tier.as_deref(), &place.format);
                let section = Section {
                    run: place.run.clone(),
                    tier: place.tier.clone(),
                    format: place.format.clone(),
                    heading,
                    rows: vec![row],
                };
                sections.push((place, section));
            }
        }
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(tier: Option<&str>, format: &str, class: &str) -> Place {
        Place {
            run: "run".to_owned(),
            tier: tier.map(str::to_owned),
            format: format.to_owned(),
            class: class.to_owned(),
            concurrency: "8".to_owned(),
            extra: Default::default(),
        }
    }

    #[test]
    fn headings_leave_out_what_there_is_not() {
        assert_eq!(heading(Some("8"), "csv").as_deref(), Some("tier 8, csv"));
        assert_eq!(heading(Some("8"), "-").as_deref(), Some("tier 8"));
        assert_eq!(heading(None, "csv").as_deref(), Some("csv"));
        assert_eq!(heading(None, "-"), None);
    }

    #[test]
    fn sections_keep_the_order_of_their_first_rows() {
        let places = [
            place(Some("16"), "csv", "Q01"),
            place(Some("8"), "csv", "Q01"),
            place(Some("16"), "csv", "Q05"),
            place(None, "csv", "Q01"),
        ];
        let sections = sections(&places);
        let rows: Vec<_> = sections.iter().map(|section| section.rows.as_slice()).collect();
        assert_eq!(rows, [&[0, 2][..], &[1], &[3]]);
        assert_eq!(sections[0].heading.as_deref(), Some("tier 16, csv"));
    }

    #[test]
    fn only_what_tells_rows_apart_has_a_column() {
        let plain = place(None, "-", "respond");
        let mut pooled = plain.clone();
        pooled.extra[3] = Some("2".to_owned());
        assert_eq!(PlaceColumns::of([&plain]).count(), 2);
        let columns = PlaceColumns::of([&plain, &pooled]);
        assert_eq!(columns.header()[2], ("instances".to_owned(), Align::Right));
        assert_eq!(columns.cells(&plain), ["respond", "8", "—"]);
        assert_eq!(columns.cells(&pooled), ["respond", "8", "2"]);
        assert_eq!(pooled.text(), "respond, c=8, instances 2");
    }
}
