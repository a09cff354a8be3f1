//! Functions of ADQL that the engine lacks, or has in another sense.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// What `||` becomes.
pub const CONCAT: &str = "concat_text";

/// Bytes of one text that `||` makes, and of the texts of a batch.
const TEXT: usize = 64 << 10;
const TEXTS: usize = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Mod,
    Rand,
    Square,
    Concat,
    InUnit,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Own {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

/// The functions.
pub fn all() -> Vec<ScalarUDF> {
    let own = |name, kind, volatility| {
        let signature = Signature::variadic_any(volatility);
        ScalarUDF::from(Own { name, kind, signature })
    };
    vec![
        own("mod", Kind::Mod, Volatility::Immutable),
        ScalarUDF::from(Own {
            name: "rand",
            kind: Kind::Rand,
            signature: Signature::one_of(
                vec![
                    datafusion::logical_expr::TypeSignature::Nullary,
                    datafusion::logical_expr::TypeSignature::Any(1),
                ],
                Volatility::Volatile,
            ),
        }),
        own("square", Kind::Square, Volatility::Immutable),
        own(CONCAT, Kind::Concat, Volatility::Immutable),
        own("in_unit", Kind::InUnit, Volatility::Immutable),
    ]
}

impl ScalarUDFImpl for Own {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let is_number = |data_type: &DataType| data_type.is_numeric() || data_type.is_null();
        match (self.kind, types) {
            (Kind::Mod, [a, b]) if a.is_integer() && b.is_integer() => Ok(DataType::Int64),
            (Kind::Mod, [a, b]) if is_number(a) && is_number(b) => Ok(DataType::Float64),
            (Kind::Mod, _) => plan_err!("expected MOD(number, number)"),
            (Kind::Rand, [] | [_]) => Ok(DataType::Float64),
            (Kind::Rand, _) => plan_err!("expected RAND() or RAND(seed)"),
            (Kind::Square, [a]) if is_number(a) => Ok(DataType::Float64),
            (Kind::Square, _) => plan_err!("expected SQUARE(number)"),
            (Kind::Concat, [_, _]) => Ok(DataType::Utf8),
            (Kind::Concat, _) => plan_err!("expected text || text"),
            (Kind::InUnit, [a, _]) if is_number(a) => Ok(DataType::Float64),
            (Kind::InUnit, _) => plan_err!("expected IN_UNIT(column, 'unit')"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = !args.args.is_empty()
            && args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant && self.kind != Kind::Rand { 1 } else { args.number_rows };
        let columns =
            args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<ArrayRef>>>()?;
        let column: ArrayRef = match self.kind {
            Kind::Mod if args.return_field.data_type() == &DataType::Int64 => whole_mod(&columns)?,
            Kind::Mod => pairwise(&columns, |a, b| a % b)?,
            Kind::Rand => Arc::new(random(rows)),
            Kind::Square => {
                pairwise(&[Arc::clone(&columns[0]), Arc::clone(&columns[0])], |a, b| a * b)?
            }
            Kind::Concat => concat(&columns, rows)?,
            Kind::InUnit => {
                let from = args.arg_fields[0].metadata().get("unit").cloned().unwrap_or_default();
                let to = match &args.args[1] {
                    ColumnarValue::Scalar(value) => {
                        value.try_as_str().flatten().unwrap_or_default()
                    }
                    ColumnarValue::Array(_) => {
                        return exec_err!("the unit must be a constant text");
                    }
                };
                let Some(factor) = factor(&from, to) else {
                    return exec_err!("cannot convert from the unit '{from}' to '{to}'");
                };
                let values = cast(&columns[0], &DataType::Float64)?;
                let values = values.as_primitive::<Float64Type>();
                Arc::new(values.unary::<_, Float64Type>(|value| value * factor))
            }
        };
        if constant && self.kind != Kind::Rand {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&column, 0)?));
        }
        Ok(ColumnarValue::Array(column))
    }
}

fn pairwise(columns: &[ArrayRef], figure: fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let a = cast(&columns[0], &DataType::Float64)?;
    let b = cast(&columns[1], &DataType::Float64)?;
    let pairs = a.as_primitive::<Float64Type>().iter().zip(b.as_primitive::<Float64Type>());
    let figures = pairs.map(|(a, b)| Some(figure(a?, b?)));
    Ok(Arc::new(figures.collect::<Float64Array>()))
}

fn whole_mod(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let a = cast(&columns[0], &DataType::Int64)?;
    let b = cast(&columns[1], &DataType::Int64)?;
    let pairs = a.as_primitive::<Int64Type>().iter().zip(b.as_primitive::<Int64Type>());
    let rests = pairs.map(|pair| match pair {
        (Some(_), Some(0)) => exec_err!("MOD by 0"),
        (Some(a), Some(b)) => Ok(Some(a.wrapping_rem(b))),
        _ => Ok(None),
    });
    Ok(Arc::new(rests.collect::<Result<Int64Array>>()?))
}

/// Numbers from 0 to 1, 1 excluded: by SplitMix64 from a start that the system
/// chose.
fn random(rows: usize) -> Float64Array {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let start = RandomState::new().hash_one(NEXT.fetch_add(1, Ordering::Relaxed));
    let number = |row: usize| {
        let mut z = start.wrapping_add((row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..rows).map(number).map(Some).collect()
}

fn concat(columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let a = cast(&columns[0], &DataType::Utf8)?;
    let b = cast(&columns[1], &DataType::Utf8)?;
    let (a, b) = (a.as_string::<i32>(), b.as_string::<i32>());
    let mut texts = StringBuilder::new();
    let mut bytes = 0;
    for row in 0..rows {
        if a.is_null(row) || b.is_null(row) {
            texts.append_null();
            continue;
        }
        let (a, b) = (a.value(row), b.value(row));
        bytes += a.len() + b.len();
        if a.len() + b.len() > TEXT || bytes > TEXTS {
            return exec_err!("|| makes texts that are too long");
        }
        texts.append_value([a, b].concat());
    }
    Ok(Arc::new(texts.finish()))
}

/// How many of one unit another is.
fn factor(from: &str, to: &str) -> Option<f64> {
    /// Units by what they measure, each with its size in the first.
    const UNITS: [&[(&str, f64)]; 4] = [
        &[
            ("deg", 1.0),
            ("arcmin", 1.0 / 60.0),
            ("arcsec", 1.0 / 3600.0),
            ("mas", 1.0 / 3.6e6),
            ("rad", 180.0 / std::f64::consts::PI),
        ],
        &[
            ("s", 1.0),
            ("ms", 1e-3),
            ("min", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
            ("a", 31_557_600.0),
        ],
        &[
            ("m", 1.0),
            ("nm", 1e-9),
            ("um", 1e-6),
            ("mm", 1e-3),
            ("cm", 1e-2),
            ("km", 1e3),
            ("Angstrom", 1e-10),
        ],
        &[("kbyte", 1.0), ("byte", 1e-3), ("Mbyte", 1e3), ("Gbyte", 1e6)],
    ];
    if from == to {
        return Some(1.0);
    }
    let size = |units: &[(&str, f64)], name: &str| {
        units.iter().find(|unit| unit.0 == name).map(|unit| unit.1)
    };
    UNITS.iter().find_map(|units| Some(size(units, from)? / size(units, to)?))
}
