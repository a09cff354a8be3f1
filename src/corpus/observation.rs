//! One row of the table: an observation that nobody made.

use super::archive::{Archive, FIELDS, Product, SKY};
use super::draws::Draws;
use super::portable::at_decimals;
use super::sky::Direction;

/// The number of the stream that the fields on the sky are drawn from; the
/// rows' streams are their numbers, from 1.
const FIELD_STREAM: u64 = 0;

/// Start and end of all observations, MJD: 2000-01-01 to 2025-01-01.
pub const TIMES: (f64, f64) = (51_544.0, 60_676.0);

/// A row. Names are those of ObsCore 1.1, and so are units: degrees, arcseconds,
/// days (MJD), seconds, metres, kilobytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    pub dataproduct_type: Option<&'static str>,
    pub calib_level: i64,
    pub obs_collection: &'static str,
    pub obs_id: String,
    pub obs_publisher_did: String,
    pub access_url: String,
    pub access_format: &'static str,
    pub access_estsize: Option<i64>,
    pub target_name: Option<String>,
    /// Right ascension and declination; null in one row of 500.
    pub position: Option<(f64, f64)>,
    pub s_fov: Option<f64>,
    pub s_region: Option<String>,
    pub s_resolution: f64,
    /// Start and end; null in one row of 100.
    pub times: Option<(f64, f64)>,
    pub t_exptime: Option<f64>,
    pub t_resolution: Option<f64>,
    pub em_min: f64,
    pub em_max: f64,
    pub em_res_power: Option<f64>,
    pub o_ucd: Option<&'static str>,
    pub pol_states: Option<&'static str>,
    pub facility_name: Option<&'static str>,
    pub instrument_name: Option<&'static str>,
    pub s_xel: Option<(i64, i64)>,
    pub t_xel: Option<i64>,
    pub em_xel: Option<i64>,
    pub pol_xel: i64,
}

/// The rows of a seed, each by its number, in any order.
#[derive(Debug)]
pub struct Observations {
    seed: u64,
    fields: Vec<Direction>,
}

impl Observations {
    /// The rows of a seed.
    pub fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, FIELD_STREAM);
        // The first is where an example of a cone search looks first.
        let mut fields = vec![Direction::of(180.0, 0.0)];
        while fields.len() < FIELDS {
            let (ra, dec) = Direction::draw(&mut draws).degrees(3);
            if dec.abs() < 80.0 {
                fields.push(Direction::of(ra, dec));
            }
        }
        Self { seed, fields }
    }

    /// The centre of a field that is observed again and again, in degrees.
    pub fn field(&self, number: usize) -> (f64, f64) {
        self.fields[number].degrees(3)
    }

    /// A row by its number, from 1: the same in a table of any length.
    pub fn row(&self, number: u64) -> Observation {
        let draws = &mut Draws::new(self.seed, number);
        let archive = draws.weighted(SKY, |archive| archive.weight);
        let product = draws.pick(archive.products);
        let mut row = Observation {
            dataproduct_type: product.name(),
            obs_collection: archive.collection,
            facility_name: archive.facility,
            instrument_name: archive.instrument,
            access_format: draws.pick::<&str>(product.formats()),
            o_ucd: product.o_ucd(),
            calib_level: product.calib_level(draws),
            ..Observation::default()
        };
        row.name(archive, number);
        self.place(&mut row, archive, draws);
        row.time(*product, draws);
        row.spectrum(archive, *product, draws);
        row.axes(*product, draws);
        row
    }

    fn place(&self, row: &mut Observation, archive: &Archive, draws: &mut Draws) {
        let direction = if draws.chance(0.4) {
            let field = draws.below(FIELDS as u64) as usize;
            row.target_name = Some(format!("Field {field:02}"));
            self.fields[field].draw_near(draws, 3.0)
        } else {
            let direction = Direction::draw(draws);
            let (ra, dec) = direction.degrees(1);
            row.target_name = draws.chance(0.6).then(|| format!("J{ra:05.1}{dec:+05.1}"));
            direction
        };
        if draws.chance(0.01) {
            // Something to trip over where text is quoted or escaped.
            let number = draws.integer(1, 999);
            row.target_name = Some(match draws.below(4) {
                0 => format!("HD \"{number}\", A&B"),
                1 => format!("<{number}> Oph's b"),
                2 => format!("a,b;{number}"),
                _ => format!("NGC {number}  'east' (double  space)"),
            });
        }
        let fov = significant(draws.log_between(archive.fov.0, archive.fov.1), 5);
        row.s_resolution = significant(archive.resolution * draws.between(0.8, 1.6), 4);
        if draws.chance(0.002) {
            return;
        }
        let (ra, dec) = direction.degrees(6);
        row.position = Some((ra, dec));
        row.s_fov = Some(fov);
        row.s_region = Some(square(Direction::of(ra, dec), fov));
    }
}

impl Observation {
    fn name(&mut self, archive: &Archive, number: u64) {
        let letters = archive.letters;
        // One length and one alphabet where they differ, so that every
        // collation sorts them alike.
        self.obs_id = format!("{letters}-{number:08}");
        self.obs_publisher_did = format!("ivo://obs.example/{letters}?{number:08}");
        self.access_url = format!("http://obs.example/{letters}/{number:08}");
    }

    fn time(&mut self, product: Product, draws: &mut Draws) {
        let exposure = draws.log_between(30.0, 20_000.0);
        let start = draws.between(TIMES.0, TIMES.1);
        let mut end = start + exposure * draws.between(1.0, 1.3) / 86_400.0;
        let mut resolution = None;
        self.t_xel = Some(1);
        match product {
            Product::TimeSeries => {
                end = start + draws.between(1.0, 400.0);
                resolution = Some(exposure / 10.0);
                self.t_xel = Some(draws.integer(50, 20_000));
            }
            Product::Visibility => {
                let step = draws.log_between(0.05, 10.0);
                resolution = Some(step);
                self.t_xel = Some((exposure / step) as i64 + 1);
            }
            Product::Event => {
                resolution = Some(draws.log_between(0.05, 10.0));
                self.t_xel = None;
            }
            _ => {}
        }
        if draws.chance(0.01) {
            return;
        }
        self.times = Some((at_decimals(start, 6), at_decimals(end.min(TIMES.1), 6)));
        self.t_exptime = Some(at_decimals(exposure, 1));
        self.t_resolution = resolution.map(|seconds| at_decimals(seconds, 2));
    }

    fn spectrum(&mut self, archive: &Archive, product: Product, draws: &mut Draws) {
        let (low, high) = archive.wavelengths;
        let (min, max) = match product {
            Product::Spectrum | Product::Sed | Product::Event => (low, high),
            _ => {
                let centre = draws.log_between(low * 1.15, high / 1.15);
                let width = draws.between(0.05, 0.14);
                (centre * (1.0 - width), centre * (1.0 + width))
            }
        };
        self.em_min = significant(min, 4);
        self.em_max = significant(max, 4);
        self.em_xel = Some(1);
        let mut power = None;
        match product {
            Product::Spectrum => {
                self.em_xel = Some(draws.integer(500, 8000));
                power = Some(draws.log_between(500.0, 60_000.0));
            }
            Product::Cube | Product::Visibility => {
                let channels = draws.integer(32, 4096);
                self.em_xel = Some(channels);
                power = Some(channels as f64 * (min + max) / 2.0 / (max - min));
            }
            Product::Sed => self.em_xel = Some(draws.integer(5, 60)),
            Product::Event => {
                self.em_xel = None;
                power = Some(draws.between(10.0, 60.0));
            }
            _ => {}
        }
        self.em_res_power = power.map(|power| significant(power, 4));
    }

    fn axes(&mut self, product: Product, draws: &mut Draws) {
        self.s_xel = match product {
            Product::Image | Product::Cube => {
                let side = *draws.pick(&[512, 1024, 2048, 4096]);
                Some((side, if draws.chance(0.8) { side } else { side / 2 }))
            }
            Product::Visibility | Product::Event | Product::Unknown => None,
            _ => Some((1, 1)),
        };
        self.pol_states = match product {
            Product::Visibility => Some(*draws.pick(&["/XX/YY/", "/RR/LL/", "/RR/LL/RL/LR/"])),
            Product::Cube if self.em_min > 1e-3 => {
                Some(*draws.pick(&["/I/", "/I/Q/U/", "/I/Q/U/V/"]))
            }
            _ => None,
        };
        let states = |states: &str| states.matches('/').count() as i64 - 1;
        self.pol_xel = self.pol_states.map_or(0, states);
        let (width, height) = self.s_xel.unwrap_or((1, 1));
        let cells = width * height * self.em_xel.unwrap_or(1) * self.pol_xel.max(1);
        let size = (cells * 4 / 1024).clamp(3, 40_000_000);
        self.access_estsize = (!draws.chance(0.02)).then_some(size);
    }
}

/// A value at so many significant digits: the number nearest to the decimal
/// fraction. At most 6, which single precision keeps.
fn significant(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits - 1);
    text.parse().expect("a number that was written reads back")
}

/// A square as STC-S, counterclockwise as seen from inside; its diagonal is the
/// diameter of the field.
fn square(centre: Direction, diagonal: f64) -> String {
    let half = diagonal / 2.0 / 2.0_f64.sqrt();
    let corners = [(1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)].map(|(east, north)| {
        let (ra, dec) = centre.offset(east * half, north * half).degrees(4);
        format!(" {ra} {dec}")
    });
    format!("POLYGON ICRS{}", corners.concat())
}
