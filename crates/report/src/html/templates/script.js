"use strict";
// Comfort only: without this script every part of the page can still be read and reached.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const all = [...document.querySelectorAll("details.conversation")];
  const failing = [...document.querySelectorAll("#conversations details.conversation")];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const reveal = (element, focus) => {
    for (let node = element; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
      if (node.classList.contains("conversation")) node.hidden = false;
    }
    // Of a turn that is taller than the window its end is shown, where its judgments stand.
    const block = element.matches("details") ? "start" : element.offsetHeight > innerHeight - 80 ? "end" : "center";
    element.scrollIntoView({ block, behavior: calm ? "auto" : "smooth" });
    if (focus) (element.matches("details") ? element.querySelector("summary") : element).focus({ preventScroll: true });
  };
  const followHash = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest("details")) reveal(target, true);
  };
  addEventListener("hashchange", followHash);

  // The address names the open conversation: a copied address opens it again, and Back closes it.
  const visited = new Set();
  for (const conversation of all) {
    conversation.querySelector("summary").addEventListener("click", () => {
      // The click comes before the change.
      if (!conversation.open) {
        visited.add(conversation);
        history.pushState(null, "", `#${conversation.id}`);
      } else if (location.hash === `#${conversation.id}` || location.hash.startsWith(`#${conversation.id}-`)) {
        history.replaceState(null, "", location.pathname + location.search);
      }
    });
  }
  // Following a link keeps conversations open; only Back closes them.
  let linked = false;
  document.addEventListener("click", (event) => {
    linked = event.target.closest('a[href^="#"]') !== null;
    setTimeout(() => { linked = false; }, 300);
  });
  addEventListener("popstate", () => {
    if (linked) return;
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (const conversation of visited) if (!target || !conversation.contains(target)) conversation.open = false;
  });
  // A click on the anchor that is already in the address changes no hash.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === location.hash) followHash();
  });

  const toolbar = document.querySelector(".toolbar");
  const filter = { kinds: new Set(), row: null, column: null, group: null, text: "" };
  const search = toolbar && toolbar.querySelector("input");
  const cellChip = toolbar && toolbar.querySelector("[data-cell]");
  const groupChip = toolbar && toolbar.querySelector("[data-group-chip]");
  const shown = toolbar && toolbar.querySelector("[data-shown]");
  const nothing = document.querySelector("[data-nothing]");
  const words = new WeakMap();
  const textOf = (conversation) => {
    if (!words.has(conversation)) words.set(conversation, conversation.textContent.toLowerCase());
    return words.get(conversation);
  };
  const fits = (conversation) =>
    (filter.kinds.size === 0 || filter.kinds.has(conversation.dataset.verdict)) &&
    (filter.row === null || (conversation.dataset.row === filter.row && conversation.dataset.column === filter.column)) &&
    (filter.group === null || conversation.dataset.group === filter.group) &&
    (filter.text === "" || textOf(conversation).includes(filter.text));
  const apply = () => {
    let count = 0;
    for (const conversation of failing) {
      conversation.hidden = !fits(conversation);
      if (!conversation.hidden) count += 1;
    }
    const narrowed = count !== failing.length;
    shown.textContent = narrowed ? `${count} of ${failing.length} shown` : "";
    nothing.hidden = count > 0;
  };
  const clear = () => {
    filter.kinds.clear();
    filter.row = filter.column = filter.group = null;
    filter.text = search.value = "";
    cellChip.hidden = groupChip.hidden = true;
    for (const chip of toolbar.querySelectorAll("[data-kind]")) chip.setAttribute("aria-pressed", "false");
    apply();
  };

  if (toolbar) {
    for (const chip of toolbar.querySelectorAll("[data-kind]")) {
      chip.addEventListener("click", () => {
        const kind = chip.dataset.kind;
        const pressed = !filter.kinds.has(kind);
        if (pressed) filter.kinds.add(kind);
        else filter.kinds.delete(kind);
        chip.setAttribute("aria-pressed", String(pressed));
        apply();
      });
    }
    search.addEventListener("input", () => {
      filter.text = search.value.trim().toLowerCase();
      apply();
    });
    cellChip.addEventListener("click", () => {
      filter.row = filter.column = null;
      cellChip.hidden = true;
      apply();
    });
    groupChip.addEventListener("click", () => {
      filter.group = null;
      groupChip.hidden = true;
      apply();
    });
    for (const button of document.querySelectorAll("[data-group-filter]")) {
      button.addEventListener("click", () => {
        clear();
        filter.group = button.dataset.groupFilter;
        const group = button.closest(".group");
        const label = `${group.querySelector(".title").textContent}, ${group.querySelector(".place").textContent}`;
        groupChip.textContent = `${label} ✕`;
        groupChip.setAttribute("aria-label", `Remove the filter ${label}`);
        groupChip.hidden = false;
        apply();
        toolbar.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
        groupChip.focus({ preventScroll: true });
      });
    }
    for (const button of toolbar.querySelectorAll("[data-all]")) {
      button.addEventListener("click", () => {
        for (const conversation of failing) if (!conversation.hidden) conversation.open = button.dataset.all === "open";
      });
    }
    for (const cell of document.querySelectorAll("a[data-row]")) {
      cell.addEventListener("click", () => {
        const target = document.getElementById(cell.getAttribute("href").slice(1));
        if (!failing.includes(target)) return;
        clear();
        filter.row = cell.dataset.row;
        filter.column = cell.dataset.column;
        cellChip.textContent = `${cell.dataset.label} ✕`;
        cellChip.setAttribute("aria-label", `Remove the filter ${cell.dataset.label}`);
        cellChip.hidden = false;
        apply();
      });
    }
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "copied";
      } catch {
        // Not every browser lets a file use the clipboard: then the text is at least selected.
        getSelection().selectAllChildren(button.previousElementSibling);
        button.textContent = "selected";
      }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }

  const step = (by) => {
    const visible = all.filter((conversation) => !conversation.hidden);
    const at = visible.findIndex((conversation) => conversation.contains(document.activeElement));
    const next = visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : at + by];
    if (!next) return;
    next.scrollIntoView({ block: "nearest" });
    next.querySelector("summary").focus();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && toolbar) {
      clear();
      return;
    }
    if (event.target.matches("input")) return;
    const current = document.activeElement && document.activeElement.closest("details.conversation");
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "t" && current) reveal(document.getElementById(current.dataset.failing.slice(1)), true);
    else if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
    }
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = failing.filter((conversation) => !conversation.open);
    for (const conversation of closed) conversation.open = true;
  });
  addEventListener("afterprint", () => {
    for (const conversation of closed) conversation.open = false;
  });

  followHash();
})();
