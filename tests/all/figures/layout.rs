//! No text of a figure covers another or leaves the sheet, whatever is drawn.

use tapstat::figure::{Drawn, Filter, Name, Request, Weight, Width, draw, text_width};
use tapstat::sql::Session;

use super::shapes::{Shape, instances};
use crate::support::{Sandbox, published, sources};

/// A text's box: left, top, right, bottom.
#[derive(Debug, Clone)]
struct Text {
    text: String,
    bounds: [f64; 4],
}

/// The texts of an SVG, and its size.
fn texts(svg: &str) -> (Vec<Text>, [f64; 2]) {
    let attribute = |tag: &str, name: &str| -> Option<String> {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let number = |tag: &str, name: &str| attribute(tag, name).unwrap().parse::<f64>().unwrap();
    let view: Vec<f64> = attribute(svg, "viewBox")
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let mut found = Vec::new();
    for part in svg.split("<text ").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        let tag = format!(" {tag}");
        let (text, _) = rest.split_once("</text>").unwrap();
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let weight = if tag.contains("font-weight") { Weight::Semibold } else { Weight::Regular };
        let (x, y, size) = (number(&tag, "x"), number(&tag, "y"), number(&tag, "font-size"));
        // Nothing is smaller than 6.5 pt in print.
        assert!(size >= 65.0, "{text} at {size}");
        let width = text_width(&text, size, weight);
        let left = match attribute(&tag, "text-anchor").as_deref() {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        let bounds = [left, y - 0.74 * size, left + width, y + 0.2 * size];
        found.push(Text { text, bounds });
    }
    (found, [view[2], view[3]])
}

/// What is wrong with the texts of an SVG.
fn faults(svg: &str) -> Vec<String> {
    let (texts, [width, height]) = texts(svg);
    let mut faults = Vec::new();
    for (index, one) in texts.iter().enumerate() {
        let [left, top, right, bottom] = one.bounds;
        if left < 0.0 || top < 0.0 || right > width || bottom > height {
            faults.push(format!("`{}` leaves the sheet: {:?}", one.text, one.bounds));
        }
        for other in &texts[..index] {
            let [l, t, r, b] = other.bounds;
            if left < r && l < right && top < b && t < bottom {
                faults.push(format!("`{}` covers `{}`", one.text, other.text));
            }
        }
    }
    faults
}

/// Draws a figure in both widths; whether there was one.
fn check(session: &Session, name: Name, run: &str, against: Option<&str>, filter: &Filter) -> bool {
    let (drawn, faults) = look_at(session, name, run, against, filter);
    assert!(faults.is_empty(), "{faults:#?}");
    drawn
}

/// Draws a figure in both widths; whether there was one, and what is wrong with it.
fn look_at(
    session: &Session,
    name: Name,
    run: &str,
    against: Option<&str>,
    filter: &Filter,
) -> (bool, Vec<String>) {
    let mut found = Vec::new();
    let mut drawn = false;
    for width in [Width::Column, Width::Page] {
        let request = Request { session, run, against, filter: filter.clone(), width };
        match draw(name, &request).unwrap_or_else(|error| panic!("{name} of {run}: {error}")) {
            Drawn::Unavailable(why) => assert!(!why.is_empty()),
            Drawn::Figure(figure) => {
                let said = |fault| format!("{name} of {run}, {width:?}: {fault}");
                found.extend(faults(&figure.svg()).into_iter().map(said));
                found.extend(faults(&figure.inline_svg("x-")).into_iter().map(said));
                drawn = true;
            }
        }
    }
    (drawn, found)
}

#[test]
fn texts_of_every_shape_stand_apart() {
    let sandbox = Sandbox::new();
    let shapes = Shape::all();
    let runs: Vec<String> = shapes.iter().map(|shape| shape.ingest(&sandbox)).collect();
    let again: Vec<String> = shapes
        .iter()
        .map(|shape| shape.ingest_as(&sandbox, &format!("again-{}", shape.name.replace(' ', "-"))))
        .collect();
    let session = sandbox.session();
    let mut all = Vec::new();
    for ((shape, run), again) in shapes.iter().zip(&runs).zip(&again) {
        for name in Name::ALL {
            let (drawn, faults) = look_at(&session, name, run, Some(again), &Filter::default());
            all.extend(faults);
            let expected = match name {
                Name::VerticalScaling => !shape.tiers.is_empty(),
                Name::Verdicts => shape.targets.len() > 1,
                Name::InstanceScaling | Name::Sweep => false,
                _ => true,
            };
            assert_eq!(drawn, expected, "{name} of {}", shape.name);
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn texts_of_instances_stand_apart() {
    let sandbox = Sandbox::new();
    for (id, scenarios, padding) in [
        ("one", 1, ""),
        ("two", 2, ""),
        ("long", 3, "-with-a-name-that-goes-on-and-on-without-an-end-in-sight"),
        ("many", 20, ""),
    ] {
        instances(&sandbox, id, scenarios, padding);
    }
    let session = sandbox.session();
    let mut all = Vec::new();
    for run in ["one", "two", "long", "many"] {
        for name in [Name::InstanceScaling, Name::Sweep] {
            let (drawn, faults) = look_at(&session, name, run, None, &Filter::default());
            assert!(drawn, "{name} of {run}");
            all.extend(faults);
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn texts_of_the_shipped_runs_stand_apart() {
    let runs = sources().join("runs");
    let shipped = ["20260912T225808Z-d43b538d-tap-compare-scaling", "20261012-adaptive-runtime"];
    let sandbox = Sandbox::with_runs(shipped.map(|run| runs.join(run)));
    let session = sandbox.session();
    let drawn: Vec<(&str, Name)> = shipped
        .iter()
        .flat_map(|run| Name::ALL.map(|name| (*run, name)))
        .filter(|(run, name)| check(&session, *name, run, None, &Filter::default()))
        .collect();
    let expected = [
        (shipped[0], Name::VerticalScaling),
        (shipped[0], Name::Verdicts),
        (shipped[1], Name::InstanceScaling),
        (shipped[1], Name::Sweep),
    ];
    assert_eq!(drawn, expected);
}

/// Of every class, format and number of connections that was published.
#[test]
fn texts_of_the_published_runs_stand_apart() {
    let Some(published) = published() else { return };
    let ids = [
        "20260911T065452Z-41bfc513-tap-compare",
        "20260912T225808Z-d43b538d-tap-compare-scaling",
        "20260913T115758Z-f79672d9-tap-compare-scaling",
    ];
    let sandbox = Sandbox::with_runs(ids.map(|id| published.join(id)));
    let session = sandbox.session();
    for class in ["Q01", "Q05", "Q11", "Q13", "mix"] {
        let filter = Filter { classes: vec![class.to_owned()], ..Filter::default() };
        assert!(check(&session, Name::VerticalScaling, ids[1], None, &filter), "{class}");
    }
    let all = Filter::default();
    for name in [Name::Verdicts, Name::ClientCost] {
        assert!(check(&session, name, ids[1], None, &all), "{name}");
    }
    assert!(check(&session, Name::Reproduction, ids[1], Some(ids[0]), &all));
    assert!(check(&session, Name::Reproduction, ids[2], Some(ids[1]), &all));
}

#[test]
fn covering_texts_would_be_found() {
    let svg = |x: i32| {
        format!(
            "<svg viewBox=\"0 0 500 200\"><text x=\"10\" y=\"100\" font-size=\"70\">ab</text><text x=\"{x}\" y=\"100\" font-size=\"70\" text-anchor=\"end\">cd</text></svg>"
        )
    };
    assert_eq!(faults(&svg(400)), [""; 0]);
    assert_eq!(faults(&svg(100)), ["`cd` covers `ab`"]);
    assert!(faults(&svg(600))[0].starts_with("`cd` leaves the sheet"));
}
