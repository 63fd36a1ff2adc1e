// Runs in a page before anything else changes it, and returns computed styles, which only a browser knows.
// Never throws, never waits, reads a bounded number of elements.
(() => {
  const findings = { variables: {}, buttons: [], backgrounds: [], fonts: {}, faces: [] };
  const select = (root, selector, limit) => {
    try { return Array.from(root.querySelectorAll(selector)).slice(0, limit); } catch (_) { return []; }
  };
  const styleOf = (element) => { try { return getComputedStyle(element); } catch (_) { return null; } };
  const isTransparent = (colour) => !colour || colour === "transparent" || /,\s*0(\.0+)?\)$|\/\s*0(\.0+)?%?\)$/.test(colour);
  const brandName = /primary|secondary|accent|brand|main|theme/i;
  try {
    const root = styleOf(document.documentElement);
    const names = new Set();
    for (const sheet of Array.from(document.styleSheets).slice(0, 60)) {
      let rules = [];
      try { rules = Array.from(sheet.cssRules || []).slice(0, 4000); } catch (_) { continue; }
      const todo = rules.slice();
      for (let count = 0; todo.length && count < 8000; count += 1) {
        const rule = todo.shift();
        if (rule.type === 5 && findings.faces.length < 40) findings.faces.push(rule.style.getPropertyValue("font-family"));
        if (rule.style && /(^|,)\s*(:root|html|body|:host)/.test(rule.selectorText || "")) {
          for (const name of Array.from(rule.style)) if (name.startsWith("--") && brandName.test(name)) names.add(name);
        }
        if (rule.cssRules && !/dark|print/.test(rule.conditionText || "")) todo.push(...Array.from(rule.cssRules).slice(0, 2000));
      }
    }
    for (const name of Array.from(names).slice(0, 200)) findings.variables[name] = root.getPropertyValue(name).trim().slice(0, 120);
  } catch (_) { /* a page may forbid access to its style sheets */ }
  const zones = "header, nav, [role=banner], [role=navigation]";
  for (const zone of select(document, zones, 8)) {
    for (const element of select(zone, "button, a, [role=button], input[type=submit]", 80)) {
      const style = styleOf(element);
      if (!style || isTransparent(style.backgroundColor) || findings.buttons.length >= 40) continue;
      const box = element.getBoundingClientRect();
      if (box.width && box.height) findings.buttons.push({ background: style.backgroundColor, tag: element.tagName.toLowerCase() });
    }
  }
  const heroes = "[class*=hero i], [id*=hero i], [class*=banner i], [class*=jumbotron i], main > section, main > div > section, header";
  for (const element of select(document, heroes, 40)) {
    const style = styleOf(element);
    if (!style || findings.backgrounds.length >= 20) continue;
    if (!isTransparent(style.backgroundColor)) findings.backgrounds.push(style.backgroundColor);
    else if (/gradient/.test(style.backgroundImage)) findings.backgrounds.push(style.backgroundImage.slice(0, 300));
  }
  for (const [name, selector] of [["body", "body"], ["h1", "h1, h2"]]) {
    const [element] = select(document, selector, 1);
    const style = element && styleOf(element);
    if (style) findings.fonts[name] = style.fontFamily.slice(0, 300);
  }
  return findings;
})()
