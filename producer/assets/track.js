// footfall: docs/script.md
((d, w, n) => {
  var s = d.currentScript, o = s.dataset, from = d.referrer, tab,
    random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), b => (b + 256).toString(16).slice(1)).join("");
  // A visitor is a tab: forgotten when closed.
  function guid() {
    if (o.guid) return o.guid;
    tab ||= random();
    if (o.storage != "none") try {
      var m = sessionStorage;
      tab = m.footfall ||= tab;
    } catch {}
    return tab;
  }
  var send = w.footfall = p => {
    if ("off" in o || d.documentElement.dataset.footfall == "off" ||
      n.doNotTrack == 1 || w.doNotTrack == 1 || n.globalPrivacyControl) return;
    var r = "", u = new URL("track", s.src), h = location.hostname;
    p ||= location.pathname;
    try { r = new URL(from).hostname; } catch {}
    // It brought one view only.
    from = "";
    if (o.key) u.searchParams.set("key", o.key);
    var b = new URLSearchParams({ siteId: o.site || h, guid: guid(), id: random() });
    // A feature has room for 1,024 bytes: this counts the characters that fit.
    var v = [r == h ? "" : r, p.slice(0, new TextEncoder().encodeInto(p, new Uint8Array(1024)).read)];
    // Features named as our own attributes have others.
    ["feature1", "feature2"].forEach((f, i) =>
      b.append(f, s.getAttribute("data-" + (/^(site|storage|off)$/.test(f) ? "feature-" : "") + f) || v[i] || ""));
    n.sendBeacon && n.sendBeacon(u, b) ||
      fetch(u, { method: "POST", body: b, keepalive: true, credentials: "omit" }).catch(() => {});
  };
  addEventListener("pageshow", e => e.persisted && send());
  d.prerendering ? d.addEventListener("prerenderingchange", () => send()) : send();
})(document, window, navigator);
