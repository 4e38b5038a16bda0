// Runs once in the list of documents: its delete buttons ask first.
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-delete]");
  if (button && window.confirm(`Delete “${button.dataset.delete}” and everything made from it?`)) {
    trigger("delete", { name: button.dataset.delete });
  }
});
