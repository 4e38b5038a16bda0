// Runs in the side panel's component after panel.js: labels, pins, and web texts to add.
// A label changes the whole panel's HTML: what had the focus, and what was unfolded, is put back.
let kept = null;

function keep(key) {
  const shown = element.querySelector(".lc-panel");
  kept = {
    key,
    run: shown && shown.dataset.run,
    open: [...element.querySelectorAll("details")].map((fold) => fold.open),
    top: element.closest("#lc-right") ? element.closest("#lc-right").scrollTop : 0,
  };
}

element.addEventListener("click", (event) => {
  const run = event.target.closest(".lc-panel") && event.target.closest(".lc-panel").dataset.run;
  const say = event.target.closest("[data-say]");
  const add = event.target.closest("[data-add]");
  const unpin = event.target.closest("[data-unpin]");
  if (say) {
    keep(say.dataset.key);
    trigger("input", { run_id: run, what: say.dataset.say, place: say.dataset.place, good: say.dataset.good });
  } else if (add) {
    add.disabled = true;
    keep(null);
    trigger("upload", { run_id: run, result: add.dataset.add });
  } else if (unpin) {
    keep("pin");
    trigger("delete", { run_id: run });
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
  trigger("submit", {
    run_id: form.closest(".lc-panel").dataset.run,
    answers: form.elements.answers.value,
    unanswerable: form.elements.unanswerable.checked,
  });
});

watch("value", () => {
  const shown = element.querySelector(".lc-panel");
  if (kept && shown && shown.dataset.run === kept.run) {
    const pinned = kept.key === "pin";
    element.querySelectorAll("details").forEach((fold, at) => {
      // A pin that was saved folds itself up.
      fold.open = Boolean(kept.open[at]) && !(pinned && fold.matches(".lc-pin"));
    });
    const had = kept.key && element.querySelector(`[data-key="${kept.key}"]`);
    if (had) had.focus({ preventScroll: true });
    if (element.closest("#lc-right")) element.closest("#lc-right").scrollTop = kept.top;
  }
  kept = null;
});
