"""The scripts that we run in pages. They change nothing that a reader of the page would see."""

from __future__ import annotations

import json

_PRELUDE = """
(() => {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel"]) {
    try { delete self[name]; } catch (_) {}
  }
  self.print = () => {};
  // First in line, so that no page is asked whether it wants to be left.
  for (const type of ["beforeunload", "unload"]) {
    self.addEventListener(type, (event) => event.stopImmediatePropagation(), true);
  }
  if (self.top !== self) return;
  const now = performance.now.bind(performance);
  const setLater = self.setTimeout.bind(self), unset = self.clearTimeout.bind(self);
  const Later = Promise;
  const apply = Reflect.apply;
  let changed = now();

  // A place that changes over and over without growing is a clock, a ticker, a carousel: nothing to wait for.
  const often = new WeakMap();
  const isNews = (record) => {
    const times = (often.get(record.target) || 0) + 1;
    often.set(record.target, times);
    if (times <= 6) return true;
    return record.type === "childList" && record.addedNodes.length > record.removedNodes.length;
  };
  const watch = new MutationObserver((records) => {
    let seen = 0;
    for (const record of records) {
      if (isNews(record)) { changed = now(); return; }
      if (++seen > 200) return;
    }
  });
  const all = { childList: true, characterData: true, subtree: true };
  watch.observe(document, all);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(...given) {
    const root = apply(attach, this, given);
    changed = now();
    try { watch.observe(root, all); } catch (_) {}
    return root;
  };

  // Timers that are due soon and that no other timer of ours has set more than twice over: what a page does a little later.
  const due = new Map();
  let depth = 0;
  self.setTimeout = function setTimeout(work, delay, ...given) {
    const wait = Number(delay) || 0;
    if (typeof work !== "function" || depth >= 3 || wait > 5000) return setLater(work, delay, ...given);
    const level = depth + 1;
    const id = setLater(function () {
      due.delete(id);
      const before = depth;
      depth = level;
      try { return apply(work, this, arguments); } finally { depth = before; }
    }, delay, ...given);
    due.set(id, now() + wait);
    return id;
  };
  self.clearTimeout = function clearTimeout(id) { due.delete(id); return unset(id); };

  // Whether anything waits to come into view: only then is the page unrolled.
  let isWatching = false;
  if (typeof IntersectionObserver === "function") {
    self.IntersectionObserver = new Proxy(IntersectionObserver, {
      construct(target, given, made) { isWatching = true; return Reflect.construct(target, given, made); },
    });
  }
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(type) {
    if (type === "scroll" || type === "wheel" || type === "touchmove") isWatching = true;
    return apply(listen, this, arguments);
  };
  const waitsForView = () => isWatching || !!self.onscroll || !!document.querySelector("iframe[loading=lazy],[onscroll]");

  const isThin = () => {
    const body = document.body;
    if (!body) return true;
    if (document.querySelector("[aria-busy=true],[role=progressbar]")) return true;
    let length = 0;
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    for (let steps = 0; steps < 500 && walker.nextNode(); steps++) {
      const above = walker.currentNode.parentNode;
      const name = above ? above.nodeName : "";
      if (name === "SCRIPT" || name === "STYLE" || name === "NOSCRIPT") continue;
      length += walker.currentNode.data.trim().length;
      if (length > 600) return false;
    }
    return true;
  };

  // Resolves when the page has been quiet for `quiet` ms (of which `already` may have passed), at most after `most` ms.
  const settle = (quiet, already, most) => new Later((resolve) => {
    const begun = now();
    const look = () => {
      const at = now();
      if (at - begun >= most) return resolve("busy");
      const left = quiet - (at - Math.max(changed, begun - already));
      const patience = isThin() ? 5000 : 800;
      let next = 0;
      for (const time of due.values()) if (time - begun <= patience && time > at - 500) next = Math.max(next, 1);
      if (left <= 0 && !next && document.readyState !== "loading") return resolve(waitsForView() ? "waiting" : "quiet");
      setLater(look, Math.min(Math.max(left, next ? 25 : 0, 5), Math.max(most - (at - begun), 0)));
    };
    look();
  });
  Object.defineProperty(self, NAME, { value: settle, enumerable: false });
})();
"""

_READ = """
((options) => {
  const root = document.documentElement;
  const found = { href: document.URL, type: document.contentType, nodes: 0, html: "", length: 0 };
  if (!root) return found;
  const elements = document.getElementsByTagName("*");
  found.nodes = elements.length;
  const frames = self.__frames || new Map();
  const hosts = new Set();
  const mark = (node) => {
    for (let at = node; at && !hosts.has(at); at = at.parentNode || at.host) hosts.add(at);
  };
  if (options.shadow) {
    const look = (within, depth) => {
      for (const element of within) {
        if (!element.shadowRoot) continue;
        mark(element);
        mark(element.shadowRoot);
        if (depth < 64) look(element.shadowRoot.querySelectorAll("*"), depth + 1);
      }
    };
    look(elements, 0);
  }
  for (const frame of frames.keys()) mark(frame);
  const give = (html) => {
    found.length = html.length;
    if (html.length <= options.most) found.html = html;
    return found;
  };
  const start = options.bodyOnly ? document.body : root;
  if (!start) return found;
  const write = (element) => options.bodyOnly ? element.innerHTML : "<!doctype html>\\n" + element.outerHTML;
  if (!hosts.size) return give(write(start));

  // A copy in a document without a window: no script runs in it, no custom element wakes up, no resource is loaded.
  const inert = document.implementation.createHTMLDocument("");
  const quiet = new Set(["STYLE", "LINK"]);
  const copyAll = (nodes, into, depth, inShadow) => {
    for (const node of nodes) {
      if (inShadow && node.nodeType === 1 && quiet.has(node.nodeName)) continue;
      if (inShadow && node.nodeName === "SLOT") {
        const filled = node.assignedNodes({ flatten: true });
        copyAll(filled.length ? filled : node.childNodes, into, depth + 1, !filled.length);
      } else copy(node, into, depth, inShadow);
    }
  };
  const copy = (node, into, depth, inShadow) => {
    if (frames.has(node)) {
      const place = inert.createElement("div");
      place.setAttribute("data-frame", node.getAttribute("src") || "");
      place.innerHTML = frames.get(node);
      into.appendChild(place);
      return;
    }
    const slots = inShadow && node.nodeType === 1 && node.querySelector && node.querySelector("slot");
    if (depth > 900 || (!hosts.has(node) && !slots)) {
      into.appendChild(inert.importNode(node, true));
      return;
    }
    const shell = inert.importNode(node, false);
    into.appendChild(shell);
    const shadow = options.shadow && node.shadowRoot;
    copyAll(shadow ? shadow.childNodes : node.childNodes, shell, depth + 1, shadow ? true : inShadow);
  };
  const top = inert.importNode(start, false);
  copyAll(start.childNodes, top, 0, false);
  return give(write(top));
})(OPTIONS)
"""

KEEP_FRAME = "function (html) { (self.__frames = self.__frames || new Map()).set(this, html); }"

# How tall the window would have to be to show everything: the document, or the box inside it that scrolls in its stead.
_MEASURE = """
  const rootOf = () => document.scrollingElement || document.documentElement;
  const boxOf = () => {
    const root = rootOf();
    if (!root || root.scrollHeight > self.innerHeight + 50) return root;
    let at = document.elementFromPoint(self.innerWidth / 2, self.innerHeight / 2);
    for (; at && at !== root; at = at.parentElement) {
      if (at.clientHeight > 200 && at.scrollHeight > at.clientHeight + 50) return at;
    }
    return root;
  };
  const measure = () => {
    const box = boxOf();
    if (!box) return 0;
    return box === rootOf() ? box.scrollHeight : self.innerHeight + box.scrollHeight - box.clientHeight;
  };
"""

HEIGHT = f"(() => {{ {_MEASURE} return measure(); }})()"

TO_THE_END = f"""
(() => {{
  {_MEASURE}
  const box = boxOf();
  if (box) box.scrollTop = box.scrollHeight;
  // Where it was at its end before, nothing moves, and yet there may be more to come.
  (box && box !== rootOf() ? box : document).dispatchEvent(new Event("scroll", {{ bubbles: true }}));
  return new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(measure()), 0)));
}})()
"""


def prelude(name: str) -> str:
    """Runs before any script of the page: watches for quiet, and answers under a name that no page can guess."""
    return _PRELUDE.replace("NAME", json.dumps(name))


def settling(name: str, quiet_ms: float, already_ms: float, most_ms: float) -> str:
    """Waits inside the page until it is quiet. Says `quiet`, `waiting` (more would come into view), `busy` or `absent`."""
    call = f"self[{json.dumps(name)}]({quiet_ms:.0f}, {already_ms:.0f}, {most_ms:.0f})"
    return f"typeof self[{json.dumps(name)}] === 'function' ? {call} : 'absent'"


def reading(*, most_chars: int, shadow: bool, body_only: bool = False) -> str:
    """The document written as HTML, shadow roots and gathered frames in their places."""
    return _READ.replace("OPTIONS", json.dumps({"most": most_chars, "shadow": shadow, "bodyOnly": body_only}))
