"""JavaScript that runs inside pages: detects idleness, scrolls, serialises the DOM. A reader of the page sees no change."""

from __future__ import annotations

import json

_INIT = """
(() => {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel"]) {
    try { delete self[name]; } catch (_) {}
  }
  self.print = () => {};
  // Registered first, so that no page can block leaving it.
  for (const type of ["beforeunload", "unload"]) {
    self.addEventListener(type, (event) => event.stopImmediatePropagation(), true);
  }
  if (self.top !== self) return;
  const now = performance.now.bind(performance);
  const nativeSetTimeout = self.setTimeout.bind(self), nativeClearTimeout = self.clearTimeout.bind(self);
  const NativePromise = Promise;
  const apply = Reflect.apply;
  let changedAt = now();

  // A node that changes again and again without growing is a clock, a ticker or a carousel: it does not delay idle.
  const mutationCounts = new WeakMap();
  const isRelevant = (record) => {
    const count = (mutationCounts.get(record.target) || 0) + 1;
    mutationCounts.set(record.target, count);
    if (count <= 6) return true;
    return record.type === "childList" && record.addedNodes.length > record.removedNodes.length;
  };
  const observer = new MutationObserver((records) => {
    let checked = 0;
    for (const record of records) {
      if (isRelevant(record)) { changedAt = now(); return; }
      if (++checked > 200) return;
    }
  });
  const everything = { childList: true, characterData: true, subtree: true };
  observer.observe(document, everything);
  const nativeAttachShadow = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(...args) {
    const root = apply(nativeAttachShadow, this, args);
    changedAt = now();
    try { observer.observe(root, everything); } catch (_) {}
    return root;
  };

  // Pending timers of at most 5 s. Timers set by timers are tracked three levels deep, so that polling does not delay idle.
  const pendingTimers = new Map();
  let depth = 0;
  self.setTimeout = function setTimeout(callback, delay, ...args) {
    const wait = Number(delay) || 0;
    if (typeof callback !== "function" || depth >= 3 || wait > 5000) return nativeSetTimeout(callback, delay, ...args);
    const level = depth + 1;
    const id = nativeSetTimeout(function () {
      pendingTimers.delete(id);
      const previous = depth;
      depth = level;
      try { return apply(callback, this, arguments); } finally { depth = previous; }
    }, delay, ...args);
    pendingTimers.set(id, now() + wait);
    return id;
  };
  self.clearTimeout = function clearTimeout(id) { pendingTimers.delete(id); return nativeClearTimeout(id); };

  // Whether content may load when it is scrolled into view: only then is the page scrolled through.
  let hasViewListener = false;
  if (typeof IntersectionObserver === "function") {
    self.IntersectionObserver = new Proxy(IntersectionObserver, {
      construct(target, args, newTarget) { hasViewListener = true; return Reflect.construct(target, args, newTarget); },
    });
  }
  const nativeAddEventListener = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(type) {
    if (type === "scroll" || type === "wheel" || type === "touchmove") hasViewListener = true;
    return apply(nativeAddEventListener, this, arguments);
  };
  const lazyElements = "iframe[loading=lazy],[onscroll]";
  const hasLazyContent = () => hasViewListener || !!self.onscroll || !!document.querySelector(lazyElements);

  // Little text, or a progress indicator: the page probably still loads its content.
  const isThin = () => {
    const body = document.body;
    if (!body) return true;
    if (document.querySelector("[aria-busy=true],[role=progressbar]")) return true;
    let length = 0;
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    for (let steps = 0; steps < 500 && walker.nextNode(); steps++) {
      const parent = walker.currentNode.parentNode;
      const name = parent ? parent.nodeName : "";
      if (name === "SCRIPT" || name === "STYLE" || name === "NOSCRIPT") continue;
      length += walker.currentNode.data.trim().length;
      if (length > 600) return false;
    }
    return true;
  };

  // Resolves when the DOM has been idle for `idle` ms (of which `elapsed` may have passed), at the latest after `limit` ms.
  const waitIdle = (idle, elapsed, limit) => new NativePromise((resolve) => {
    const startedAt = now();
    const check = () => {
      const at = now();
      if (at - startedAt >= limit) return resolve("busy");
      const left = idle - (at - Math.max(changedAt, startedAt - elapsed));
      const timerLimit = isThin() ? 5000 : 800;
      let hasTimer = false;
      for (const time of pendingTimers.values()) if (time - startedAt <= timerLimit && time > at - 500) hasTimer = true;
      if (left <= 0 && !hasTimer && document.readyState !== "loading") return resolve(hasLazyContent() ? "lazy" : "idle");
      nativeSetTimeout(check, Math.min(Math.max(left, hasTimer ? 25 : 0, 5), Math.max(limit - (at - startedAt), 0)));
    };
    check();
  });
  Object.defineProperty(self, NAME, { value: waitIdle, enumerable: false });
})();
"""

_SERIALIZE = """
((options) => {
  const root = document.documentElement;
  const result = { href: document.URL, type: document.contentType, nodes: 0, html: "", length: 0 };
  if (!root) return result;
  const elements = document.getElementsByTagName("*");
  result.nodes = elements.length;
  const frames = self.__frames || new Map();
  const hosts = new Set();  // shadow hosts and frames with all their ancestors: these are copied node by node
  const addWithParents = (node) => {
    for (let at = node; at && !hosts.has(at); at = at.parentNode || at.host) hosts.add(at);
  };
  if (options.shadow) {
    const findHosts = (roots, depth) => {
      for (const element of roots) {
        if (!element.shadowRoot) continue;
        addWithParents(element);
        addWithParents(element.shadowRoot);
        if (depth < 64) findHosts(element.shadowRoot.querySelectorAll("*"), depth + 1);
      }
    };
    findHosts(elements, 0);
  }
  for (const frame of frames.keys()) addWithParents(frame);
  const finish = (html) => {
    result.length = html.length;
    if (html.length <= options.maxChars) result.html = html;
    return result;
  };
  const start = options.bodyOnly ? document.body : root;
  if (!start) return result;
  const write = (element) => options.bodyOnly ? element.innerHTML : "<!doctype html>\\n" + element.outerHTML;
  if (!hosts.size) return finish(write(start));

  // The copy is made in a document without a window: no script runs, no custom element upgrades, no resource loads.
  const inert = document.implementation.createHTMLDocument("");
  const styles = new Set(["STYLE", "LINK"]);
  const copyAll = (nodes, into, depth, inShadow) => {
    for (const node of nodes) {
      if (inShadow && node.nodeType === 1 && styles.has(node.nodeName)) continue;
      if (inShadow && node.nodeName === "SLOT") {
        const assigned = node.assignedNodes({ flatten: true });
        copyAll(assigned.length ? assigned : node.childNodes, into, depth + 1, !assigned.length);
      } else copy(node, into, depth, inShadow);
    }
  };
  const copy = (node, into, depth, inShadow) => {
    if (frames.has(node)) {
      const container = inert.createElement("div");
      container.setAttribute("data-frame", node.getAttribute("src") || "");
      container.innerHTML = frames.get(node);
      into.appendChild(container);
      return;
    }
    const slots = inShadow && node.nodeType === 1 && node.querySelector && node.querySelector("slot");
    if (depth > 900 || (!hosts.has(node) && !slots)) {
      into.appendChild(inert.importNode(node, true));
      return;
    }
    const shallow = inert.importNode(node, false);
    into.appendChild(shallow);
    const shadow = options.shadow && node.shadowRoot;
    copyAll(shadow ? shadow.childNodes : node.childNodes, shallow, depth + 1, shadow ? true : inShadow);
  };
  const top = inert.importNode(start, false);
  copyAll(start.childNodes, top, 0, false);
  return finish(write(top));
})(OPTIONS)
"""

STORE_FRAME = "function (html) { (self.__frames = self.__frames || new Map()).set(this, html); }"

# The height of the document, or of the box inside it that scrolls instead of it.
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

MEASURE_HEIGHT = f"(() => {{ {_MEASURE} return measure(); }})()"

SCROLL_TO_END = f"""
(() => {{
  {_MEASURE}
  const box = boxOf();
  if (box) box.scrollTop = box.scrollHeight;
  // At the end already nothing scrolls, but infinite lists still load on the event.
  (box && box !== rootOf() ? box : document).dispatchEvent(new Event("scroll", {{ bubbles: true }}));
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(measure()), 0)));
}})()
"""


def init_script(name: str) -> str:
    """Runs before any script of the page: tracks changes and timers, and defines the idle check under a secret name."""
    return _INIT.replace("NAME", json.dumps(name))


def wait_idle_script(name: str, idle_ms: float, elapsed_ms: float, limit_ms: float) -> str:
    """Waits inside the page until the DOM is idle. Returns `idle`, `lazy` (more loads when scrolled), `busy` or `absent`."""
    call = f"self[{json.dumps(name)}]({idle_ms:.0f}, {elapsed_ms:.0f}, {limit_ms:.0f})"
    return f"typeof self[{json.dumps(name)}] === 'function' ? {call} : 'absent'"


def serialize_script(*, max_chars: int, shadow: bool, body_only: bool = False) -> str:
    """Serialises the document as HTML, with shadow roots and stored frames in their places."""
    return _SERIALIZE.replace("OPTIONS", json.dumps({"maxChars": max_chars, "shadow": shadow, "bodyOnly": body_only}))
