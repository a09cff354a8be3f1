//! Markdown that the run or the protocol brought: other people's text, which
//! must not become other people's markup.

use std::ops::Range;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// The text for another Markdown document, under a heading of `level`: its own
/// headings are below that one, raw HTML is shown and not done, pictures and
/// links that run something are text.
pub(super) fn to_markdown(text: &str, level: usize) -> String {
    let text = text.replace("\r\n", "\n");
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut nothing_else = text.clone();
    for (event, range) in parser(&text).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let escaped = text[range.clone()].replace('<', "&lt;");
                edits.push((range, escaped));
            }
            Event::Start(Tag::Heading { level: own, .. }) => {
                if let Some(edit) = deeper(&text, &range, own as usize + level) {
                    edits.push(edit);
                }
            }
            // `!` and `[` as text: what they begin is no picture and no link.
            Event::Start(Tag::Image { .. }) => {
                edits.push((range.start..range.start + 1, "\\!".to_owned()));
            }
            Event::Start(Tag::Link { dest_url, .. }) if !is_safe(&dest_url) => {
                let first = text[range.clone()].chars().next().map_or(0, char::len_utf8);
                let first = range.start..range.start + first;
                edits.push((first.clone(), format!("\\{}", &text[first])));
            }
            _ => {}
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut end = nothing_else.len();
    for (range, edit) in edits.into_iter().rev() {
        // What lies in what was edited is gone.
        if range.end <= end {
            end = range.start;
            nothing_else.replace_range(range, &edit);
        }
    }
    let mut done = format!("{}\n", nothing_else.trim_end());
    if let Some(fence) = open_fence(&done) {
        done += &format!("{fence}\n");
    }
    done
}

/// What closes the fenced code at the end of a text that leaves it open: all that
/// follows the text would be code. What lies in a list or a quotation ends with it.
fn open_fence(text: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut last = None;
    for (event, range) in parser(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if depth == 0 => {
                last = Some(range);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let block = text[last.filter(|range| text[range.end..].trim().is_empty())?].trim();
    let mark = block.chars().next()?;
    let length = block.chars().take_while(|c| *c == mark).count();
    let closes = |line: &str| {
        let line = line.trim();
        line.len() >= length && line.chars().all(|c| c == mark)
    };
    let is_closed = block.lines().skip(1).last().is_some_and(closes);
    (!is_closed).then(|| mark.to_string().repeat(length))
}

/// A heading of the text as one of another level, its content left alone.
fn deeper(text: &str, range: &Range<usize>, level: usize) -> Option<(Range<usize>, String)> {
    let heading = &text[range.clone()];
    let marks = "#".repeat(level.min(6));
    let own = heading.bytes().take_while(|byte| *byte == b'#').count();
    if own > 0 {
        return Some((range.start..range.start + own, marks));
    }
    // Underlined: its last line is the line under it. It may have several.
    let (title, _) = heading.trim_end().rsplit_once('\n')?;
    let title: Vec<&str> = title.lines().map(str::trim).collect();
    let end = range.start + heading.trim_end().len();
    let title = title.join(" ");
    // Raw HTML in it is escaped here, since this edit takes the whole of it.
    Some((
        range.start..end,
        format!("{marks} {}", title.replace('<', "&lt;").replace("![", "\\![")),
    ))
}

/// The text as HTML, under a heading of `level`.
pub(super) fn to_html(text: &str, level: usize) -> String {
    let mut events: Vec<Event<'_>> = Vec::new();
    // Ends of links that were left out, and what to say after a picture.
    let mut links: Vec<bool> = Vec::new();
    for event in parser(text) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => events.push(Event::Text(html)),
            Event::Start(Tag::Heading { level: own, .. }) => {
                let level = at(own as usize + level);
                events.push(Event::Start(Tag::Heading {
                    level,
                    id: None,
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
            }
            Event::End(TagEnd::Heading(own)) => {
                events.push(Event::End(TagEnd::Heading(at(own as usize + level))));
            }
            Event::Start(Tag::Link { dest_url, link_type, id, .. }) => {
                let safe = is_safe(&dest_url);
                links.push(safe);
                if safe {
                    let title = CowStr::Borrowed("");
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if links.pop() == Some(true) {
                    events.push(Event::End(TagEnd::Link));
                }
            }
            // The page loads nothing from anywhere.
            Event::Start(Tag::Image { .. }) => events.push(Event::Text("[picture: ".into())),
            Event::End(TagEnd::Image) => events.push(Event::Text("]".into())),
            // Alignment is an attribute that the page's policy forbids.
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html(
                    "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"table\">"
                        .into(),
                ));
                events.push(Event::Start(Tag::Table(Vec::new())));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>".into()));
            }
            event => events.push(event),
        }
    }
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    // A heading of a column is one, for a screen reader too.
    html.replace("<th></th>", "<td></td>").replace("<th>", "<th scope=\"col\">")
}

fn at(level: usize) -> HeadingLevel {
    match level {
        0..=3 => HeadingLevel::H3,
        4 => HeadingLevel::H4,
        5 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Whether a link goes to a page or a place, and runs nothing.
fn is_safe(target: &str) -> bool {
    let target: String = target.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let scheme = target.split(['/', '?', '#']).next().and_then(|head| head.split_once(':'));
    scheme.is_none_or(|(scheme, _)| {
        ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "# Title\n\nUnder\nlined\n=====\n\n<script>alert(1)</script>\n\n\
        text <img src=x onerror=alert(1)> ![alt](https://example.org/x.png)\n\n\
        [go](javascript:alert(1)) [ok](https://example.org) <javascript:alert(1)>\n\n\
        | a | b |\n|---|--:|\n| 1 | <b>2</b> |\n";

    #[test]
    fn markdown_is_kept_and_disarmed() {
        let text = to_markdown(HOSTILE, 3);
        for part in [
            "#### Title\n",
            "#### Under lined\n",
            "&lt;script>alert(1)&lt;/script>",
            "text &lt;img src=x onerror=alert(1)> \\![alt](https://example.org/x.png)",
            "\\[go](javascript:alert(1)) [ok](https://example.org) \\<javascript:alert(1)>",
            "| 1 | &lt;b>2&lt;/b> |\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn code_that_is_left_open_is_closed() {
        for (text, expected) in [
            ("```\na", "```\na\n```\n"),
            ("x\n\n~~~~ sh\na\n~~~\n", "x\n\n~~~~ sh\na\n~~~\n~~~~\n"),
            ("```", "```\n```\n"),
            ("```\na\n```", "```\na\n```\n"),
            ("```\na\n```\n\nb", "```\na\n```\n\nb\n"),
            ("- ```\n  a", "- ```\n  a\n"),
        ] {
            assert_eq!(to_markdown(text, 3), expected, "{text}");
        }
    }

    #[test]
    fn html_has_only_what_markdown_gives() {
        let text = to_html(HOSTILE, 3);
        for part in [
            "<h4>Title</h4>",
            "&lt;script&gt;",
            "&lt;img src=x onerror=alert(1)&gt;",
            "[picture: alt]",
            "<a href=\"https://example.org\">ok</a>",
            "<th scope=\"col\">a</th>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in ["<script", "<img", "javascript:alert(1)\"", "style="] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn links_that_run_something() {
        for target in
            ["javascript:x", "JavaScript:x", " java\nscript:x", "data:text/html,x", "vbscript:x"]
        {
            assert!(!is_safe(target), "{target}");
        }
        for target in ["https://x", "x.md", "#a", "a/b:c", "?q=a:b", "mailto:a@b"] {
            assert!(is_safe(target), "{target}");
        }
    }
}
