//! What groups learn from one before them: how its qualities were encoded. Which one that is follows
//! from a group's number alone, so archives are the same whatever the threads.

use std::sync::{Arc, Condvar, Mutex};

use crate::row_group::ColumnModel;

/// Groups that find out all by themselves: the first one, one that no edge of a flow cell is in, and
/// each so many.
const SECOND: usize = 2;
const EACH: usize = 16;

/// Of each mate.
pub(crate) type MateModels = Vec<Option<ColumnModel>>;

/// What a group will have learned. None until it is encoded, or given up.
#[derive(Debug, Default)]
struct Lesson {
    models: Mutex<Option<Arc<MateModels>>>,
    there: Condvar,
}

/// Where one group leaves what it learned. Others are told when it is dropped, in any case.
#[derive(Debug)]
struct Teacher(Arc<Lesson>);

/// What a group has to do with those before it.
#[derive(Debug, Default)]
pub(crate) struct GroupLesson {
    from: Option<Arc<Lesson>>,
    teaches: Option<Teacher>,
}

/// Gives groups their lessons, in their order.
#[derive(Debug, Default)]
pub(crate) struct GroupLessons {
    next: usize,
    /// Those of the last groups that find out by themselves, the newest last: so many groups are
    /// encoded by now that nobody waits for the one before the newest.
    taught: Vec<Arc<Lesson>>,
}

impl GroupLessons {
    pub(crate) fn next_lesson(&mut self) -> GroupLesson {
        let nth = self.next;
        self.next += 1;
        if nth == 0 || nth == SECOND || nth.is_multiple_of(EACH) {
            let lesson = Arc::<Lesson>::default();
            self.taught.push(Arc::clone(&lesson));
            if self.taught.len() > 2 {
                self.taught.remove(0);
            }
            return GroupLesson { from: None, teaches: Some(Teacher(lesson)) };
        }
        let of_start = nth < EACH;
        let from = if of_start { self.taught.last() } else { self.taught.first() };
        GroupLesson { from: from.map(Arc::clone), teaches: None }
    }
}

impl GroupLesson {
    /// What is known before this group is encoded. Waits for the group that finds it out, which was
    /// begun before.
    pub(crate) fn models(&self) -> Option<Arc<MateModels>> {
        let from = self.from.as_ref()?;
        let models = from.models.lock().expect("nobody panics with it");
        let models = from.there.wait_while(models, |models| models.is_none());
        models.expect("nobody panics with it").as_ref().map(Arc::clone)
    }

    /// Tells others what this group learned, if they are to know.
    pub(crate) fn teach(&mut self, models: impl FnOnce() -> MateModels) {
        if let Some(teacher) = self.teaches.take() {
            teacher.tell(models());
        }
    }
}

impl Teacher {
    fn tell(&self, models: MateModels) {
        let mut told = self.0.models.lock().expect("nobody panics with it");
        told.get_or_insert_with(|| Arc::new(models));
        self.0.there.notify_all();
    }
}

impl Drop for Teacher {
    fn drop(&mut self) {
        self.tell(MateModels::new());
    }
}

#[cfg(test)]
mod tests {
    //! Who waited for a group that nobody encodes would wait for ever; who took another's model by
    //! chance would make another archive each time.
    use super::*;

    #[test]
    fn each_group_learns_from_one_before_it_that_was_begun_long_ago() {
        let mut lessons = GroupLessons::default();
        let all: Vec<GroupLesson> = (0..70).map(|_| lessons.next_lesson()).collect();
        let teacher = |nth: usize| {
            let from = all[nth].from.as_ref()?;
            all.iter().position(|one| {
                one.teaches.as_ref().is_some_and(|teacher| Arc::ptr_eq(&teacher.0, from))
            })
        };
        let of: Vec<Option<usize>> =
            [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 49, 69].map(teacher).into();
        let expected = [
            None,
            Some(0),
            None,
            Some(2),
            Some(2),
            None,
            Some(2),
            Some(2),
            None,
            Some(16),
            Some(32),
            Some(48),
        ];
        assert_eq!(of, expected);
    }

    #[test]
    fn a_group_that_is_given_up_teaches_nothing_and_holds_nobody() {
        let mut lessons = GroupLessons::default();
        let (first, second) = (lessons.next_lesson(), lessons.next_lesson());
        drop(first);
        assert!(second.models().is_some_and(|models| models.is_empty()));
    }
}
