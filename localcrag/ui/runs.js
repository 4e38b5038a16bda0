// Runs in a list of questions: one that is clicked is shown in the side panel; its other buttons say what they do.
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-open], [data-add], [data-unpin], [data-remove]");
  if (!button) return;
  if (button.dataset.open) {
    trigger("select", { run_id: button.dataset.open });
    document.getElementById("lc-panel").scrollIntoView({ block: "nearest" });
  } else if (button.dataset.add) {
    button.disabled = true;
    trigger("upload", { run_id: button.dataset.add, result: "" });
  } else if (button.dataset.unpin) {
    trigger("delete", { run_id: button.dataset.unpin });
  } else if (button.dataset.remove) {
    trigger("clear", { label_id: button.dataset.remove });
  }
});
