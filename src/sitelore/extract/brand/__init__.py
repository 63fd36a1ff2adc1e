"""The brand of a site: `home_page` detects its colours, fonts, logo and icon, `styles` reads the style sheets for it."""
