"""What a page offers to do, to see and to take away: forms, actions, media, and a home page's colours, fonts and logo."""
