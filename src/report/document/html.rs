//! The report as one page of HTML that loads nothing from anywhere.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::super::ReportError;
use super::super::grid::{Align, Facet, Grid, MISSING, Tone, visible};
use super::foreign;
use super::model::{Block, Document, Section, Table, facet_of};

const PAGE: &str = include_str!("templates/page.html");
const BLOCKS: &str = include_str!("templates/blocks.html");
const STYLE: &str = include_str!("templates/page.css");
const SCRIPT: &str = include_str!("templates/page.js");

/// The most characters of a text that is never broken into lines.
const SHORT: usize = 28;

/// What the template is filled with.
#[derive(Serialize)]
struct Context<'a> {
    title: &'a str,
    subtitle: &'a str,
    policy: String,
    style: &'a str,
    script: &'a str,
    facets: Vec<FacetContext>,
    sections: Vec<SectionContext<'a>>,
}

#[derive(Serialize)]
struct FacetContext {
    name: &'static str,
    label: &'static str,
    values: Vec<String>,
}

#[derive(Serialize)]
struct SectionContext<'a> {
    id: &'a str,
    title: &'a str,
    facets: Option<String>,
    blocks: Vec<BlockContext<'a>>,
}

/// A block, as the template tells them apart by `kind`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum BlockContext<'a> {
    Heading { level: usize, text: &'a str },
    Text { html: String },
    Empty { html: String },
    List { lines: Vec<String> },
    Notes { lines: Vec<String> },
    Code { text: String },
    Foreign { html: String },
    Picture { name: &'a str, title: &'a str, alt: &'a str, svg: String, notes: Vec<String> },
    Table(TableContext<'a>),
}

#[derive(Serialize)]
struct TableContext<'a> {
    /// The heading that belongs to the table alone, and goes with it.
    heading: Option<&'a str>,
    caption: &'a str,
    folded: bool,
    sortable: bool,
    facets: Option<String>,
    /// How many leading columns say what a row is about.
    keys: usize,
    groups: Vec<Group<'a>>,
    columns: Vec<ColumnContext<'a>>,
    rows: Vec<RowContext<'a>>,
}

/// Neighbouring columns that are about one target.
#[derive(Serialize)]
struct Group<'a> {
    name: Option<&'a str>,
    span: usize,
}

#[derive(Serialize)]
struct ColumnContext<'a> {
    name: &'a str,
    group: Option<&'a str>,
    figure: bool,
    starts: bool,
}

#[derive(Serialize)]
struct RowContext<'a> {
    facets: Option<String>,
    cells: Vec<CellContext<'a>>,
}

#[derive(Serialize)]
struct CellContext<'a> {
    lines: Vec<String>,
    header: bool,
    figure: bool,
    starts: bool,
    group: Option<&'a str>,
    class: &'static str,
    /// Whether it is broken into lines where it must be.
    long: bool,
    symbol: &'static str,
}

/// The values of each facet.
type Facets = BTreeMap<Facet, Vec<String>>;

/// The report as `index.html`. `fonts` is the style that its figures need.
///
/// # Errors
/// If a template fails, which a test would have shown.
pub(super) fn render(document: &Document, fonts: &str) -> Result<String, ReportError> {
    let style = format!("{STYLE}{fonts}");
    let mut seen = Facets::new();
    let sections: Vec<SectionContext<'_>> = document
        .sections
        .iter()
        .map(|section| section_context(section, &document.servers, &mut seen))
        .collect();
    let context = Context {
        title: &document.title,
        subtitle: &document.subtitle,
        policy: policy(&style, SCRIPT, &document.sections),
        style: &style,
        script: SCRIPT,
        facets: facets(&seen),
        sections,
    };
    let failed = |error: minijinja::Error| ReportError::Template(format!("{error:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(failed)?);
    environment.add_template("blocks.html", BLOCKS).map_err(failed)?;
    environment.add_template("page.html", PAGE).map_err(failed)?;
    let page = environment.get_template("page.html").map_err(failed)?;
    let mut page = page.render(Value::from(Serde(context))).map_err(failed)?;
    if !page.ends_with('\n') {
        page.push('\n');
    }
    Ok(page)
}

/// What the page may do: its own style and script, nothing from anywhere.
fn policy(style: &str, script: &str, sections: &[Section]) -> String {
    let source =
        |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let pictures = sections.iter().flat_map(|section| &section.blocks);
    let mut styles = vec![source(style)];
    for block in pictures {
        if let Block::Picture(picture) = block {
            styles.extend(styles_of(&picture.inline).map(source));
        }
    }
    styles.dedup();
    format!(
        "default-src 'none'; style-src {}; script-src {}; font-src data:; img-src data:; \
         base-uri 'none'; form-action 'none'",
        styles.join(" "),
        source(script)
    )
}

/// A picture whose styles are attributes, which the page's policy allows: it
/// forbids `style`, of which only what an attribute can say is kept. How large
/// the picture is, the page's own style sheet says.
fn without_style(svg: &str) -> String {
    const KEPT: [&str; 4] = ["fill", "stroke", "fill-opacity", "stroke-opacity"];
    let mut parts = svg.split(" style=\"");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (style, rest) = part.split_once('"').unwrap_or((part, ""));
        for declaration in style.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            if KEPT.contains(&name.trim()) {
                plain += &format!(" {}=\"{}\"", name.trim(), value.trim());
            }
        }
        plain += rest;
    }
    plain
}

/// The style sheets within a picture.
fn styles_of(svg: &str) -> impl Iterator<Item = &str> {
    svg.split("<style").skip(1).filter_map(|rest| {
        let (_, text) = rest.split_once('>')?;
        text.split_once("</style>").map(|(text, _)| text)
    })
}

const FACETS: [(Facet, &str, &str); 5] = [
    (Facet::Tier, "tier", "Tier"),
    (Facet::Format, "format", "Format"),
    (Facet::Class, "class", "Class"),
    (Facet::Target, "target", "Target"),
    (Facet::Verdict, "verdict", "Verdict"),
];

fn name_of(facet: Facet) -> &'static str {
    FACETS.iter().find(|known| known.0 == facet).map_or("", |known| known.1)
}

/// What can be filtered by: facets with more than one value, in their order.
fn facets(seen: &Facets) -> Vec<FacetContext> {
    let contexts = FACETS.iter().filter_map(|&(facet, name, label)| {
        let values = seen.get(&facet).filter(|values| values.len() > 1)?.clone();
        Some(FacetContext { name, label, values })
    });
    contexts.collect()
}

/// Facets as the script reads them; nothing where there are none.
fn json(facets: &Facets) -> Option<String> {
    let named: BTreeMap<&str, &Vec<String>> =
        facets.iter().map(|(facet, values)| (name_of(*facet), values)).collect();
    (!named.is_empty())
        .then(|| serde_json::to_string(&named).expect("text can always be written as JSON"))
}

/// Takes note of a value, to filter by it.
fn see(seen: &mut Facets, facet: Facet, values: &[String]) {
    let known = seen.entry(facet).or_default();
    for value in values {
        if !known.contains(value) {
            known.push(value.clone());
        }
    }
}

fn section_context<'a>(
    section: &'a Section,
    servers: &'a [(String, String)],
    seen: &mut Facets,
) -> SectionContext<'a> {
    let mut own = Facets::new();
    if let Some(tier) = &section.tier {
        own.insert(Facet::Tier, vec![tier.clone()]);
        see(seen, Facet::Tier, std::slice::from_ref(tier));
    }
    let mut blocks = Vec::with_capacity(section.blocks.len());
    let mut rest = section.blocks.iter().peekable();
    while let Some(block) = rest.next() {
        // A heading over one table is hidden with it.
        if let (Block::Heading { text, .. }, Some(Block::Table(table))) = (block, rest.peek()) {
            blocks.push(BlockContext::Table(table_context(table, Some(text), servers, seen)));
            rest.next();
            continue;
        }
        blocks.push(block_context(block, servers, seen));
    }
    SectionContext { id: &section.id, title: &section.title, facets: json(&own), blocks }
}

fn block_context<'a>(
    block: &'a Block,
    servers: &'a [(String, String)],
    seen: &mut Facets,
) -> BlockContext<'a> {
    let lines = |lines: &[String]| lines.iter().map(|line| inline(line)).collect();
    match block {
        Block::Heading { level, text } => BlockContext::Heading { level: *level, text },
        Block::Text(text) => BlockContext::Text { html: inline(text) },
        Block::Empty(why) => BlockContext::Empty { html: inline(why) },
        Block::List(list) => BlockContext::List { lines: lines(list) },
        Block::Notes(notes) => BlockContext::Notes { lines: lines(notes) },
        Block::Code(commands) => BlockContext::Code { text: visible(&commands.join("\n")).into() },
        Block::Foreign { level, text } => {
            BlockContext::Foreign { html: foreign::to_html(text, *level) }
        }
        Block::Picture(picture) => BlockContext::Picture {
            name: &picture.name,
            title: &picture.title,
            alt: &picture.alt,
            svg: without_style(&picture.inline),
            notes: lines(&picture.notes),
        },
        Block::Table(table) => BlockContext::Table(table_context(table, None, servers, seen)),
    }
}

fn table_context<'a>(
    table: &'a Table,
    heading: Option<&'a str>,
    servers: &'a [(String, String)],
    seen: &mut Facets,
) -> TableContext<'a> {
    let grid = &table.grid;
    let mut own = Facets::new();
    for (facet, value) in grid.commons() {
        own.insert(*facet, vec![value.clone()]);
        see(seen, *facet, std::slice::from_ref(value));
    }
    let facets: Vec<Option<Facet>> =
        grid.columns().iter().map(|(name, _)| facet_of(name)).collect();
    let rows = grid.rows().iter().map(|row| {
        let mut of_row = Facets::new();
        for (cell, facet) in row.iter().zip(&facets) {
            let Some(facet) = *facet else { continue };
            let values = values_of(facet, &cell.text, servers);
            see(seen, facet, &values);
            of_row.entry(facet).or_default().extend(values);
        }
        let winner = facets.iter().position(|facet| *facet == Some(Facet::Verdict));
        let winner = winner.and_then(|column| row.get(column)).map(|cell| cell.text.as_str());
        RowContext { facets: json(&of_row), cells: cells(grid, row, winner) }
    });
    let rows = rows.collect();
    for target in grid.groups().iter().flatten() {
        see(seen, Facet::Target, std::slice::from_ref(target));
    }
    TableContext {
        heading,
        caption: &table.caption,
        folded: table.folded,
        sortable: table.sortable && grid.rows().len() > 1,
        facets: json(&own),
        keys: keys(grid),
        groups: groups(grid),
        columns: columns(grid),
        rows,
    }
}

/// What a cell says, as values to filter by.
fn values_of(facet: Facet, text: &str, servers: &[(String, String)]) -> Vec<String> {
    if text == MISSING {
        return Vec::new();
    }
    match facet {
        // `8`, or `— → 8` of two runs.
        Facet::Tier => {
            text.split(" → ").filter(|tier| *tier != MISSING).map(str::to_owned).collect()
        }
        // Of a server, all of its targets.
        Facet::Target if !servers.iter().any(|(target, _)| target == text) => {
            let of_server = servers.iter().filter(|(_, server)| server == text);
            of_server.map(|(target, _)| target.clone()).collect()
        }
        _ => vec![text.to_owned()],
    }
}

/// The leading columns that stay where they are when a table is scrolled.
fn keys(grid: &Grid) -> usize {
    let is_grouped = grid.groups().iter().any(Option::is_some);
    let is_pair = grid.columns().get(1).is_some_and(|(name, _)| name == "c");
    if is_grouped && is_pair { 2 } else { 1 }
}

fn groups(grid: &Grid) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    if grid.groups().iter().all(Option::is_none) {
        return groups;
    }
    for name in grid.groups() {
        let name = name.as_deref();
        match groups.last_mut() {
            Some(group) if group.name == name => group.span += 1,
            _ => groups.push(Group { name, span: 1 }),
        }
    }
    groups
}

fn columns(grid: &Grid) -> Vec<ColumnContext<'_>> {
    let columns = grid.columns().iter().zip(grid.groups()).enumerate();
    columns
        .map(|(index, ((name, align), group))| {
            let group = group.as_deref();
            // The group stands over it.
            let name = group
                .and_then(|group| name.strip_prefix(group))
                .map_or(name.as_str(), str::trim_start);
            let starts = starts_group(grid, index);
            ColumnContext { name, group, figure: *align == Align::Right, starts }
        })
        .collect()
}

/// Whether a line parts a column from the one before it.
fn starts_group(grid: &Grid, index: usize) -> bool {
    index > 0 && grid.groups().get(index) != grid.groups().get(index - 1)
}

fn cells<'a>(
    grid: &'a Grid,
    row: &'a [super::super::grid::Cell],
    winner: Option<&str>,
) -> Vec<CellContext<'a>> {
    let columns = grid.columns().iter().zip(grid.groups());
    row.iter()
        .zip(columns)
        .enumerate()
        .map(|(index, (cell, ((name, align), group)))| {
            let group = group.as_deref();
            let won = group.is_some() && group == winner;
            let class = match cell.tone {
                _ if won => "won",
                Tone::Plain => "",
                Tone::Good => "good",
                Tone::Even => "even",
                Tone::Bad => "bad",
            };
            let first = index > 0 && grid.groups().get(index - 1) != grid.groups().get(index);
            CellContext {
                lines: visible(&cell.text).split('\n').map(str::to_owned).collect(),
                header: index < keys(grid),
                figure: *align == Align::Right,
                starts: starts_group(grid, index),
                group,
                class,
                long: cell.text.lines().any(|line| line.chars().count() > SHORT),
                // Of a winner's cells, the first has the sign.
                symbol: match cell.tone {
                    _ if won => {
                        if first {
                            "▲"
                        } else {
                            ""
                        }
                    }
                    _ if facet_of(name) != Some(Facet::Verdict) => "",
                    Tone::Good => "▲",
                    Tone::Even => "=",
                    Tone::Bad => "✕",
                    Tone::Plain => "",
                },
            }
        })
        .collect()
}

/// A sentence as HTML: escaped, what stands in backticks as code.
fn inline(text: &str) -> String {
    let text = visible(text);
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    let mut html = String::with_capacity(text.len() + 16);
    for (index, part) in parts.iter().enumerate() {
        let is_code = is_paired && index % 2 == 1;
        if !is_paired && index > 0 {
            html.push('`');
        }
        html += if is_code { "<code>" } else { "" };
        escape(part, &mut html);
        html += if is_code { "</code>" } else { "" };
    }
    html
}

fn escape(text: &str, html: &mut String) {
    for c in text.chars() {
        match c {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_sentences() {
        assert_eq!(inline("a `b<` c"), "a <code>b&lt;</code> c");
        assert_eq!(inline("a ` <b>"), "a ` &lt;b&gt;");
    }

    #[test]
    fn values_to_filter_by() {
        let servers = [("a-1".to_owned(), "a".to_owned()), ("a-2".to_owned(), "a".to_owned())];
        let values = |facet, text| values_of(facet, text, &servers);
        assert_eq!(values(Facet::Tier, "— → 8"), ["8"]);
        assert_eq!(values(Facet::Target, "a"), ["a-1", "a-2"]);
        assert_eq!(values(Facet::Target, "a-1"), ["a-1"]);
        assert_eq!(values(Facet::Verdict, "—"), Vec::<String>::new());
    }

    #[test]
    fn the_style_of_a_picture_is_the_pages() {
        let svg =
            "<svg a=\"1\" style=\"width:100%\" b=\"2\"><g style=\"fill:var(--x,#fff);x:y\"/></svg>";
        let plain = "<svg a=\"1\" b=\"2\"><g fill=\"var(--x,#fff)\"/></svg>";
        assert_eq!(without_style(svg), plain);
        assert_eq!(without_style("<svg/>"), "<svg/>");
    }

    #[test]
    fn styles_within_pictures() {
        let svg = "<svg><style>a{}</style><style type=\"text/css\">b{}</style></svg>";
        assert_eq!(styles_of(svg).collect::<Vec<_>>(), ["a{}", "b{}"]);
    }
}
