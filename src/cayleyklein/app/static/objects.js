// The list of objects: colours, names, measures, groups, and the construction replayed.
"use strict";

(() => {
  const {one, all, element, write, facts, send, listeners, copy, plane} = explorer;
  const GROUPS = {points: "Points", lines: "Lines", curves: "Circles and curves", polygons: "Polygons", measures: "Measures and notes"};
  const PINS = ["segment", "distance", "angle", "polygon", "circle", "ball", "compass", "point", "on", "midpoint", "meet", "reflection", "reach"];
  let objects = [], count = 0, listed = "", open = ""; // the object whose colours are shown

  listeners.push((news) => {
    if (!news.objects) return;
    objects = news.objects;
    one("#objects-card").hidden = objects.length === 0;
    const place = one("#objects"), wanted = JSON.stringify([objects.map(({measure, value, ...rest}) => rest), open]);
    if (listed !== wanted && !place.contains(document.activeElement?.closest("input[type=text]"))) {
      listed = wanted;
      rebuild(place);
    }
    for (const object of objects) {
      const row = rowOf(object.name);
      if (!row) continue;
      const said = row.querySelector(".measure span"), slider = row.querySelector("input[type=range]");
      if (said.textContent !== object.measure) said.textContent = object.measure;
      if (slider && document.activeElement !== slider) slider.value = object.value;
      row.dataset.lit = object.name === news.lit || news.tool.picked.includes(object.name) ? "1" : "0";
    }
    showReplay(news.upto);
  });

  const rowOf = (name) => one("#objects").querySelector(`[data-name="${CSS.escape(name)}"]`);

  function rebuild(place) {
    const focus = document.activeElement?.closest(".object")?.dataset.name, which = document.activeElement?.dataset.part;
    const rows = [];
    for (const [group, title] of Object.entries(GROUPS)) {
      const mine = objects.filter((object) => object.group === group);
      if (!mine.length) continue;
      rows.push(heading(group, title, mine), ...mine.map((object, i) => objectRow(object, mine[i - 1], mine[i + 2])));
    }
    place.replaceChildren(...rows);
    const newest = count && objects.length > count ? rowOf(objects.at(-1).name) : null; // which may be out of sight
    if (newest) place.scrollTop = Math.max(place.scrollTop, newest.offsetTop - place.offsetTop + newest.offsetHeight - place.clientHeight);
    count = objects.length;
    if (focus) rowOf(focus)?.querySelector(`[data-part="${which}"]`)?.focus();
  }

  function icon(name) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    made.setAttribute("class", "icon");
    made.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#i-${name}`);
    made.append(use);
    return made;
  }

  function button(part, picture, text, action) {
    const made = element("button", "", {type: "button", title: text});
    made.dataset.part = part;
    made.setAttribute("aria-label", text);
    if (picture.length > 1) made.append(icon(picture)); else made.textContent = picture;
    made.addEventListener("click", action);
    return made;
  }

  function heading(group, title, mine) {
    const row = element("div", "", {className: "group-of-objects"}), shown = mine.some(({hidden}) => !hidden);
    const eye = button("group", shown ? "eye" : "closed", `${shown ? "Hide" : "Show"} all: ${title}`, () => send({do: "group", name: group, hidden: shown}));
    row.dataset.group = group;
    row.append(element("span", title), eye);
    return row;
  }

  function objectRow(object, above, below) {
    const {name, title, color, hidden, pinned, kind, value} = object;
    const row = element("div", "", {className: "object"});
    Object.assign(row.dataset, {name, kind, long: ["polygon", "circle", "ball", "compass", "parallels", "note"].includes(kind) ? "1" : "0", hidden: hidden ? "1" : "0", open: open === name ? "1" : "0"});
    const change = (part, to) => send({do: "figure", name, part, value: to});
    const swatch = button("color", " ", `Colour of ${name}: ${facts.hues[color]}`, () => { open = open === name ? "" : name; listed = ""; rebuild(one("#objects")); });
    swatch.className = "swatch";
    swatch.dataset.hue = color;
    swatch.setAttribute("aria-expanded", String(open === name));
    const rename = element("input", "", {type: "text", value: name, maxLength: 12});
    rename.dataset.part = "name";
    rename.setAttribute("aria-label", `Name of ${name}`);
    rename.addEventListener("change", () => { const to = rename.value; rename.blur(); listed = ""; change("name", to); });
    const said = element("span", "", {className: "measure"});
    said.append(element("b", `${title}: `), element("span", object.measure));
    const tools = element("div");
    const eye = button("hidden", hidden ? "closed" : "eye", `${hidden ? "Show" : "Hide"} ${name}`, () => change("hidden", hidden ? "0" : "1"));
    if (PINS.includes(kind)) {
      const pin = button("pinned", "pin", `Measure of ${name} in the drawing`, () => change("pinned", pinned ? "0" : "1"));
      pin.setAttribute("aria-pressed", String(pinned));
      tools.append(pin);
    }
    tools.append(eye);
    row.append(swatch, rename, said, tools);
    const extra = element("div", "", {className: "extra"});
    if (above) extra.append(button("up", "up", `${name} before ${above.name}`, () => send({do: "reorder", name, before: above.name})));
    if (below !== undefined || objects.filter((o) => o.group === object.group).at(-1).name !== name)
      extra.append(button("down", "down", `${name} later`, () => send({do: "reorder", name, before: below?.name ?? ""})));
    if (object.traced !== null) {
      const trace = button("trace", "locus", `Trace of ${name} while something moves`, () => send({do: "trace", name, on: !object.traced}));
      trace.setAttribute("aria-pressed", String(object.traced));
      extra.append(trace);
    }
    extra.append(button("remove", "×", `Remove ${name}`, () => send({do: "remove", name})));
    if (kind === "number" || (kind === "ball" && object.parents.length === 1)) row.append(slider(object, change));
    if (kind === "note") row.append(noteField(object, change));
    if (open === name) row.append(hues(change));
    row.append(extra);
    row.addEventListener("pointerenter", () => send({do: "light", name}, "light"));
    row.addEventListener("pointerleave", () => send({do: "light", name: ""}, "light"));
    row.addEventListener("focusin", () => send({do: "light", name}, "light"));
    row.addEventListener("click", (event) => { if (plane.answer.tool.candidates.includes(name) && !event.target.closest("button, input")) send({do: "take", name}); });
    return row;
  }

  function slider({name, value}, change) {
    const input = element("input", "", {type: "range", min: 0.02, max: 2, step: 0.005, value});
    input.dataset.part = "value";
    input.setAttribute("aria-label", `Value of ${name}`);
    input.addEventListener("input", () => send({do: "figure", name, part: "value", value: input.value}, `value ${name}`));
    return input;
  }

  function noteField({name, note}, change) {
    const input = element("input", "", {type: "text", value: note, maxLength: 120, className: "note"});
    input.dataset.part = "note";
    input.style.gridColumn = "2 / -1";
    input.setAttribute("aria-label", `Text of ${name}`);
    input.addEventListener("change", () => { const to = input.value; input.blur(); listed = ""; change("note", to); });
    return input;
  }

  function hues(change) {
    const row = element("div", "", {className: "hues"});
    row.append(...Object.entries(facts.hues).map(([hue, text]) => {
      const choice = button("hue", " ", text, () => { open = ""; change("color", hue); });
      choice.className = "swatch";
      choice.dataset.hue = hue;
      return choice;
    }));
    return row;
  }

  one("#copy-table").addEventListener("click", () => {
    const rows = [["name", "object", "made from", "measure"], ...objects.map((o) => [o.name, o.title, o.parents.join(" "), o.measure])];
    copy(rows.map((row) => row.join("\t")).join("\n"), `A table of ${objects.length} objects is copied.`, "The table could not be copied.");
  });

  // -- the construction again, a step at a time

  let timer = null, shown = null;
  function showReplay(upto) {
    shown = upto ?? objects.length;
    const slider = one("#replay");
    slider.max = objects.length;
    if (document.activeElement !== slider) slider.value = shown;
    const step = objects[shown - 1];
    write("#replay-text", upto === null || !step ? "" : `${shown} of ${objects.length}: ${step.title} ${step.name}${step.parents.length ? `, from ${step.parents.join(", ")}` : ""}`);
  }
  const goTo = (step) => send({do: "replay", step: step >= objects.length ? -1 : Math.max(step, 0)}, "replay");
  function endReplay() {
    clearInterval(timer);
    timer = null;
    one("#replay-play").setAttribute("aria-pressed", "false");
  }
  one("#replay").addEventListener("input", (event) => { endReplay(); goTo(Number(event.target.value)); });
  for (const made of all("[data-replay]"))
    made.addEventListener("click", () => { endReplay(); goTo(shown + Number(made.dataset.replay)); });
  one("#replay-play").addEventListener("click", () => {
    if (timer) return endReplay();
    one("#replay-play").setAttribute("aria-pressed", "true");
    let step = 0;
    goTo(0);
    timer = setInterval(() => {
      step += 1;
      goTo(step);
      if (step >= objects.length) endReplay();
    }, 900);
  });
})();
