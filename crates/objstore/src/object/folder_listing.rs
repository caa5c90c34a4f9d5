//! What is in one folder of a bucket, without what is below.

use object_store::ObjectMeta;

use super::{BucketClient, ObjectVersion, RequestError, retry_listing};

/// A folder, as a bucket lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderListing {
    /// Objects in it.
    pub objects: Vec<ListedObject>,
    /// Names of folders in it.
    pub folders: Vec<String>,
    /// Keys that no path can have, after the prefix that was opened.
    pub odd: Vec<String>,
}

/// An object, as a listing tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// Its name in the folder.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// When it was written: seconds since 1970, and nanoseconds.
    pub written: (i64, u32),
    /// `None`: the store tells none.
    pub version: Option<ObjectVersion>,
}

impl BucketClient {
    /// What is in a folder. All of it is asked for, a thousand names at a time.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn list_folder(&self, folder: &str) -> Result<FolderListing, RequestError> {
        let at = self.object_path(folder)?;
        let below = (!at.as_ref().is_empty()).then_some(&at);
        let all = retry_listing(|| self.runtime.block_on(self.store.list_with_delimiter(below)))?;
        let inside = |path: &str| match at.as_ref() {
            "" => Some(path.to_owned()),
            above => Some(path.strip_prefix(above)?.strip_prefix('/')?.to_owned()),
        };
        // Of another folder that is listed now, too: each is told once, by whoever comes first.
        let odd = std::mem::take(&mut *self.odd.lock());
        let odd = odd.iter().map(|key| key.strip_prefix(&self.prefix).unwrap_or(key));
        let odd = odd.map(|key| key.strip_prefix('/').unwrap_or(key).to_owned()).collect();
        let folders = all.common_prefixes.iter().filter_map(|path| inside(path.as_ref()));
        let listed = |meta: ObjectMeta| {
            // The folder itself may be an object, which some tools make.
            let name = inside(meta.location.as_ref()).filter(|name| !name.is_empty())?;
            let time = meta.last_modified;
            let written = (time.timestamp(), time.timestamp_subsec_nanos());
            Some(ListedObject {
                name,
                size: meta.size,
                written,
                version: meta.e_tag.map(ObjectVersion::from_e_tag),
            })
        };
        Ok(FolderListing {
            folders: folders.filter(|name| !name.is_empty()).collect(),
            objects: all.objects.into_iter().filter_map(listed).collect(),
            odd,
        })
    }
}
