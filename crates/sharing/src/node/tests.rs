//! If these fail, a program on one node does not see what one on another has closed, or sees what is
//! lost later; or nodes wait for each other for ever.

mod clocks;
mod handing_over;
mod histories;
mod idle;
mod locks;
mod long_away;
mod losses;
mod sharing;
mod threads;
mod unreached;
mod uploads;
mod worlds;
