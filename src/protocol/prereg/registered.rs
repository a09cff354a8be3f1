//! The tag or commit that a protocol was registered by.

use git2::{ErrorCode, Object, ObjectType, Oid, Repository, Signature};
use serde::Serialize;

use super::error::PreregError;

/// Where a repository keeps its tags.
const TAGS: &str = "refs/tags/";

/// What kind of name the registration has, and so how much its time proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A tag with a tagger and a time of its own.
    Annotated,
    /// A tag that is only a name: its time is that of its commit.
    Lightweight,
    /// No tag at all.
    Commit,
}

impl Kind {
    /// As it is written in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotated => "annotated tag",
            Self::Lightweight => "lightweight tag",
            Self::Commit => "commit",
        }
    }
}

/// The form of a signature. It is seen, never verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SignatureForm {
    /// OpenPGP.
    OpenPgp,
    /// SSH.
    Ssh,
    /// X.509, as CMS.
    X509,
}

impl SignatureForm {
    /// As it is written in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenPgp => "OpenPGP",
            Self::Ssh => "SSH",
            Self::X509 => "X.509",
        }
    }

    /// The form of the signature that the text has, on a line of its own.
    fn find(text: &[u8]) -> Option<Self> {
        text.split(|&byte| byte == b'\n').find_map(|line| {
            Some(match line {
                b"-----BEGIN PGP SIGNATURE-----" => Self::OpenPgp,
                b"-----BEGIN SSH SIGNATURE-----" => Self::Ssh,
                b"-----BEGIN SIGNED MESSAGE-----" => Self::X509,
                _ => return None,
            })
        })
    }
}

/// The tag or commit, as the repository has it now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Registered {
    /// The tag's name, or what was asked for.
    pub name: String,
    /// What kind of name it is.
    pub kind: Kind,
    /// The commit.
    pub commit: String,
    /// The tag object, of an annotated tag.
    pub tag_object: Option<String>,
    /// Who: the tagger of an annotated tag, else the committer. As they named
    /// themselves.
    pub by: Option<String>,
    /// When, in unix seconds: the tagger's time, else the committer's.
    pub time: Option<i64>,
    /// The form of the signature on the tag, else on the commit. Seen, not
    /// verified.
    pub signature: Option<SignatureForm>,
    /// Whether the name moves by itself, as a branch does.
    pub moves: bool,
    #[serde(skip)]
    pub(super) id: Oid,
}

/// Finds a tag or commit; a tag comes before a branch of its name. `None` where
/// a shallow clone may only not have it.
pub(super) fn find(repo: &Repository, name: &str) -> Result<Option<Registered>, PreregError> {
    let unseen = |error: &git2::Error| error.code() == ErrorCode::NotFound && repo.is_shallow();
    let tag = tag_target(repo, name);
    let object = match tag {
        Some(id) => repo.find_object(id, None),
        None => repo.revparse_single(name),
    };
    let object = match object {
        Ok(object) => object,
        Err(error) if unseen(&error) => return Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => {
            return Err(PreregError::UnknownRef {
                path: repo.path().to_owned(),
                name: name.to_owned(),
                near: nearest(repo, name),
            });
        }
        Err(cause) => return Err(PreregError::BadRef { name: name.to_owned(), cause }),
    };
    let commit = match object.peel_to_commit() {
        Ok(commit) => commit,
        Err(error) if unseen(&error) => return Ok(None),
        Err(_) => {
            let found = object.peel(ObjectType::Any).unwrap_or(object).kind();
            let found = found.map_or("missing object", |kind| kind.str());
            return Err(PreregError::NoCommit { name: name.to_owned(), found });
        }
    };
    let mut registered = Registered {
        name: name.strip_prefix(TAGS).unwrap_or(name).to_owned(),
        kind: if tag.is_some() { Kind::Lightweight } else { Kind::Commit },
        commit: commit.id().to_string(),
        tag_object: None,
        by: Some(person(&commit.committer())),
        time: Some(commit.time().seconds()),
        signature: commit_signature(repo, &commit),
        moves: tag.is_none() && !commit.id().to_string().starts_with(name),
        id: commit.id(),
    };
    if let Some(tag) = object.as_tag() {
        registered.annotate(tag, &object);
    }
    Ok(Some(registered))
}

/// What a tag of that name points at: a tag object, or a commit.
fn tag_target(repo: &Repository, name: &str) -> Option<Oid> {
    let full = if name.starts_with(TAGS) { name.to_owned() } else { format!("{TAGS}{name}") };
    repo.find_reference(&full).ok()?.resolve().ok()?.target()
}

impl Registered {
    /// Takes who and when from the tag object instead of the commit.
    fn annotate(&mut self, tag: &git2::Tag<'_>, object: &Object<'_>) {
        let tagger = tag.tagger();
        self.name = String::from_utf8_lossy(tag.name_bytes()).into_owned();
        self.kind = Kind::Annotated;
        self.tag_object = Some(object.id().to_string());
        self.by = tagger.as_ref().map(person);
        self.time = tagger.map(|tagger| tagger.when().seconds());
        self.signature = tag.message_bytes().and_then(SignatureForm::find);
        self.moves = false;
    }
}

/// The signature in a commit's header.
fn commit_signature(repo: &Repository, commit: &git2::Commit<'_>) -> Option<SignatureForm> {
    let (signature, _) = repo.extract_signature(&commit.id(), None).ok()?;
    SignatureForm::find(&signature)
}

fn person(signature: &Signature<'_>) -> String {
    let text = String::from_utf8_lossy;
    format!("{} <{}>", text(signature.name_bytes()), text(signature.email_bytes()))
}

/// The tag that is spelt most like a name, if any is close.
fn nearest(repo: &Repository, name: &str) -> Option<String> {
    let tags = repo.tag_names(None).ok()?;
    tags.iter()
        .filter_map(|tag| tag.ok().flatten())
        .map(|tag| (strsim::damerau_levenshtein(tag, name), tag))
        .filter(|(edits, _)| *edits <= 1.max(name.chars().count() / 4))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, tag)| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::SignatureForm;

    #[test]
    fn signatures_stand_on_their_own_line() {
        let find = |text: &str| SignatureForm::find(text.as_bytes());
        assert_eq!(find("v1\n-----BEGIN SSH SIGNATURE-----\nx"), Some(SignatureForm::Ssh));
        assert_eq!(find("-----BEGIN PGP SIGNATURE-----\nx"), Some(SignatureForm::OpenPgp));
        assert_eq!(find("-----BEGIN SIGNED MESSAGE-----\nx"), Some(SignatureForm::X509));
        assert_eq!(find("about -----BEGIN SSH SIGNATURE-----"), None);
    }
}
