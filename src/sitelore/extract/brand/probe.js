// Runs in the page, before anything is changed in it. Gives what only a browser can know: computed styles.
// Never throws, never waits, looks at a bounded number of elements.
(() => {
  const facts = { variables: {}, buttons: [], backgrounds: [], fonts: {}, faces: [] };
  const some = (root, selector, most) => {
    try { return Array.from(root.querySelectorAll(selector)).slice(0, most); } catch (_) { return []; }
  };
  const style = (element) => { try { return getComputedStyle(element); } catch (_) { return null; } };
  const isClear = (colour) => !colour || colour === "transparent" || /,\s*0(\.0+)?\)$|\/\s*0(\.0+)?%?\)$/.test(colour);
  const wanted = /primary|secondary|accent|brand|main|theme/i;
  try {
    const root = style(document.documentElement);
    const names = new Set();
    for (const sheet of Array.from(document.styleSheets).slice(0, 60)) {
      let rules = [];
      try { rules = Array.from(sheet.cssRules || []).slice(0, 4000); } catch (_) { continue; }
      const todo = rules.slice();
      for (let seen = 0; todo.length && seen < 8000; seen += 1) {
        const rule = todo.shift();
        if (rule.type === 5 && facts.faces.length < 40) facts.faces.push(rule.style.getPropertyValue("font-family"));
        if (rule.style && /(^|,)\s*(:root|html|body|:host)/.test(rule.selectorText || "")) {
          for (const name of Array.from(rule.style)) if (name.startsWith("--") && wanted.test(name)) names.add(name);
        }
        if (rule.cssRules && !/dark|print/.test(rule.conditionText || "")) todo.push(...Array.from(rule.cssRules).slice(0, 2000));
      }
    }
    for (const name of Array.from(names).slice(0, 200)) facts.variables[name] = root.getPropertyValue(name).trim().slice(0, 120);
  } catch (_) { /* a page may forbid all of it */ }
  const zones = "header, nav, [role=banner], [role=navigation]";
  for (const zone of some(document, zones, 8)) {
    for (const element of some(zone, "button, a, [role=button], input[type=submit]", 80)) {
      const seen = style(element);
      if (!seen || isClear(seen.backgroundColor) || facts.buttons.length >= 40) continue;
      const box = element.getBoundingClientRect();
      if (box.width && box.height) facts.buttons.push({ background: seen.backgroundColor, tag: element.tagName.toLowerCase() });
    }
  }
  const heroes = "[class*=hero i], [id*=hero i], [class*=banner i], [class*=jumbotron i], main > section, main > div > section, header";
  for (const element of some(document, heroes, 40)) {
    const seen = style(element);
    if (!seen || facts.backgrounds.length >= 20) continue;
    if (!isClear(seen.backgroundColor)) facts.backgrounds.push(seen.backgroundColor);
    else if (/gradient/.test(seen.backgroundImage)) facts.backgrounds.push(seen.backgroundImage.slice(0, 300));
  }
  for (const [name, selector] of [["body", "body"], ["h1", "h1, h2"]]) {
    const [element] = some(document, selector, 1);
    const seen = element && style(element);
    if (seen) facts.fonts[name] = seen.fontFamily.slice(0, 300);
  }
  return facts;
})()
