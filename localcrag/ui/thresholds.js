(upper, lower, policy) => {
  // What the sliders say, for the server. A number field that has just been emptied says null, which Gradio would
  // answer with an error: what was there before counts until there is a number again. A slider that is moved past the
  // other one takes it along.
  const before = (window.lcThresholds ??= { upper: 1, lower: 0 });
  const said = (value, kept) => (typeof value === "number" ? Math.min(1, Math.max(0, value)) : kept);
  const now = { upper: said(upper, before.upper), lower: said(lower, before.lower) };
  if (now.lower > now.upper) {
    if (now.lower !== before.lower) now.upper = now.lower;
    else now.lower = now.upper;
  }
  window.lcThresholds = now;
  return [now.upper, now.lower, policy];
}
