"""What differs between two fetches of a page (`change`), and which of it is noise that every fetch brings (`volatile`)."""
