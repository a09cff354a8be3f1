//! A drawing as PNG or PDF, by the same outlines.

use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::FigureError;
use super::font::{FAMILY, database};

/// Pixels of an inch at the scale 1, as browsers have it.
pub const DPI: f32 = 96.0;

fn tree(svg: &str) -> Result<Tree, FigureError> {
    let options =
        Options { fontdb: database(), font_family: FAMILY.to_owned(), ..Options::default() };
    Tree::from_str(svg, &options).map_err(FigureError::drawing)
}

/// A PNG, so many times 96 dots an inch.
///
/// # Errors
/// If the scale makes no picture: not above 0, or too large for memory.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, FigureError> {
    let tree = tree(svg)?;
    let side = |length: f32| (length * scale).round() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    // Beyond that nobody prints, and the memory may not be there.
    let fits = scale.is_finite() && scale > 0.0 && u64::from(width) * u64::from(height) < 1 << 28;
    let pixmap = if fits { Pixmap::new(width, height) } else { None };
    let mut pixmap =
        pixmap.ok_or_else(|| FigureError::drawing(format!("{width} × {height} pixels")))?;
    let transform = Transform::from_scale(
        width as f32 / tree.size().width(),
        height as f32 / tree.size().height(),
    );
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap.encode_png().map_err(FigureError::drawing)
}

/// A PDF of one page as large as the figure, its texts as text.
///
/// # Errors
/// If the page cannot be written.
pub fn pdf(svg: &str, title: &str) -> Result<Vec<u8>, FigureError> {
    let tree = tree(svg)?;
    let points = |pixels: f32| pixels * 72.0 / DPI;
    let (width, height) = (points(tree.size().width()), points(tree.size().height()));
    let size = Size::from_wh(width, height)
        .ok_or_else(|| FigureError::drawing(format!("{width} × {height} points")))?;
    let page = PageSettings::from_wh(width, height)
        .ok_or_else(|| FigureError::drawing(format!("{width} × {height} points")))?;
    let mut document = Document::new_with(SerializeSettings::default());
    document.set_metadata(Metadata::new().title(title.to_owned()));
    let mut page = document.start_page_with(page);
    let mut surface = page.surface();
    surface
        .draw_svg(&tree, size, SvgSettings::default())
        .ok_or_else(|| FigureError::drawing("the page"))?;
    surface.finish();
    page.finish();
    document.finish().map_err(|error| FigureError::drawing(format!("{error:?}")))
}
