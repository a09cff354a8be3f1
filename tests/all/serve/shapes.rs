//! Geometry in queries, against a test of each row one by one.

use super::{Served, table};

/// The distance of two positions in degrees, by the haversine: another formula
/// than the server's.
fn distance((ra, dec): (f64, f64), (other_ra, other_dec): (f64, f64)) -> f64 {
    let half = |a: f64, b: f64| ((b - a).to_radians() / 2.0).sin().powi(2);
    let h = half(dec, other_dec)
        + dec.to_radians().cos() * other_dec.to_radians().cos() * half(ra, other_ra);
    2.0 * h.sqrt().min(1.0).asin().to_degrees()
}

/// The rows in a circle, one by one.
fn within(centre: (f64, f64), radius: f64) -> Vec<String> {
    let is_in =
        |&row: &usize| table::place(row).is_some_and(|place| distance(place, centre) <= radius);
    (0..table::ROWS).filter(is_in).map(|row| format!("obs-{row:05}")).collect()
}

const CIRCLES: [(f64, f64, f64); 10] = [
    (0.0, 0.0, 0.05),
    (0.0, 0.0, 20.0),
    (359.999, 1.0, 15.0),
    (180.0, 90.0, 0.01),
    (10.0, 89.0, 12.0),
    (10.0, -85.0, 12.0),
    (45.0, -90.0, 0.0),
    (200.0, 30.0, 1e-9),
    (120.0, 45.0, 100.0),
    (120.0, 45.0, 180.0),
];

#[test]
fn cones_have_the_rows_that_lie_in_them() {
    let served = Served::new();
    for (ra, dec, radius) in CIRCLES {
        let expected = within((ra, dec), radius);
        for condition in [
            format!(
                "CONTAINS(POINT('ICRS', s_ra, s_dec), CIRCLE('ICRS', {ra}, {dec}, {radius})) = 1"
            ),
            format!("1 = CONTAINS(POINT(s_ra, s_dec), CIRCLE(POINT({ra}, {dec}), {radius}))"),
            format!("INTERSECTS(POINT(s_ra, s_dec), CIRCLE('', {ra}, {dec}, {radius})) = 1"),
            format!("DISTANCE(POINT(s_ra, s_dec), POINT({ra}, {dec})) <= {radius}"),
            format!("{radius} >= DISTANCE({ra}, {dec}, s_ra, s_dec)"),
            // Without an index to help.
            format!("CONTAINS(POINT(s_ra, s_dec + 0), CIRCLE({ra}, {dec}, {radius})) + 0 = 1"),
        ] {
            let query =
                format!("SELECT obs_id FROM ivoa.obscore WHERE {condition} ORDER BY obs_id");
            let found: Vec<String> = served.rows(&query).into_iter().flatten().collect();
            assert_eq!(found, expected, "{condition}");
        }
        let outside = served.value(&format!(
            "SELECT COUNT(*) FROM ivoa.obscore WHERE \
             CONTAINS(POINT(s_ra, s_dec), CIRCLE({ra}, {dec}, {radius})) = 0"
        ));
        // One row has no place.
        assert_eq!(outside, (table::ROWS - 1 - expected.len()).to_string());
    }
}

#[test]
fn a_cone_can_be_joined_narrowed_and_sorted() {
    let served = Served::new();
    let cone = "CONTAINS(POINT(s_ra, s_dec), CIRCLE(120, 45, 30)) = 1";
    let inside = within((120.0, 45.0), 30.0);
    let rows = served.rows(&format!(
        "SELECT obs_id, DISTANCE(POINT(s_ra, s_dec), POINT(120, 45)) AS d FROM ivoa.obscore \
         WHERE {cone} ORDER BY d"
    ));
    assert_eq!(rows.len(), inside.len());
    let distances: Vec<f64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(distances.is_sorted() && distances.iter().all(|&d| d <= 30.0));
    let images = inside.iter().filter(|id| id[4..].parse::<usize>().unwrap().is_multiple_of(4));
    let counted = served.value(&format!(
        "SELECT COUNT(*) FROM ivoa.obscore WHERE {cone} AND dataproduct_type = 'image'"
    ));
    assert_eq!(counted, images.count().to_string());
    // All pairs that are near each other: those about the origin and the pole.
    let pairs = served.rows(
        "SELECT a.obs_id, b.obs_id FROM ivoa.obscore a JOIN ivoa.obscore b \
         ON 1 = CONTAINS(POINT(a.s_ra, a.s_dec), CIRCLE(b.s_ra, b.s_dec, 0.02)) \
         WHERE a.obs_id < b.obs_id AND b.obs_id < 'obs-00007' ORDER BY a.obs_id, b.obs_id",
    );
    let pairs: Vec<String> = pairs.into_iter().map(|pair| pair.join(" ")).collect();
    assert_eq!(pairs, ["obs-00000 obs-00001", "obs-00000 obs-00002", "obs-00003 obs-00004"]);
}

#[test]
fn regions_of_rows_are_found() {
    let served = Served::new();
    for (ra, dec, radius) in [(0.0, 0.0, 0.0), (0.0, 0.0, 10.0), (10.0, 89.0, 12.0)] {
        let expected = within((ra, dec), radius + 0.05);
        for condition in [
            format!("INTERSECTS(s_region, CIRCLE({ra}, {dec}, {radius})) = 1"),
            format!("1 = INTERSECTS(CIRCLE({ra}, {dec}, {radius}), s_region)"),
            // Without an index to help.
            format!("INTERSECTS(s_region, CIRCLE({ra}, {dec}, {radius})) + 0 = 1"),
        ] {
            let query =
                format!("SELECT obs_id FROM ivoa.obscore WHERE {condition} ORDER BY obs_id");
            let found: Vec<String> = served.rows(&query).into_iter().flatten().collect();
            assert_eq!(found, expected, "{condition}");
        }
    }
    let over =
        "SELECT obs_id FROM ivoa.obscore WHERE CONTAINS(POINT(0, 0), s_region) = 1 ORDER BY 1";
    let found: Vec<String> = served.rows(over).into_iter().flatten().collect();
    assert_eq!(found, within((0.0, 0.0), 0.05));
}

#[test]
fn boxes_and_polygons_have_the_rows_that_lie_in_them() {
    let served = Served::new();
    // On the equator, sides along the meridians are as far as longitudes say.
    let count = |condition: &str| {
        served.value(&format!("SELECT COUNT(*) FROM ivoa.obscore WHERE {condition} = 1"))
    };
    let square = count("CONTAINS(POINT(s_ra, s_dec), BOX('ICRS', 0, 0, 20, 20))");
    let polygon =
        count("CONTAINS(POINT(s_ra, s_dec), POLYGON('ICRS', 350, -10, 10, -10, 10, 10, 350, 10))");
    let in_square = |row: &usize| {
        let Some((ra, dec)) = table::place(*row) else { return false };
        let (x, y) = (ra.to_radians(), dec.to_radians());
        // On the plane that touches the sphere at the origin.
        let limit = 10_f64.to_radians().tan();
        x.cos() > 0.0 && x.tan().abs() <= limit && (y.tan() / x.cos()).abs() <= limit
    };
    let expected = (0..table::ROWS).filter(in_square).count();
    assert_eq!(square, expected.to_string());
    // The polygon's sides rise between its corners, the box's fall to them.
    let polygon: usize = polygon.parse().unwrap();
    assert!(polygon >= expected && polygon <= expected + 3, "{polygon} {expected}");
    assert_eq!(count("CONTAINS(POINT(s_ra, s_dec), POLYGON(0, 80, 90, 80, 180, 80, 270, 80))"), {
        let polar = |row: &usize| {
            let Some((ra, dec)) = table::place(*row) else { return false };
            // The distance of each side from the pole, seen from the middle of it.
            let across = (ra.rem_euclid(90.0) - 45.0).to_radians().cos();
            let side = (10_f64.to_radians().tan() * 45_f64.to_radians().cos() / across).atan();
            90.0 - dec <= side.to_degrees()
        };
        (0..table::ROWS).filter(polar).count().to_string()
    });
}

#[test]
fn shapes_are_values_too() {
    let served = Served::new();
    for (call, expected) in [
        ("POINT('ICRS', 1, 2)", "1.0 2.0"),
        ("CIRCLE('ICRS', 1, 2, 3)", "1.0 2.0 3.0"),
        ("POLYGON(0, 0, 1, 0, 1, 1)", "0.0 0.0 1.0 0.0 1.0 1.0"),
        ("REGION('CIRCLE ICRS 1 2 3')", "CIRCLE ICRS 1 2 3"),
        ("COORD1(POINT(1, 2))", "1.0"),
        ("COORD2(POINT(1, 2))", "2.0"),
        ("COORDSYS(POINT(1, 2))", "ICRS"),
        ("CENTROID(CIRCLE(1, 2, 3))", "1.0 2.0"),
        ("AREA(CIRCLE(0, 0, 180))", "41252.96124941927"),
        ("DISTANCE(POINT(0, 0), POINT(0, 90))", "90.0"),
        ("CONTAINS(CIRCLE(0, 0, 1), CIRCLE(0, 0, 2))", "1"),
        ("INTERSECTS(BOX(0, 0, 1, 1), CIRCLE(5, 5, 1))", "0"),
        ("CONTAINS(POINT(NULL, 0), CIRCLE(0, 0, 1))", ""),
    ] {
        assert_eq!(served.value(&format!("SELECT {call} AS x")), expected, "{call}");
    }
    for (call, part) in [
        ("CONTAINS(POINT(0, 0), CIRCLE(0, 91, 1))", "latitude 91"),
        ("CONTAINS(POINT(0, 0), CIRCLE(0, 0, -1))", "radius -1"),
        ("POINT('GALACTIC', 0, 0)", "unknown coordinate frame 'GALACTIC'"),
        ("POINT(1)", "expected POINT([frame,] longitude, latitude)"),
        ("CIRCLE(1, 2)", "expected CIRCLE("),
        ("AREA(1)", "expected a point, a circle, a polygon or a region"),
        ("CONTAINS(POINT(0, 0))", "expected CONTAINS(shape, region)"),
        ("AREA(POLYGON(0, 0, 120, 0, 240, 0))", "fit into half the sphere"),
        ("BOX(0, 0, 0, 1)", "sides of a box"),
        ("REGION('UNION')", "not a region"),
    ] {
        let (status, message) = served.refused(&format!("SELECT {call} AS x"));
        assert_eq!(status, 400, "{call}: {message}");
        assert!(message.contains(part), "{call}: {message}");
    }
}
