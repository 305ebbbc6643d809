//! Why a call cannot be put in order, in words.
