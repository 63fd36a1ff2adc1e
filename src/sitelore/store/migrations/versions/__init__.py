"""The steps, in the order of their numbers. A step that has been released is never edited."""
