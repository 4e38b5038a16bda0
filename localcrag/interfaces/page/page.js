// The page's whole script. Gradio runs it once in every gr.HTML whose js_on_load it is, and each then gets the part of
// `parts` that has its id. Gradio provides `element`, `trigger` (sends an event to Python) and `watch`.
const byId = (id) => document.getElementById(id);
const keptIn = (storage) => ({
  get: (name) => { try { return window[storage].getItem(`lc-${name}`); } catch { return null; } },
  set: (name, value) => { try { window[storage].setItem(`lc-${name}`, value); } catch { /* private window */ } },
});
const kept = keptIn("localStorage");
const keptInTab = keptIn("sessionStorage");
const narrow = () => window.matchMedia("(max-width: 1180px)").matches;
// On a narrow screen, a side is a drawer over the chat: it opens only on demand, and its state is not remembered.
const side = (name, open) => {
  document.body.dataset[name] = open ? "open" : "closed";
  if (!narrow()) kept.set(name, open ? "open" : "closed");
  const button = document.querySelector(`[data-side="${name}"]`);
  if (button) button.setAttribute("aria-expanded", String(open));
  if (open && narrow()) document.body.dataset[name === "left" ? "right" : "left"] = "closed";
};
const showsSource = (open) => {
  document.body.dataset.shows = open ? "source" : "panel";
};
const chatInAddress = () => new URLSearchParams(window.location.search).get("chat") || "";
const markChat = () => document.querySelectorAll("#lc-chats .lc-chat-title").forEach((button) => {
  button.setAttribute("aria-current", String(button.dataset.chat === chatInAddress()));
});
const say = (text) => {
  const place = byId("lc-say");
  if (place) place.textContent = text;
};

// A pressed button is disabled until the server has answered. The answer may be an error, or the same HTML as before,
// which Gradio does not report to this script; therefore `releases` in handlers.py calls lcRelease. It is defined once,
// although this script runs several times.
const press = (button) => {
  button.disabled = true;
  button.dataset.pressed = "";
};
window.lcRelease ??= () => {
  document.querySelectorAll("button[data-pressed]").forEach((button) => {
    button.disabled = false;
    delete button.dataset.pressed;
  });
  document.dispatchEvent(new Event("lc-released"));
};

// Returns the values of the threshold explorer for the server. A number field that has just been emptied has the value
// null, which Gradio would answer with an error, so the last number is used instead. A slider that is moved past the
// other one takes it along.
window.lcThresholds ??= (upper, lower, ...others) => {
  const before = (window.lcThresholds.last ??= { upper: 1, lower: 0 });
  const said = (value, last) => (typeof value === "number" ? Math.min(1, Math.max(0, value)) : last);
  const now = { upper: said(upper, before.upper), lower: said(lower, before.lower) };
  if (now.lower > now.upper) {
    if (now.lower !== before.lower) now.upper = now.lower;
    else now.lower = now.upper;
  }
  window.lcThresholds.last = now;
  return [now.upper, now.lower, ...others];
};

// Opens the file dialog, by clicking a hidden upload button of Gradio's.
const pick = (id) => byId(id).click();

const parts = {
  // The header: sides, colours, settings, and keyboard shortcuts.
  top() {
    document.documentElement.lang = element.querySelector("nav").lang;
    document.documentElement.style.setProperty("--lc-drop", JSON.stringify(element.querySelector("nav").dataset.drop));
    const columns = byId("lc-columns");
    const settings = byId("lc-settings");
    for (const [id, label] of Object.entries(JSON.parse(element.querySelector("nav").dataset.regions))) {
      if (byId(id)) Object.entries({ role: "region", "aria-label": label }).forEach(([key, value]) => byId(id).setAttribute(key, value));
    }
    const sides = () => ["left", "right"].forEach((name) => side(name, !narrow() && kept.get(name) !== "closed"));
    window.matchMedia("(max-width: 1180px)").addEventListener("change", sides);
    sides();
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const colours = () => {
      const chosen = kept.get("theme") || "system";
      document.body.classList.toggle("dark", chosen === "dark" || (chosen === "system" && system.matches));
      element.querySelectorAll("[data-theme]").forEach((button) => { button.hidden = button.dataset.theme !== chosen; });
    };
    system.addEventListener("change", colours);
    colours();

    let before = null;
    const settingsAre = (open) => {
      if (open) before = document.activeElement;
      document.body.dataset.settings = open ? "open" : "closed";
      columns.inert = open;
      settings.inert = !open;
      if (open) {
        trigger("select", { what: "settings" });
        settings.querySelector('[role="tab"][tabindex="0"]').focus();
      } else if (before) before.focus();
    };
    settings.setAttribute("aria-modal", "true");
    settings.setAttribute("role", "dialog");
    settings.inert = true;
    const keys = element.querySelector("dialog");
    const does = {
      left: () => side("left", document.body.dataset.left !== "open"),
      right: () => side("right", document.body.dataset.right !== "open"),
      settings: () => settingsAre(document.body.dataset.settings !== "open"),
      keys: () => (keys.open ? keys.close() : keys.showModal()),
      theme: () => {
        const next = { system: "light", light: "dark", dark: "system" };
        kept.set("theme", next[kept.get("theme") || "system"]);
        colours();
        const shown = element.querySelector("[data-theme]:not([hidden])");
        shown.focus();
        say(shown.getAttribute("aria-label"));
      },
      ask: () => document.querySelector("#lc-question textarea").focus(),
      chat: () => document.querySelector("#lc-new").click(),
      find: () => { side("left", true); document.querySelector("#lc-chats input").focus(); },
    };
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-does], [data-side], [data-theme]");
      if (!button) return;
      if (button.dataset.side) does[button.dataset.side]();
      else if (button.dataset.theme) does.theme();
      else does[button.dataset.does]();
    });
    document.addEventListener("click", (event) => {
      if (event.target.closest("[data-close-settings]")) settingsAre(false);
      if (event.target.closest("[data-open-settings]")) {
        settingsAre(true);
        byId(`lc-tabbed-${event.target.closest("[data-open-settings]").dataset.openSettings}`).click();
      }
    });
    const named = { "?": "keys", "/": "ask", n: "chat", f: "find", "[": "left", "]": "right", ",": "settings", d: "theme" };
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        if (document.body.dataset.settings === "open") settingsAre(false);
        else if (document.body.dataset.shows === "source") showsSource(false);
        else if (narrow()) for (const name of ["left", "right"]) side(name, false);
        return;
      }
      const typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !named[event.key]) return;
      if (document.body.dataset.settings === "open" && event.key !== ",") return;
      event.preventDefault();
      does[named[event.key]]();
    });
  },

  // Finished turns, with their buttons; also the question box, scrolling, and the time of a slow step.
  log() {
    const column = byId("lc-chat");
    let before = null;
    let chosen = null;
    const text = (turn) => {
      const copy = turn.querySelector(".lc-text").cloneNode(true);
      copy.querySelectorAll(".lc-tip").forEach((tip) => tip.remove());
      copy.querySelectorAll(".lc-cite").forEach((chip) => chip.replaceWith(`[${chip.dataset.n}]`));
      return copy.innerText.trim();
    };
    // Questions that are being edited, by their turns, with the text typed so far: each answer replaces the whole list.
    const edited = new Map();
    const named = (turn) => `${turn.dataset.turn} ${turn.dataset.run || ""}`;
    const edit = (turn, typed) => {
      const name = named(turn);
      const asked = turn.querySelector(".lc-asked");
      const form = turn.querySelector("template").content.firstElementChild.cloneNode(true);
      const box = form.elements.question;
      box.value = typed ?? asked.querySelector("p").textContent;
      edited.set(name, box.value);
      box.addEventListener("input", () => edited.set(name, box.value));
      const children = [...asked.childNodes].filter((child) => child.nodeName !== "TEMPLATE");
      children.forEach((child) => child.remove());
      asked.append(form);
      if (typed === undefined || document.activeElement === document.body) box.focus({ preventScroll: typed !== undefined });
      const cancel = () => {
        edited.delete(name);
        form.remove();
        asked.append(...children);
        asked.querySelector("[data-do=edit]").focus();
      };
      form.querySelector("[type=button]").addEventListener("click", cancel);
      box.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          cancel();
        } else if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          form.requestSubmit();
        }
      });
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (box.value.trim()) trigger("submit", { turn: Number(turn.dataset.turn), question: box.value.trim() });
      });
    };
    element.addEventListener("click", (event) => {
      const example = event.target.closest("[data-ask]");
      if (example) trigger("submit", { turn: 0, question: example.dataset.ask });
      const wanted = event.target.closest("[data-get]");
      if (wanted) trigger("download", { name: wanted.dataset.get });
      const samples = event.target.closest("[data-samples]");
      if (samples) {
        press(samples);
        trigger("upload", {});
      }
      const earlier = event.target.closest("[data-earlier]");
      if (earlier) {
        press(earlier);
        before = { turn: element.querySelector(".lc-turn").dataset.turn, below: column.scrollHeight - column.scrollTop };
        trigger("expand", {});
      }
      const version = event.target.closest("[data-show]");
      if (version) {
        press(version);
        const buttons = [...version.parentElement.querySelectorAll("[data-show]")];
        chosen = { turn: version.dataset.show, at: buttons.indexOf(version), top: version.getBoundingClientRect().top };
        trigger("option_select", { turn: Number(version.dataset.show) });
      }
      const button = event.target.closest("[data-do]");
      const turn = button && button.closest(".lc-turn");
      if (!turn) return;
      const does = button.dataset.do;
      const run_id = turn.dataset.run;
      if (does === "copy") {
        navigator.clipboard.writeText(text(turn)).then(() => {
          button.classList.add("lc-done");
          say(button.dataset.done);
          setTimeout(() => button.classList.remove("lc-done"), 1200);
        });
      } else if (does === "edit") edit(turn);
      else if (does === "again") trigger("submit", { turn: Number(turn.dataset.turn), question: "" });
      else if (does === "all") trigger("submit", { turn: Number(turn.dataset.turn), question: "", read_all: true });
      else if (does === "open" && run_id) {
        showsSource(false);
        side("right", true);
        trigger("select", { run_id });
      } else if (does === "good" || does === "bad") {
        const pressed = button.getAttribute("aria-pressed") === "true";
        trigger("input", { run_id, good: pressed ? "" : does === "good" ? "yes" : "no" });
      }
    });
    document.addEventListener("lc-released", () => { before = chosen = null; });
    // When another version of a turn is shown, its buttons stay where they were, and the focus stays on them.
    watch("value", () => {
      const versions = chosen && element.querySelector(`[data-turn="${chosen.turn}"] .lc-versions`);
      if (!versions) return;
      follows = false;
      const buttons = [...versions.querySelectorAll("[data-show]")];
      column.scrollTop += buttons[0].getBoundingClientRect().top - chosen.top;
      (buttons[chosen.at].disabled ? buttons[1 - chosen.at] : buttons[chosen.at]).focus({ preventScroll: true });
      say(versions.querySelector(".lc-unseen").textContent);
      chosen = null;
      // If the position did not change, no scroll event follows. By the second frame, the new size is known.
      requestAnimationFrame(() => requestAnimationFrame(scrolled));
    });
    // Earlier turns are added above, but the turn that was first stays where it is, and gets the focus.
    watch("value", () => {
      if (!before || element.querySelector("[data-earlier]")) return;
      const turn = element.querySelector(`[data-turn="${before.turn}"]`);
      column.scrollTop = column.scrollHeight - before.below;
      before = null;
      if (!turn) return;
      turn.tabIndex = -1;
      turn.focus({ preventScroll: true });
    });
    watch("value", () => {
      const turns = new Map([...element.querySelectorAll(".lc-turn")].map((turn) => [named(turn), turn]));
      for (const [name, typed] of edited) {
        if (!turns.has(name)) edited.delete(name);
        else if (!turns.get(name).querySelector(".lc-edit")) edit(turns.get(name), typed);
      }
    });
    // A question that is typed but not yet asked survives a reload, which Gradio also does on its own when the server
    // has restarted. If the server did receive the question, it appears as a turn, and the box is emptied.
    const box = () => document.querySelector("#lc-question textarea");
    const type = (words) => {
      box().value = words;
      box().dispatchEvent(new Event("input", { bubbles: true }));
    };
    window.addEventListener("pagehide", () => keptInTab.set("typed", box().value));
    const typed = keptInTab.get("typed");
    if (typed) {
      type(typed);
      const turns = new MutationObserver(() => {
        const asked = [...column.querySelectorAll(".lc-asked p")].at(-1);
        if (!asked || asked.textContent.trim() !== typed.trim()) return;
        turns.disconnect();
        if (box().value === typed) type("");
      });
      turns.observe(column, { childList: true, subtree: true });
    }
    // The tip of a citation stays within the column, even at the end of a line.
    const within = (event) => {
      const tip = event.target.closest(".lc-cite")?.querySelector(".lc-tip");
      if (!tip) return;
      tip.style.left = "0";
      const beyond = tip.getBoundingClientRect().right - column.getBoundingClientRect().right + 16;
      if (beyond > 0) tip.style.left = `${-beyond}px`;
    };
    column.addEventListener("pointerover", within);
    column.addEventListener("focusin", within);
    // The column follows the newest turn, unless the person has scrolled up.
    let follows = true;
    const scrolled = () => {
      follows = column.scrollTop + column.clientHeight > column.scrollHeight - 60;
    };
    column.addEventListener("scroll", scrolled);
    const down = new ResizeObserver(() => {
      if (follows) column.scrollTop = column.scrollHeight;
    });
    down.observe(element);
    down.observe(byId("lc-live"));
    // From three seconds on, a step shows how long it has been running.
    let step = { text: "", since: 0 };
    setInterval(() => {
      const busy = document.querySelector("#lc-live .lc-busy");
      const text = busy ? busy.dataset.step : "";
      if (text !== step.text) step = { text, since: performance.now() };
      const seconds = Math.floor((performance.now() - step.since) / 1000);
      if (busy && seconds >= 3) busy.querySelector(".lc-waited").textContent = `${seconds} s`;
    }, 500);
  },

  // The address contains the chat that is shown, so that a reload and the back button find it.
  where() {
    watch("value", () => {
      const chat = element.textContent.trim();
      if (chat !== chatInAddress()) window.history.pushState({}, "", chat ? `?chat=${chat}` : window.location.pathname);
      markChat();
      if (narrow()) side("left", false);
      showsSource(false);
    });
    const open = () => trigger("select", { chat: chatInAddress() });
    window.addEventListener("popstate", open);
    open();
  },

  // The list of chats.
  chats() {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-chat]");
      if (!button) return;
      const chat = Number(button.dataset.chat);
      const does = button.dataset.do || "open";
      if (does === "open") trigger("select", { chat });
      else if (does === "delete") {
        if (window.confirm(button.dataset.confirm)) trigger("delete", { chat });
      } else if (does === "rename") {
        const title = window.prompt(button.dataset.prompt, button.dataset.title);
        if (title !== null && title.trim()) trigger("submit", { chat, title });
      } else {
        button.closest("details").open = false;
        trigger("download", { chat, form: does });
      }
    });
    element.addEventListener("input", (event) => {
      if (event.target.matches("[type=search]")) trigger("input", { words: event.target.value });
    });
    // Each answer replaces the list, but the chats of other collections stay unfolded.
    let unfolded = false;
    element.addEventListener("toggle", (event) => {
      if (event.target.matches(".lc-others") && event.target.isConnected) unfolded = event.target.open;
    }, true);
    watch("value", () => {
      const others = element.querySelector(".lc-others");
      if (others && unfolded) others.open = true;
      // If the person is typing, the box is left alone; else it shows the words that the list was searched for.
      const box = element.querySelector("[type=search]");
      if (box && box !== document.activeElement) box.value = box.dataset.words;
      markChat();
    });
  },

  // A chat as a file: the server sends it as text, and this script saves it.
  export() {
    watch("value", () => {
      const made = element.querySelector("[data-name]");
      if (!made) return;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([made.textContent], { type: made.dataset.type }));
      link.download = made.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  },

  // The documents that are asked: a line, and the form below it while that is open.
  scope() {
    const form = () => element.querySelector("form");
    // The form is hidden and not removed: Gradio would not report the same HTML to this script a second time.
    const fold = (folded) => {
      const button = element.querySelector("[aria-expanded]");
      button.setAttribute("aria-expanded", String(!folded));
      if (!form()) return;
      form().hidden = folded;
      form().reset();
      (folded ? button : form().querySelector("input")).focus();
    };
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button) return;
      if (button.dataset.do === "all") trigger("select", {});
      else if (button.dataset.do === "fold" || (form() && !form().hidden)) fold(true);
      else {
        fold(false);
        trigger("expand", {});
      }
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !form() || form().hidden) return;
      event.stopPropagation();
      fold(true);
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const checked = (name) => [...form().querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);
      const lists = Object.fromEntries(["documents", "folders", "tags", "kinds"].map((name) => [name, checked(name)]));
      trigger("select", { ...lists, since: form().elements.since.value, until: form().elements.until.value });
    });
    watch("value", () => {
      if (form()) form().querySelector("input").focus();
    });
  },

  // The list of documents: search, choose several, ask only these, tag, rename, move and delete them; and collections.
  documents() {
    const listed = (tags) => tags.split(",").map((tag) => tag.trim()).filter(Boolean);
    let words = "", unfolded = false;
    const chosen = new Set();
    const sought = ({ dataset }) => `${dataset.name ?? dataset.folder}\n${dataset.also ?? ""}\n${dataset.tags}`.toLowerCase().includes(words);
    const shown = () => {
      const rows = [...element.querySelectorAll("li[data-name]")];
      element.querySelectorAll("li[data-folder]").forEach((row) => { row.hidden = !sought(row); });
      const folders = element.querySelector(".lc-folders");
      if (folders) folders.open = unfolded;
      rows.forEach((row) => {
        row.hidden = !sought(row);
        row.querySelector("[type=checkbox]").checked = chosen.has(row.dataset.name);
      });
      const there = new Set(rows.map((row) => row.dataset.name));
      [...chosen].filter((name) => !there.has(name)).forEach((name) => chosen.delete(name));
      const bar = element.querySelector(".lc-chosen");
      if (bar) {
        bar.hidden = chosen.size === 0;
        bar.querySelector("b").textContent = chosen.size;
      }
      const all = element.querySelector("[data-all]");
      const inSight = rows.filter((row) => !row.hidden);
      if (all) {
        all.checked = inSight.length > 0 && inSight.every((row) => chosen.has(row.dataset.name));
        all.indeterminate = !all.checked && inSight.some((row) => chosen.has(row.dataset.name));
      }
      const none = element.querySelector(".lc-none");
      if (none) none.hidden = rows.some((row) => !row.hidden);
    };
    element.addEventListener("input", (event) => {
      if (event.target.matches("[type=search]")) words = event.target.value.trim().toLowerCase();
      else if (event.target.matches("[type=checkbox]")) {
        const row = event.target.closest("li");
        const rows = row ? [row] : [...element.querySelectorAll("li[data-name]:not([hidden])")];
        for (const { dataset } of rows) {
          if (event.target.checked) chosen.add(dataset.name);
          else chosen.delete(dataset.name);
        }
      } else return;
      shown();
    });
    element.addEventListener("toggle", (event) => {
      // An element that was removed together with its list fires this event, too.
      if (event.target.isConnected) unfolded = event.target.open;
    }, true);
    element.addEventListener("change", (event) => {
      if (event.target.matches("select[data-merge]") && event.target.value) {
        const into = event.target.value.slice(1);
        event.target.value = "";
        const asked = event.target.dataset.confirm.replace("{into}", () => into);
        if (window.confirm(asked)) trigger("input", { what: "merge", name: into });
      }
      if (!event.target.matches("select[data-move]") || !event.target.value) return;
      const target = event.target.value === "+" ? window.prompt(event.target.dataset.prompt, "") : event.target.value.slice(1);
      event.target.value = "";
      if (target && target.trim()) trigger("option_select", { names: [...chosen], to: target.trim() });
    });
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button) return;
      const row = button.closest("li");
      const does = button.dataset.do;
      if (does === "delete") {
        const names = row ? [row.dataset.name] : [...chosen];
        if (window.confirm(button.dataset.confirm.replace("{number}", names.length))) trigger("delete", { names });
      } else if (does === "only") {
        trigger("apply", { names: [...chosen] });
        if (narrow()) side("left", false);
      } else if (does === "tag") {
        // A document's own tags are edited here (data-own); those of its folder are edited in the folder's row.
        const tagsOf = (name) => listed(element.querySelector(`li[data-name="${CSS.escape(name)}"]`).dataset.own);
        const names = row ? [row.dataset.folder] : [...chosen];
        const tags = row ? [listed(row.dataset.tags)] : names.map(tagsOf);
        const before = tags.reduce((some, more) => some.filter((tag) => more.includes(tag)));
        const said = window.prompt(button.dataset.prompt, before.join(", "));
        if (said === null) return;
        const now = listed(said);
        trigger("edit", {
          names, put: now.filter((tag) => !before.includes(tag)), take: before.filter((tag) => !now.includes(tag)),
        });
      } else if (does === "rename") {
        const name = window.prompt(button.dataset.prompt, row.dataset.name);
        if (name !== null && name.trim()) trigger("submit", { name: row.dataset.name, wanted: name });
      } else if (does === "collection") {
        const name = window.prompt(button.dataset.prompt, button.dataset.value || "");
        if (name !== null && name.trim()) trigger("input", { what: button.dataset.what, name });
      } else if (does === "export") trigger("download", {});
      else if (does === "import") pick("lc-import");
      else if (does === "delete-collection") {
        if (window.confirm(button.dataset.confirm)) trigger("input", { what: "delete", name: "" });
      }
    });
    watch("value", () => {
      const box = element.querySelector("[type=search]");
      if (box) box.value = words;
      else words = "";
      shown();
    });
  },

  // The settings' tabs.
  "settings-head"() {
    element.addEventListener("change", (event) => {
      if (event.target.matches("[data-language]")) trigger("input", { language: event.target.value });
    });
    watch("value", () => {
      if (element.querySelector("[data-anew]")) window.location.reload();
    });
    const tabs = [...element.querySelectorAll("[data-tab]")];
    const show = (shown) => {
      document.body.dataset.tab = shown.dataset.tab;
      tabs.forEach((tab) => {
        tab.setAttribute("aria-selected", String(tab === shown));
        tab.tabIndex = tab === shown ? 0 : -1;
      });
    };
    tabs.forEach((tab, at) => {
      const panel = byId(tab.getAttribute("aria-controls"));
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      tab.addEventListener("click", () => show(tab));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = tabs[(at + step + tabs.length) % tabs.length];
        show(next);
        next.focus();
      });
    });
    show(tabs[0]);
  },

  // The lists of models and of stored data: each button sends its action, after a confirmation if it has a question.
  models() {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button || (button.dataset.confirm && !window.confirm(button.dataset.confirm))) return;
      press(button);
      trigger("input", { what: button.dataset.do, name: button.dataset.name || "" });
    });
    element.addEventListener("change", (event) => {
      const { own } = event.target.dataset;
      if (own !== undefined) trigger("input", { what: "own", name: own, embedder: event.target.value });
    });
    // Progress replaces the list, but unfolded parts stay unfolded.
    const open = new Set();
    element.addEventListener("toggle", (event) => {
      const { key } = event.target.dataset;
      if (key && event.target.isConnected) open[event.target.open ? "add" : "delete"](key);
    }, true);
    watch("value", () => {
      for (const one of element.querySelectorAll("details[data-key]")) one.open = open.has(one.dataset.key);
    });
  },
  storage() {
    parts.models();
    element.addEventListener("click", (event) => {
      const { picks, copies, done } = event.target.dataset;
      if (picks) pick(picks);
      else if (copies) navigator.clipboard.writeText(copies).then(() => {
        event.target.textContent = done;
        say(done);
      });
    });
    watch("value", () => {
      if (element.querySelector("[data-anew]")) window.location.assign(window.location.pathname);
    });
  },

  // Watched folders: unfolded parts stay unfolded, and the state is refreshed while the page is visible.
  following() {
    const form = () => element.querySelector("form");
    let open = new Set();
    let sent = false;
    element.addEventListener("toggle", (event) => {
      if (!event.target.isConnected) return;
      if (event.target.open) open.add(event.target.dataset.key);
      else open.delete(event.target.dataset.key);
    }, true);
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button || (button.dataset.confirm && !window.confirm(button.dataset.confirm))) return;
      trigger("input", { what: button.dataset.do, id: Number(button.closest("[data-id]").dataset.id) });
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const { path, exclude, gone } = form().elements;
      if (!window.confirm(form().dataset.confirm.replace("{path}", path.value.trim()))) return;
      sent = true;
      trigger("input", { what: "add", id: 0, place: path.value, exclude: exclude.value, gone: gone.value });
    });
    watch("value", () => {
      // If a folder was refused, this is not called, so that the text in the form stays and can be corrected.
      if (sent) open.delete("follow");
      sent = false;
      for (const one of element.querySelectorAll("details[data-key]")) one.open = open.has(one.dataset.key);
    });
    // While the form is open, nothing is refreshed: that would delete the text typed into it.
    const look = () => {
      if (document.hidden || open.has("follow") || !element.querySelector("[data-id]")) return;
      trigger("focus", {});
    };
    window.addEventListener("focus", look);
    setInterval(look, 3000);
  },

  // The line on what has left this computer and whether the models are unloaded. It is refreshed when the page is
  // looked at, and every minute.
  gone() {
    const look = () => {
      if (!document.hidden) trigger("focus", {});
    };
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    setInterval(look, 60000);
  },

  // Collections as files: an exported one is downloaded as soon as it is complete.
  carried() {
    element.addEventListener("click", (event) => {
      if (event.target.closest("[data-do]")) trigger("clear", {});
    });
    watch("value", () => element.querySelector("a[download]")?.click());
  },

  // Uploads: the list of files that are being added.
  uploads() {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button) return;
      if (button.dataset.names) {
        press(button);
        trigger("delete", { names: JSON.parse(button.dataset.names) });
        return;
      }
      trigger("input", { what: button.dataset.do, id: button.dataset.id ? Number(button.dataset.id) : 0 });
    });
    // A password may be typed while progress of other files replaces the list, so its text and focus are kept.
    const typed = new Map();
    let writes = null;
    const field = (form) => form.querySelector("input");
    element.addEventListener("input", (event) => {
      const form = event.target.closest(".lc-unlock");
      if (form) typed.set(form.dataset.id, event.target.value);
    });
    element.addEventListener("focusin", (event) => {
      const form = event.target.closest(".lc-unlock");
      writes = form && event.target === field(form) ? form.dataset.id : null;
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const form = event.target;
      trigger("input", { what: "unlock", id: Number(form.dataset.id), password: field(form).value });
      typed.delete(form.dataset.id);
      form.reset();
    });
    watch("value", () => {
      for (const form of element.querySelectorAll(".lc-unlock")) {
        field(form).value = typed.get(form.dataset.id) || "";
        if (form.dataset.id === writes) field(form).focus();
      }
    });
    // Files of a folder are named by their paths within it, since two folders may have files of the same name. The
    // upload would cut off all before a slash, so U+2215 replaces it until app/uploads.py restores it.
    document.addEventListener("change", (event) => {
      const input = event.target;
      if (!input.webkitdirectory) return;
      const named = new DataTransfer();
      for (const file of input.files) {
        const path = file.webkitRelativePath.split("/").slice(1).join("\u2215");
        named.items.add(new File([file], path || file.name, { type: file.type }));
      }
      input.files = named.files;
    }, true);
    // Only the last few tabs get updates on uploads; this tab gets them again when it is looked at.
    window.addEventListener("focus", () => {
      if (element.querySelector("[data-do]")) trigger("focus", {});
    });
    // A later start has handed files over, and brought this window to the front.
    window.addEventListener("lc-handed-in", () => trigger("focus", {}));
  },

  // The side panel: places of citations, labels, pins, web texts to add, and sentences forced in or out.
  panel() {
    const root = () => element.querySelector(".lc-panel");
    const run = () => root() && root().dataset.run;
    // A label replaces the panel's whole HTML, so the focus and the unfolded parts are restored.
    let before = null;
    const keep = (key) => {
      before = {
        key,
        run: run(),
        open: [...element.querySelectorAll("details")].map((fold) => fold.open),
        top: byId("lc-right").scrollTop,
      };
    };
    let choice = new Map();
    const choose = (button) => {
      const { force, was } = button.dataset;
      const wanted = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(wanted));
      if (wanted) choice.set(force, was !== "in");
      else choice.delete(force);
      const bar = element.querySelector(".lc-forced");
      bar.hidden = choice.size === 0;
      bar.querySelector("b").textContent = choice.size;
    };
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest('a[href^="#passage-"], a[href^="#evidence-"]');
      if (!link) return;
      event.preventDefault();
      if (link.dataset.source !== undefined) return;
      const place = byId(link.getAttribute("href").slice(1));
      if (!place) return;
      document.querySelectorAll(".lc-here").forEach((other) => other.classList.remove("lc-here"));
      const fold = place.closest("details");
      if (fold) fold.open = true;
      place.classList.add("lc-here");
      place.scrollIntoView({ block: "center" });
      place.focus({ preventScroll: true });
    });
    element.addEventListener("click", (event) => {
      const says = event.target.closest("[data-say]");
      const add = event.target.closest("[data-add]");
      const unpin = event.target.closest("[data-unpin]");
      const strip = event.target.closest(".lc-strip");
      const force = event.target.closest("[data-force]") || (strip && !window.getSelection().toString() && strip.querySelector("[data-force]"));
      const does = event.target.closest("[data-do]");
      if (says) {
        keep(says.dataset.key);
        trigger("input", { run_id: run(), what: says.dataset.say, place: says.dataset.place, good: says.dataset.good });
      } else if (add) {
        press(add);
        keep(null);
        trigger("upload", { run_id: run(), result: add.dataset.add });
      } else if (unpin) {
        keep("pin");
        trigger("delete", { run_id: run() });
      } else if (force) choose(force);
      else if (does && does.dataset.do === "forced") {
        const said = [...choice];
        const of = (kind) => Object.fromEntries(said.filter(([key]) => key.startsWith(kind)).map(([key, wanted]) => [key.slice(2), wanted]));
        trigger("retry", { run_id: run(), sentences: of("s:"), passages: of("p:") });
        choice = new Map();
        does.closest(".lc-forced").hidden = true;
      } else if (does && does.dataset.do === "unforced") {
        choice = new Map();
        element.querySelectorAll('[data-force][aria-pressed="true"]').forEach((button) => button.setAttribute("aria-pressed", "false"));
        does.closest(".lc-forced").hidden = true;
      }
    });
    element.addEventListener("change", (event) => {
      const form = event.target.closest("[data-pin]");
      if (form && event.target.name === "unanswerable") form.elements.answers.disabled = event.target.checked;
    });
    element.addEventListener("submit", (event) => {
      const form = event.target.closest("[data-pin]");
      if (!form) return;
      event.preventDefault();
      keep("pin");
      trigger("submit", { run_id: run(), answers: form.elements.answers.value, unanswerable: form.elements.unanswerable.checked });
    });
    let shownRun = "";
    watch("value", () => {
      // Text typed into the form of one question must not stay in the form of another.
      const pin = element.querySelector("[data-pin]");
      if (pin && run() !== shownRun) pin.reset();
      shownRun = run();
      if (before && run() === before.run) {
        element.querySelectorAll("details").forEach((fold, at) => {
          // The form of a pin is folded once the pin is saved.
          fold.open = Boolean(before.open[at]) && !(before.key === "pin" && fold.matches(".lc-pin"));
        });
        const had = before.key && element.querySelector(`[data-key="${before.key}"]`);
        if (had) had.focus({ preventScroll: true });
        byId("lc-right").scrollTop = before.top;
      }
      before = null;
      choice = new Map();
    });
  },

  // The view of a source, which is shown instead of the panel.
  source() {
    const asked = { dpi: 110 };
    let from = null;
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("[data-source]");
      if (!link) return;
      event.preventDefault();
      from = link;
      Object.assign(asked, { run_id: "", passage: "", n: 0, name: "", page: 0, dpi: 110 }, JSON.parse(link.dataset.source));
      side("right", true);
      trigger("select", { ...asked });
    });
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-page], [data-dpi], [data-back]");
      if (!button) return;
      if (button.dataset.back !== undefined) {
        showsSource(false);
        if (from && from.isConnected) from.focus();
        return;
      }
      if (button.dataset.page) asked.page = Number(button.dataset.page);
      if (button.dataset.dpi) asked.dpi = Number(button.dataset.dpi);
      trigger("select", { ...asked });
    });
    watch("value", () => {
      const there = Boolean(element.querySelector(".lc-source-view"));
      showsSource(there);
      if (!there) return;
      const mark = element.querySelector(".lc-box, mark");
      if (mark) mark.scrollIntoView({ block: "center" });
      const back = element.querySelector("[data-back]");
      if (back && !element.contains(document.activeElement)) back.focus({ preventScroll: true });
    });
  },

  // Lists of questions in the settings: the side panel shows the one that is clicked.
  list() {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-open], [data-add], [data-unpin], [data-remove]");
      if (!button) return;
      if (button.dataset.open) {
        trigger("select", { run_id: button.dataset.open });
        const close = document.querySelector("[data-close-settings]");
        if (close) close.click();
        side("right", true);
      } else if (button.dataset.add) {
        press(button);
        trigger("upload", { run_id: button.dataset.add, result: "" });
      } else if (button.dataset.unpin) trigger("delete", { run_id: button.dataset.unpin });
      else if (button.dataset.remove) trigger("clear", { label_id: button.dataset.remove });
    });
  },
};
const own = (element.closest('[id^="lc-"]') || element).id.replace("lc-", "");
const part = parts[own] || (own.endsWith("-list") ? parts.list : () => {});
// Gradio may create this component before others that the script uses, so it waits for them.
const begin = () => {
  const there = ["lc-columns", "lc-settings", "lc-chat", "lc-live", "lc-right", "lc-question", "lc-tab-labels"].every(byId);
  if (there && document.querySelector("#lc-question textarea")) part();
  else requestAnimationFrame(begin);
};
begin();
