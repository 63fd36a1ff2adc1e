"""Elements of a page besides its text: forms (`forms`), actions (`actions`), media (`media`) and the brand of a home page."""
