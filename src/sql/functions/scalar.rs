//! Scalar functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_float64_array, as_int64_array, as_string_array};
use datafusion::common::{exec_datafusion_err, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

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
    Refuse,
}

impl Function {
    fn body(self) -> Body {
        match self {
            Self::StudentTQuantile => student_t_quantile,
            Self::HalfWidth => t_half_width,
            Self::Beats => beats,
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

/// `refuse(message)`: ends the query with that message.
fn refuse(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let messages = as_string_array(&columns[0])?;
    match messages.iter().flatten().next() {
        Some(message) => exec_err!("{message}"),
        None => Ok(Arc::new(BooleanArray::new_null(messages.len()))),
    }
}
