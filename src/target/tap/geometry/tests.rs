//! Geometry against figures computed with 40 digits (mpmath), and by hand.

use super::shape::{Shape, ShapeError};
use super::sphere::{self, Cap};

fn close(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs();
    assert!(error <= relative * expected.abs().max(1e-300), "{found} for {expected}");
}

#[test]
fn distances_are_exact_near_and_far() {
    for (a, b, expected) in [
        ((0.0, 0.0), (90.0, 0.0), 90.0),
        ((359.9, 0.0), (0.1, 0.0), 0.200_000_000_000_022_743),
        ((0.0, 89.9), (180.0, 89.9), 0.199_999_999_999_988_631),
        ((12.5, -45.25), (200.75, 33.125), 166.309_930_339_098_895),
        ((0.0, 90.0), (50.0, -90.0), 180.0),
        ((180.0, 10.0), (180.000_001, 10.000_001), 1.403_512_130_697_206_09e-6),
        ((359.999, -89.99), (120.0, -89.98), 0.026_457_627_310_877_886_3),
        ((45.0, 60.0), (225.0, -60.0), 180.0),
        ((45.0, 60.0), (225.000_1, -60.000_05), 179.999_929_289_348_599),
        ((33.3, 5.0), (33.300_000_000_1, 5.0), 9.962_124_764_899_177_35e-11),
    ] {
        close(sphere::distance(a.0, a.1, b.0, b.1), expected, 2e-9_f64.min(1e-12 / expected));
        close(sphere::distance(b.0, b.1, a.0, a.1), expected, 2e-9_f64.min(1e-12 / expected));
    }
    assert_eq!(sphere::distance(10.0, 20.0, 10.0, 20.0), 0.0);
    assert!(sphere::distance(0.0, -90.0, 123.0, -90.0) < 1e-14);
}

#[test]
fn circles_reach_over_the_poles_and_the_meridian() {
    let around = Cap::new(0.05, 0.0, 0.2);
    assert!(around.contains(359.9, 0.0) && around.contains(0.2, 0.05));
    assert!(!around.contains(359.8, 0.0) && !around.contains(180.0, 0.0));
    let pole = Cap::new(10.0, 89.95, 0.1);
    assert!(pole.contains(190.0, 89.96) && !pole.contains(190.0, 89.94));
    let point = Cap::new(77.7, -12.3, 0.0);
    assert!(point.contains(77.7, -12.3) && !point.contains(77.700_000_1, -12.3));
    assert!(Cap::new(0.0, 0.0, 180.0).contains(180.0, 0.0));
    assert!(!Cap::new(0.0, 0.0, -1.0).contains(0.0, 0.0));
    let half = Cap::new(0.0, 0.0, 90.0);
    assert!(half.contains(89.999_999, 0.0) && !half.contains(90.000_001, 0.0));
}

fn polygon(coordinates: &[f64]) -> Shape {
    Shape::polygon(coordinates).unwrap()
}

#[test]
fn areas_are_those_of_the_sphere() {
    for (coordinates, expected) in [
        (&[0.0, 0.0, 90.0, 0.0, 0.0, 90.0][..], 5_156.620_156_177_408_88),
        (&[179.0, -1.0, 181.0, -1.0, 181.0, 1.0, 179.0, 1.0], 4.000_202_986_504_145_48),
        (&[359.0, -1.0, 1.0, -1.0, 1.0, 1.0, 359.0, 1.0], 4.000_202_986_504_145_48),
        // The same the other way round.
        (&[359.0, 1.0, 1.0, 1.0, 1.0, -1.0, 359.0, -1.0], 4.000_202_986_504_145_48),
        (&[0.0, 80.0, 90.0, 80.0, 180.0, 80.0, 270.0, 80.0], 201.015_865_054_088_526),
        (&[0.0, 0.0, 20.0, 0.0, 10.0, 5.0, 20.0, 30.0, 0.0, 30.0], 425.552_552_243_507_204),
    ] {
        close(polygon(coordinates).area(), expected, 1e-13);
    }
    let small = polygon(&[10.0, 10.0, 10.001, 10.0, 10.001, 10.001, 10.0, 10.001]);
    close(small.area(), 9.848_062_376_176_354_65e-7, 1e-8);
    close(Shape::circle(5.0, 5.0, 0.001).unwrap().area(), 3.141_592_653_510_044_58e-6, 1e-13);
    close(Shape::circle(5.0, 5.0, 30.0).unwrap().area(), 2_763.424_413_043_573_11, 1e-13);
    close(Shape::circle(5.0, 5.0, 180.0).unwrap().area(), 41_252.961_249_419_27, 1e-13);
}

#[test]
fn sides_of_polygons_are_great_circles() {
    // The side from (0, 45) to (90, 45) rises to a latitude of 54.7356 degrees.
    let shape = polygon(&[0.0, 45.0, 90.0, 45.0, 45.0, 0.0]);
    let inside = |lon, lat| Shape::point(lon, lat).unwrap().is_in(&shape);
    assert!(inside(45.0, 54.735) && !inside(45.0, 54.737));
    assert!(inside(45.0, 0.0), "a vertex is in it");
    assert!(!inside(225.0, -20.0), "what is opposite is not");
    let across = polygon(&[359.0, -1.0, 1.0, -1.0, 1.0, 1.0, 359.0, 1.0]);
    for (lon, lat, expected) in
        [(0.0, 0.0, true), (359.5, 0.5, true), (2.0, 0.0, false), (180.0, 0.0, false)]
    {
        assert_eq!(Shape::point(lon, lat).unwrap().is_in(&across), expected, "{lon} {lat}");
    }
    let pole = polygon(&[0.0, 80.0, 90.0, 80.0, 180.0, 80.0, 270.0, 80.0]);
    let at = |lon, lat| Shape::point(lon, lat).unwrap().is_in(&pole);
    // Its sides come nearer to the pole than its vertices.
    assert!(at(123.0, 90.0) && at(45.0, 83.0) && !at(45.0, 82.0) && at(1.0, 80.2));
}

#[test]
fn a_concave_polygon_lacks_its_notch() {
    let shape = polygon(&[0.0, 0.0, 20.0, 0.0, 10.0, 5.0, 20.0, 30.0, 0.0, 30.0]);
    let inside = |lon, lat| Shape::point(lon, lat).unwrap().is_in(&shape);
    assert!(inside(5.0, 10.0) && inside(15.0, 1.0) && inside(15.0, 25.0) && !inside(18.0, 8.0));
}

#[test]
fn boxes_have_arms_along_the_axes() {
    let square = Shape::parse("BOX ICRS 0 60 2 4").unwrap();
    let inside = |lon: f64, lat: f64| Shape::point(lon, lat).unwrap().is_in(&square);
    // The arm along the parallel is one degree of a great circle, which is two
    // degrees of longitude at this latitude.
    assert!(inside(1.99, 60.0) && !inside(2.02, 60.0) && inside(358.01, 60.0));
    assert!(inside(0.0, 61.99) && !inside(0.0, 62.01) && inside(0.0, 58.01));
    close(Shape::parse("BOX ICRS 10 0 2 2").unwrap().area(), 3.999_797_002_966_5, 2e-4);
}

#[test]
fn shapes_intersect_and_contain_each_other() {
    let circle = |lon, lat, radius| Shape::circle(lon, lat, radius).unwrap();
    let square = polygon(&[359.0, -1.0, 1.0, -1.0, 1.0, 1.0, 359.0, 1.0]);
    assert!(circle(0.0, 0.0, 1.0).intersects(&circle(1.5, 0.0, 0.51)));
    assert!(!circle(0.0, 0.0, 1.0).intersects(&circle(1.5, 0.0, 0.49)));
    assert!(
        circle(2.0, 0.0, 1.01).intersects(&square) && square.intersects(&circle(2.0, 0.0, 1.01))
    );
    assert!(!circle(2.0, 0.0, 0.99).intersects(&square));
    assert!(circle(0.0, 0.0, 0.1).intersects(&square), "inside, and touching no side");
    assert!(square.intersects(&circle(0.0, 0.0, 10.0)), "around it");
    assert!(circle(0.0, 0.0, 0.99).is_in(&square) && !circle(0.0, 0.0, 1.01).is_in(&square));
    assert!(square.is_in(&circle(0.0, 0.0, 1.5)) && !square.is_in(&circle(0.0, 0.0, 1.3)));
    assert!(circle(0.0, 0.0, 1.0).is_in(&circle(0.5, 0.0, 1.5)));
    assert!(!circle(0.0, 0.0, 1.1).is_in(&circle(0.5, 0.0, 1.5)));
    assert!(square.is_in(&circle(0.0, 0.0, 120.0)) && !square.is_in(&circle(180.0, 0.0, 178.9)));
    assert!(
        square.is_in(&circle(180.0, 5.0, 179.9)) == !square.intersects(&circle(0.0, -5.0, 0.1))
    );
    // Two bars of a cross have no vertex in each other.
    let tall = polygon(&[-0.5, -5.0, 0.5, -5.0, 0.5, 5.0, -0.5, 5.0]);
    let wide = polygon(&[-5.0, -0.5, 5.0, -0.5, 5.0, 0.5, -5.0, 0.5]);
    assert!(tall.intersects(&wide) && wide.intersects(&tall) && !tall.is_in(&wide));
    let inner = polygon(&[-0.2, -0.2, 0.2, -0.2, 0.2, 0.2, -0.2, 0.2]);
    assert!(inner.is_in(&tall) && !tall.is_in(&inner) && inner.intersects(&tall));
    let opposite = polygon(&[179.5, -5.0, 180.5, -5.0, 180.5, 5.0, 179.5, 5.0]);
    assert!(!tall.intersects(&opposite));
}

#[test]
fn centroids_are_in_the_middle() {
    let (lon, lat) = polygon(&[359.0, -1.0, 1.0, -1.0, 1.0, 1.0, 359.0, 1.0]).centroid();
    assert!(!(1e-12..=360.0 - 1e-12).contains(&lon) && lat.abs() < 1e-12, "{lon} {lat}");
    let (lon, lat) = polygon(&[10.0, 20.0, 12.0, 20.0, 12.0, 24.0, 10.0, 24.0]).centroid();
    close(lon, 11.0, 1e-12);
    assert!((21.9..22.0).contains(&lat), "{lat}");
}

#[test]
fn regions_are_read_from_text() {
    let read = |text: &str| Shape::parse(text);
    assert_eq!(read("circle icrs 1 2 3"), Shape::circle(1.0, 2.0, 3.0));
    assert_eq!(read("Position ICRS GEOCENTER 1 2"), Shape::point(1.0, 2.0));
    assert_eq!(read("CIRCLE 1 2 3"), Shape::circle(1.0, 2.0, 3.0));
    assert_eq!(read("Polygon ICRS 0 0 1 0 1 1"), Shape::polygon(&[0.0, 0.0, 1.0, 0.0, 1.0, 1.0]));
    assert_eq!(read("CIRCLE GALACTIC 1 2 3"), Err(ShapeError::Frame("GALACTIC".to_owned())));
    for text in ["", "CIRCLE ICRS 1 2", "CIRCLE ICRS 1 2 -3", "CIRCLE ICRS 1 91 3", "UNION ICRS"] {
        assert!(read(text).is_err(), "{text}");
    }
    for text in [
        "POLYGON ICRS 0 0 1 0",
        "POLYGON ICRS 0 0 1 0 1",
        "POLYGON ICRS 0 0 120 0 240 0",
        "BOX ICRS 0 0 0 1",
        "BOX ICRS 0 0 180 1",
        "CIRCLE ICRS nan 2 3",
        "CIRCLE ICRS 1 2 inf x",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn positions_come_back_from_directions() {
    for (lon, lat) in [(0.0, 0.0), (359.999, 45.0), (123.456, -89.999), (180.0, 89.0)] {
        let (found_lon, found_lat) = sphere::position(sphere::direction(lon, lat));
        assert!((found_lon - lon).abs() < 1e-10 && (found_lat - lat).abs() < 1e-12);
    }
    assert_eq!(sphere::position([1.0, -0.0, 0.0]).0, 0.0);
}
