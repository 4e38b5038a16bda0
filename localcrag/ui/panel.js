// Runs once in the side panel's component: `element`, `trigger` and `watch` come from Gradio.
// A citation leads to its evidence. When the panel shows another turn, that turn's run is asked for first.
let wanted = null;

function go(anchor) {
  const place = document.getElementById(anchor);
  if (!place) return false;
  document.querySelectorAll(".lc-here").forEach((other) => other.classList.remove("lc-here"));
  place.classList.add("lc-here");
  place.scrollIntoView({ block: "center", behavior: "smooth" });
  place.focus({ preventScroll: true });
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest('a[href^="#evidence-"]');
  if (!link) return;
  event.preventDefault();
  const anchor = link.getAttribute("href").slice(1);
  if (!go(anchor)) {
    wanted = anchor;
    trigger("select", { run_id: anchor.replace(/^evidence-/, "").replace(/-\d+$/, "") });
  }
});

watch("value", () => {
  if (wanted && go(wanted)) wanted = null;
});
