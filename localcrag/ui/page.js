// All of the page's own script. It runs once in every gr.HTML that asks for it, which gets the part of its name:
// `element`, `trigger` and `watch` come from Gradio.
const parts = {
  // Finished turns: what can be done with each.
  log() {
    const text = (turn) => {
      const copy = turn.querySelector(".lc-text").cloneNode(true);
      copy.querySelectorAll(".lc-tip").forEach((tip) => tip.remove());
      copy.querySelectorAll(".lc-cite").forEach((chip) => chip.replaceWith(`[${chip.dataset.n}]`));
      return copy.innerText.trim();
    };
    const edit = (turn) => {
      const asked = turn.querySelector(".lc-asked");
      const before = asked.querySelector("p").textContent;
      const form = document.createElement("form");
      form.className = "lc-edit";
      const box = Object.assign(document.createElement("textarea"), { value: before, rows: 3, ariaLabel: "Your question" });
      const send = Object.assign(document.createElement("button"), { type: "submit", textContent: "Ask" });
      const back = Object.assign(document.createElement("button"), { type: "button", textContent: "Cancel" });
      form.append(box, send, back);
      const children = [...asked.childNodes];
      asked.replaceChildren(form);
      box.focus();
      const cancel = () => {
        asked.replaceChildren(...children);
        asked.querySelector("[data-do=edit]").focus();
      };
      back.addEventListener("click", cancel);
      box.addEventListener("keydown", (event) => {
        if (event.key === "Escape") cancel();
        if (event.key === "Enter" && !event.shiftKey) {
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
      const button = event.target.closest("[data-do]");
      const turn = button && button.closest(".lc-turn");
      if (!turn) return;
      const does = button.dataset.do;
      const run_id = turn.dataset.run;
      if (does === "copy") {
        navigator.clipboard.writeText(text(turn)).then(() => {
          button.classList.add("lc-done");
          setTimeout(() => button.classList.remove("lc-done"), 1200);
        });
      } else if (does === "edit") edit(turn);
      else if (does === "again") trigger("submit", { turn: Number(turn.dataset.turn), question: "" });
      else if (does === "open" && run_id) trigger("select", { run_id });
      else if (does === "good" || does === "bad") {
        const pressed = button.getAttribute("aria-pressed") === "true";
        trigger("input", { run_id, good: pressed ? "" : does === "good" ? "yes" : "no" });
      }
    });
    // The newest turn in sight, unless somebody reads further up.
    const column = document.getElementById("lc-chat");
    let follows = true;
    column.addEventListener("scroll", () => {
      follows = column.scrollTop + column.clientHeight > column.scrollHeight - 60;
    });
    new ResizeObserver(() => {
      if (follows) column.scrollTop = column.scrollHeight;
    }).observe(element);
    const live = document.getElementById("lc-live");
    new ResizeObserver(() => {
      if (follows) column.scrollTop = column.scrollHeight;
    }).observe(live);
  },

  // The address says which chat is shown, so that a reload and the back button find it.
  where() {
    const shown = () => new URLSearchParams(window.location.search).get("chat") || "";
    watch("value", () => {
      const chat = element.textContent.trim();
      if (chat === shown()) return;
      window.history.pushState({}, "", chat ? `?chat=${chat}` : window.location.pathname);
    });
    window.addEventListener("popstate", () => window.location.reload());
  },

  // The list of chats.
  chats() {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-chat]");
      if (!button) return;
      const chat = Number(button.dataset.chat);
      const does = button.dataset.does || "open";
      if (does === "open") trigger("select", { chat });
      else if (does === "delete") {
        if (window.confirm(`Delete the chat “${button.dataset.title}”?`)) trigger("delete", { chat });
      } else if (does === "rename") {
        const title = window.prompt("Name of this chat", button.dataset.title);
        if (title !== null) trigger("submit", { chat, title });
      } else trigger("download", { chat, form: does });
    });
    element.addEventListener("input", (event) => {
      if (event.target.matches("[type=search]")) trigger("input", { words: event.target.value });
    });
  },
};
const name = (element.closest('[id^="lc-"]') || element).id.replace("lc-", "");
if (parts[name]) parts[name]();
