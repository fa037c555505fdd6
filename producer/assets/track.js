// footfall: docs/script.md
(function (d, w, n) {
  var s = d.currentScript, o = s.dataset, tab;
  function random() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => (b + 256).toString(16).slice(1)).join("");
  }
  // A visitor is a tab: forgotten when closed.
  function guid() {
    if (o.guid) return o.guid;
    tab = tab || random();
    if (o.storage != "none") try {
      var m = w.sessionStorage;
      tab = m.footfall = m.footfall || tab;
    } catch (e) {}
    return tab;
  }
  function send(path) {
    if ("off" in o || d.documentElement.dataset.footfall == "off" ||
      n.doNotTrack == 1 || w.doNotTrack == 1 || n.globalPrivacyControl) return;
    var r = "", u = new URL("track", s.src), h = location.hostname;
    try { r = new URL(d.referrer).hostname; } catch (e) {}
    if (o.key) u.searchParams.set("key", o.key);
    var b = new URLSearchParams({ siteId: o.site || h, guid: guid(), id: random() });
    var v = [r == h ? "" : r, (path || location.pathname).slice(0, 999)];
    // Features named as our own attributes have others.
    ["feature1", "feature2"].forEach((f, i) =>
      b.append(f, s.getAttribute("data-" + (/^(site|storage|off)$/.test(f) ? "feature-" : "") + f) || v[i] || ""));
    n.sendBeacon && n.sendBeacon(u, b) ||
      fetch(u, { method: "POST", body: b, keepalive: true, credentials: "omit" }).catch(() => {});
  }
  w.footfall = send;
  w.addEventListener("pageshow", e => { if (e.persisted) send(); });
  if (d.prerendering) d.addEventListener("prerenderingchange", () => send());
  else send();
})(document, window, navigator);
