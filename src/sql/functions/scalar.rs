//! Scalar functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_float64_array, as_int64_array, as_string_array};
use datafusion::common::{exec_datafusion_err, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::limit;
use crate::stats::welch::{self, Sample};
use crate::stats::{StatsError, interval, verdict};

/// What a function does to the columns of a batch.
type Body = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// A function of columns of fixed types.
#[derive(Debug, Hash, PartialEq, Eq)]
struct Columnwise {
    name: &'static str,
    signature: Signature,
    returns: DataType,
    body: Function,
}

/// Which body: an enum, as the addresses of functions cannot be compared.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
enum Function {
    StudentTQuantile,
    HalfWidth,
    Beats,
    WelchP,
    WelchHalfWidth,
    WelchDetectable,
    CpuLimit,
    Refuse,
}

impl Function {
    fn body(self) -> Body {
        match self {
            Self::StudentTQuantile => student_t_quantile,
            Self::HalfWidth => t_half_width,
            Self::Beats => beats,
            Self::WelchP => welch_p,
            Self::WelchHalfWidth => welch_half_width,
            Self::WelchDetectable => welch_detectable,
            Self::CpuLimit => cpu_limit,
            Self::Refuse => refuse,
        }
    }
}

impl ScalarUDFImpl for Columnwise {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        (self.body.body())(&columns).map(ColumnarValue::Array)
    }
}

pub(super) fn all() -> Vec<ScalarUDF> {
    use DataType::{Boolean, Float64, Int64, Utf8};
    let pure = |name, arguments: Vec<DataType>, returns, body| {
        let signature = Signature::exact(arguments, Volatility::Immutable);
        ScalarUDF::from(Columnwise { name, signature, returns, body })
    };
    vec![
        pure("student_t_quantile", vec![Float64, Float64], Float64, Function::StudentTQuantile),
        pure("t_half_width", vec![Float64, Int64, Float64], Float64, Function::HalfWidth),
        pure("beats", vec![Float64; 5], Boolean, Function::Beats),
        pure(
            "welch_p",
            vec![Float64, Float64, Int64, Float64, Float64, Int64],
            Float64,
            Function::WelchP,
        ),
        pure(
            "welch_half_width",
            vec![Float64, Int64, Float64, Int64, Float64],
            Float64,
            Function::WelchHalfWidth,
        ),
        pure(
            "welch_detectable",
            vec![Float64, Int64, Float64, Int64, Float64, Float64],
            Float64,
            Function::WelchDetectable,
        ),
        pure("cpu_limit", vec![Utf8, Utf8], Float64, Function::CpuLimit),
        // Volatile: a refusal must not be evaluated while a query is planned.
        ScalarUDF::from(Columnwise {
            name: "refuse",
            signature: Signature::exact(vec![Utf8], Volatility::Volatile),
            returns: Boolean,
            body: Function::Refuse,
        }),
    ]
}

fn stats(error: StatsError) -> datafusion::error::DataFusionError {
    exec_datafusion_err!("{error}")
}

/// `student_t_quantile(p, degrees)`; null where either is, or below one degree.
fn student_t_quantile(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let (p, degrees) = (as_float64_array(&columns[0])?, as_float64_array(&columns[1])?);
    let quantiles = p.iter().zip(degrees).map(|pair| match pair {
        (Some(p), Some(degrees)) => interval::student_t_quantile(p, degrees).map_err(stats),
        _ => Ok(None),
    });
    Ok(Arc::new(quantiles.collect::<Result<Float64Array>>()?))
}

/// `t_half_width(s, n, confidence)`; null where one of them is, or n < 2.
fn t_half_width(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let (s, n) = (as_float64_array(&columns[0])?, as_int64_array(&columns[1])?);
    let confidence = as_float64_array(&columns[2])?;
    let widths = s.iter().zip(n).zip(confidence).map(|arguments| match arguments {
        ((Some(s), Some(n)), Some(confidence)) => {
            interval::half_width(s, u64::try_from(n).unwrap_or(0), confidence).map_err(stats)
        }
        _ => Ok(None),
    });
    Ok(Arc::new(widths.collect::<Result<Float64Array>>()?))
}

/// `beats(a, a_low, b, b_high, tie_floor)`; false where an interval is null.
fn beats(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let column = |index: usize| as_float64_array(&columns[index]);
    let (a, a_low, b, b_high, floor) = (column(0)?, column(1)?, column(2)?, column(3)?, column(4)?);
    let get = |array: &Float64Array, row| array.is_valid(row).then(|| array.value(row));
    let outcomes = (0..a.len()).map(|row| {
        let (Some(a), Some(b), Some(floor)) = (get(a, row), get(b, row), get(floor, row)) else {
            return Some(false);
        };
        Some(verdict::beats((a, get(a_low, row)), (b, get(b_high, row)), floor))
    });
    Ok(Arc::new(outcomes.collect::<BooleanArray>()))
}

/// Row by row over columns of figures; null where a figure of the row is.
fn rowwise<const N: usize>(
    columns: &[ArrayRef],
    figure: impl Fn([f64; N]) -> std::result::Result<Option<f64>, StatsError>,
) -> Result<ArrayRef> {
    let columns = columns
        .iter()
        .map(|column| cast(column, &DataType::Float64))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let columns =
        columns.iter().map(|column| as_float64_array(column)).collect::<Result<Vec<_>>>()?;
    let rows = columns.first().map_or(0, |column| column.len());
    let figures = (0..rows).map(|row| {
        if columns.iter().any(|column| column.is_null(row)) {
            return Ok(None);
        }
        figure(std::array::from_fn(|index| columns[index].value(row))).map_err(stats)
    });
    Ok(Arc::new(figures.collect::<Result<Float64Array>>()?))
}

/// A sample of a count that a column holds.
fn sample(mean: f64, s: f64, n: f64) -> Sample {
    Sample { mean, s, n: n as u64 }
}

/// `welch_p(mean_a, s_a, n_a, mean_b, s_b, n_b)`: the two-sided p.
fn welch_p(columns: &[ArrayRef]) -> Result<ArrayRef> {
    rowwise(columns, |[mean_a, s_a, n_a, mean_b, s_b, n_b]| {
        welch::p_value(sample(mean_a, s_a, n_a), sample(mean_b, s_b, n_b))
    })
}

/// `welch_half_width(s_a, n_a, s_b, n_b, confidence)` of a difference of means.
fn welch_half_width(columns: &[ArrayRef]) -> Result<ArrayRef> {
    rowwise(columns, |[s_a, n_a, s_b, n_b, confidence]| {
        welch::half_width(sample(0.0, s_a, n_a), sample(0.0, s_b, n_b), confidence)
    })
}

/// `welch_detectable(s_a, n_a, s_b, n_b, confidence, power)` of log values.
fn welch_detectable(columns: &[ArrayRef]) -> Result<ArrayRef> {
    rowwise(columns, |[s_a, n_a, s_b, n_b, confidence, power]| {
        welch::detectable(sample(0.0, s_a, n_a), sample(0.0, s_b, n_b), confidence, power)
    })
}

/// `cpu_limit(key, value)`: the cores that a pin allows, null where it is about
/// something else.
fn cpu_limit(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let (keys, values) = (as_string_array(&columns[0])?, as_string_array(&columns[1])?);
    let limits = keys.iter().zip(values).map(|pin| limit::cores(pin.0?, pin.1?));
    Ok(Arc::new(limits.collect::<Float64Array>()))
}

/// `refuse(message)`: ends the query with that message.
fn refuse(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let messages = as_string_array(&columns[0])?;
    match messages.iter().flatten().next() {
        Some(message) => exec_err!("{message}"),
        None => Ok(Arc::new(BooleanArray::new_null(messages.len()))),
    }
}
