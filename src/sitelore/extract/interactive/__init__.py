"""Interactive parts of a page: forms with their fields (`forms`), actions (`actions`) and their CSS selectors (`selectors`)."""
