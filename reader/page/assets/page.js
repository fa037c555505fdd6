// Keeps the numbers of a page moving, and sends a read key with every request where one was given. Pages are whole without it.
"use strict";
(() => {
  const second = 1000, whole = 15; // every so many times the whole page is read, not only what moves
  let key = sessionStorage.getItem("footfall-read-key") || "", timer = 0, turns = 0, wait = second, visit = 0; // visit: how many pages were opened

  const read = (url) => fetch(url, { cache: "no-cache", headers: key ? { Authorization: "Bearer " + key } : {} });
  const parse = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

  // put replaces an element with that of a new page, if it differs. What is open stays open, and what has the focus keeps it.
  const put = (next, id) => {
    const old = document.getElementById(id), fresh = next.getElementById(id);
    if (!old || !fresh) return;
    old.querySelectorAll("details[id]").forEach((d) => {
      const same = next.getElementById(d.id);
      if (same) same.open = d.open;
    });
    if (old.isEqualNode(fresh)) return;
    const focus = document.activeElement, scroll = old.querySelector(".scroll")?.scrollTop;
    const path = focus && old.contains(focus) ? [...old.querySelectorAll(focus.tagName)].indexOf(focus) : -1;
    const node = document.importNode(fresh, true);
    old.replaceWith(node);
    if (path >= 0) node.querySelectorAll(focus.tagName)[path]?.focus({ preventScroll: true });
    if (scroll && node.querySelector(".scroll")) node.querySelector(".scroll").scrollTop = scroll;
  };

  const main = () => document.getElementById("main");
  const poll = async () => {
    clearTimeout(timer);
    const live = main().dataset.live, here = visit;
    if (document.hidden || !live) return;
    try {
      const all = ++turns % whole === 0 || document.querySelector(".welcome");
      if (all && main().contains(document.activeElement) && document.activeElement.matches("input, select")) throw 0; // somebody is typing
      const answer = await read(all ? location.href : live);
      if (!answer.ok) throw new Error(answer.status);
      const next = await parse(answer);
      if (here !== visit) return; // another page was opened meanwhile: these numbers are not its own
      put(next, all ? "main" : "live");
      wait = second;
    } catch {
      if (here !== visit) return;
      wait = Math.min(2 * wait, 30 * second); // the reader is away: ask less often
    }
    timer = setTimeout(poll, wait);
  };

  // With a key, links and forms are followed here: a browser would ask without it.
  const open = async (url, push) => {
    const here = ++visit, answer = await read(url);
    if (answer.headers.get("Content-Disposition") || !(answer.headers.get("Content-Type") || "").startsWith("text/html")) return save(url, answer);
    const next = await parse(answer);
    if (here !== visit) return answer.ok; // somebody went on meanwhile
    clearTimeout(timer);
    document.title = next.title;
    main().replaceWith(document.importNode(next.getElementById("main"), true));
    if (push) { history.pushState(null, "", answer.url); scrollTo(0, 0); }
    signIn();
    timer = setTimeout(poll, wait);
    return answer.ok;
  };
  const save = async (url, answer) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(await answer.blob());
    const [, encoded, plain] = /filename(?:\*=utf-8''([^;]+)|="?([^";]+))/i.exec(answer.headers.get("Content-Disposition")) ?? [];
    a.download = encoded ? decodeURIComponent(encoded) : plain ?? new URL(url, location.href).pathname.split("/").slice(-2).join("-") + ".csv";
    a.click();
    URL.revokeObjectURL(a.href);
  };
  const ours = (url) => key && new URL(url, location.href).origin === location.origin;
  addEventListener("click", (event) => {
    const a = event.target.closest?.("a[href]");
    if (!a || event.ctrlKey || event.metaKey || event.shiftKey || a.getAttribute("href")[0] === "#" || !ours(a.href)) return;
    event.preventDefault();
    open(a.href, true);
  });
  addEventListener("submit", (event) => {
    const form = event.target;
    if (form.id === "signin" || !ours(form.action)) return;
    event.preventDefault();
    open(form.action.split("?")[0] + "?" + new URLSearchParams(new FormData(form, event.submitter)), true);
  });
  addEventListener("popstate", () => key && open(location.href, false));

  const signIn = () => {
    const form = document.getElementById("signin");
    if (!form) return;
    form.hidden = false;
    form.onsubmit = async (event) => {
      event.preventDefault();
      key = form.querySelector("input").value;
      if (await open(location.href, false)) sessionStorage.setItem("footfall-read-key", key);
      else key = "";
    };
  };

  signIn();
  if (key && document.getElementById("signin")) open(location.href, false);
  addEventListener("visibilitychange", poll);
  timer = setTimeout(poll, second);
})();
