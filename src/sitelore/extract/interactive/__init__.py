"""Interactive parts of a page: forms with their fields (`forms`) and actions (`actions`), found again by CSS selectors
(`selectors`).
"""
