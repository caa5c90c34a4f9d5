//! If these fail, a replay does other work than the run.
