// The plane: what a visitor does with the pointer, the keys and the controls.
"use strict";

(() => {
  const {one, all, element, write, facts, send, listeners, ahead, say, Picture, theme, copy, keepAddress, travel} = explorer;
  const REACH = 16; // pixels from a point at which it is grabbed
  const STEP = 0.02; // of the view, for an arrow key
  const DEGREES = 0.4; // of the camera for a pixel
  const HANDLES = ["center", "major", "minor"];
  const views = [0, 1].map((i) => new Picture(one(`#view${i}`)));
  const latencies = explorer.latencies = []; // milliseconds from the events of a drag to the paint
  let answer = {}, drag = null, moved = null, playing = 0, active = views[0];
  let refit = false; // show the whole with the next picture
  explorer.whileBusy(() => drag !== null || playing !== 0);
  explorer.views = views;

  // -- the pointer

  function spot(view, event) {
    const box = view.host.getBoundingClientRect();
    return [event.clientX - box.left - view.host.clientLeft, event.clientY - box.top - view.host.clientTop];
  }

  function nearest(view, places, px, py) {
    let best = -1, least = REACH;
    for (let i = 0; places && 2 * i < places.length; i += 1) {
      const [x, y] = view.toPixel(places[2 * i], places[2 * i + 1]), gap = Math.hypot(x - px, y - py);
      if (gap < least) [best, least] = [i, gap];
    }
    return best;
  }

  const fingers = new Map();

  function down(view, event) {
    touched();
    const [px, py] = spot(view, event);
    fingers.set(event.pointerId, [px, py]);
    view.host.setPointerCapture(event.pointerId);
    active = view;
    if (fingers.size === 2) { drag = {kind: "pinch"}; return; }
    if (event.button !== 0) return;
    const tool = answer.tool?.name ?? "hand";
    if (tool === "move" || tool === "turn") {
      drag = {kind: "shift", begun: false, view, start: [px, py], last: [px, py], travelled: false};
      return;
    }
    const glider = nearest(view, view.glides, px, py);
    const point = nearest(view, view.points, px, py), handle = point < 0 ? nearest(view, view.handles, px, py) : -1;
    if (glider >= 0) drag = {kind: "glider", name: view.gliders[glider]};
    else if (point >= 0) drag = {kind: "point", index: point, far: view.away[point] !== 0};
    else if (handle >= 0) drag = {kind: "handle", name: HANDLES[handle]};
    else if (view.surface) drag = {kind: "camera", turn: answer.state.turn, tilt: answer.state.tilt};
    else drag = {kind: "pan"};
    Object.assign(drag, {view, start: [px, py], last: [px, py], far: drag.far ?? false, travelled: false});
  }

  function move(view, event) {
    const [px, py] = spot(view, event), index = views.indexOf(view);
    if (drag?.kind === "pinch" && fingers.has(event.pointerId)) return pinch(view, event.pointerId, [px, py]);
    if (drag === null) {
      const [x, y] = view.toData(px, py);
      one("#readout").setAttribute("aria-live", "off"); // said all the time it helps nobody
      hintAt(view, px, py);
      view.host.style.cursor = nearest(view, view.points, px, py) >= 0 || nearest(view, view.glides, px, py) >= 0 || nearest(view, view.handles, px, py) >= 0 ? "grab" : "default";
      return send({do: "hover", x, y, view: index}, "hover");
    }
    if (drag.view !== view) return;
    if (!drag.travelled && Math.hypot(px - drag.start[0], py - drag.start[1]) < 3) return;
    drag.travelled = true;
    moved ??= event.timeStamp;
    const [x, y] = view.toData(px, py);
    if (drag.kind === "point") send({do: "move", index: drag.index, x, y, view: index, far: drag.far, dragged: true}, "drag");
    else if (drag.kind === "glider") send({do: "glide", name: drag.name, x, y, view: index}, "drag");
    else if (drag.kind === "shift") shift(view, index, x, y);
    else if (drag.kind === "handle") send({do: "handle", name: drag.name, x, y}, "drag");
    else if (drag.kind === "camera") turnTo(drag.turn - DEGREES * (px - drag.start[0]), drag.tilt + DEGREES * (py - drag.start[1]));
    else view.pan(px - drag.last[0], py - drag.last[1]);
    if (drag.kind !== "point") send({do: "hover", x, y, view: index}, "hover");
    drag.last = [px, py];
  }

  function shift(view, index, x, y) { // an isometry, from where the drag began
    if (!drag.begun) {
      const [x0, y0] = view.toData(...drag.start);
      drag.begun = true;
      send({do: "shift", x: x0, y: y0, view: index, begin: true});
    }
    send({do: "shift", x, y, view: index, begin: false}, "drag");
  }

  const constructing = () => Boolean(answer.tool?.needs);

  function turnTo(turn, tilt) { // a turn wraps around and a tilt ends at its range
    const {min, max} = one("#tilt"), wrapped = ((turn + 180) % 360 + 360) % 360 - 180;
    send({do: "set", values: {turn: wrapped, tilt: Math.min(Math.max(tilt, min), max)}}, "drag");
  }

  function pinch(view, id, now) {
    const before = [...fingers.values()];
    fingers.set(id, now);
    const after = [...fingers.values()], size = (p) => Math.hypot(p[0][0] - p[1][0], p[0][1] - p[1][1]) || 1;
    const middle = (p, i) => (p[0][i] + p[1][i]) / 2;
    view.pan(middle(after, 0) - middle(before, 0), middle(after, 1) - middle(before, 1));
    view.zoom(size(after) / size(before), middle(after, 0), middle(after, 1));
    const way = (p) => Math.atan2(p[1][1] - p[0][1], p[1][0] - p[0][0]);
    const angle = Math.atan2(Math.sin(way(after) - way(before)), Math.cos(way(after) - way(before)));
    if (view.surface) turnTo(answer.state.turn - angle * 180 / Math.PI, answer.state.tilt);
    else view.turn(angle * -1, middle(after, 0), middle(after, 1));
  }

  function up(event) {
    fingers.delete(event.pointerId);
    if (drag && !drag.travelled && drag.view && constructing()) pick(drag.view, ...drag.start);
    else if (drag && !drag.travelled && drag.kind === "point") send({do: "choose", index: drag.index});
    if (drag?.travelled && drag.kind === "point") send({do: "drop"});
    drag = null;
    moved = null;
    showLinks();
    keepAddress();
  }

  function pick(view, px, py) {
    const [x, y] = view.toData(px, py), [edge] = view.toData(px + REACH, py);
    send({do: "pick", x, y, view: views.indexOf(view), reach: edge - x});
  }

  function add(view, event) {
    if (answer.tool?.name !== "hand") return;
    const [px, py] = spot(view, event);
    if (nearest(view, view.points, px, py) >= 0) return;
    const [x, y] = view.toData(px, py);
    send({do: "add", x, y, view: views.indexOf(view)});
  }

  function wheel(view, event) {
    if (!view.host.contains(document.activeElement)) return; // the page scrolls
    event.preventDefault();
    view.zoom(1.0015 ** -event.deltaY, ...spot(view, event));
  }

  for (const view of views) {
    const {host} = view;
    host.addEventListener("pointerdown", (event) => down(view, event));
    // while something is dragged, each place at once where the browser tells it, not with the next frame
    const early = "onpointerrawupdate" in host;
    if (early) host.addEventListener("pointerrawupdate", (event) => drag !== null && move(view, event));
    host.addEventListener("pointermove", (event) => (drag === null || !early) && move(view, event));
    host.addEventListener("pointerup", up);
    host.addEventListener("pointercancel", up);
    host.addEventListener("pointerleave", () => drag === null && send({do: "leave"}, "hover"));
    host.addEventListener("dblclick", (event) => add(view, event));
    host.addEventListener("wheel", (event) => wheel(view, event), {passive: false});
    host.addEventListener("keydown", (event) => key(view, event));
    host.addEventListener("focus", () => { active = view; if (host.matches(":focus-visible")) readChosen(); });
  }

  // -- keys

  const KEYS = {
    ArrowLeft: {do: "nudge", dx: -STEP, dy: 0}, ArrowRight: {do: "nudge", dx: STEP, dy: 0},
    ArrowUp: {do: "nudge", dx: 0, dy: STEP}, ArrowDown: {do: "nudge", dx: 0, dy: -STEP},
    Delete: {do: "delete"}, Backspace: {do: "delete"}, a: {do: "add"},
    n: {do: "next", by: 1}, p: {do: "next", by: -1},
    1: {do: "label", value: 0}, 2: {do: "label", value: 1}, 3: {do: "label", value: 2}, 4: {do: "label", value: 3},
  };

  const SLIDES = {"+": ["curvature", 0.05], "=": ["curvature", 0.05], "-": ["curvature", -0.05], "[": ["turn", -10], "]": ["turn", 10]};

  function slide(name, by) {
    const input = one(`#${name}`);
    input.value = Number(input.value) + by; // ends at the slider's range
    input.dispatchEvent(new Event("input"));
  }

  function key(view, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tool = one(`[data-key="${event.key.toUpperCase()}"]`);
    if (tool && !event.shiftKey && !KEYS[event.key]) return tool.click();
    if (event.key === "0") return view.fit(view.points);
    if (event.key === "Escape" && answer.tool?.name !== "hand") return send({do: "tool", name: "hand"});
    if (event.key === "Enter" && constructing()) return send({do: "take", name: ""});
    const command = KEYS[event.key], slider = SLIDES[event.key];
    if (!command && !slider) return;
    event.preventDefault();
    if (slider) slide(...slider);
    else send(command);
    readChosen();
  }

  // what hovering tells, for those who come by the keyboard: the distances from the chosen point
  function readChosen() {
    one("#readout").setAttribute("aria-live", "polite");
    send({do: "hover"}, "hover");
  }

  // -- controls

  const set = (name, value, kind) => send({do: "set", values: {[name]: value}}, kind);
  for (const input of all("[data-number]"))
    input.addEventListener("input", () => {
      show(input.dataset.number, Number(input.value));
      stop();
      set(input.dataset.number, Number(input.value), `set ${input.dataset.number}`);
    });
  one("#k").addEventListener("change", (event) => {
    const K = Math.min(Math.max(Number(event.target.value.replace("−", "-")) || 0, -1), 1);
    stop();
    event.target.value = K;
    set("curvature", K, "set curvature");
  });
  for (const input of all("input[name=chart]"))
    input.addEventListener("change", () => set("chart", input.value));
  one("#second").addEventListener("change", (event) => set("second", event.target.value));
  for (const input of all("[data-layer]"))
    input.addEventListener("change", () => set("shown", all("[data-layer]:checked").map((box) => box.dataset.layer).join(",")));
  one("#label").addEventListener("change", (event) => send({do: "label", value: Number(event.target.value)}));
  for (const button of all("[data-do]"))
    button.addEventListener("click", () => {
      send({do: button.dataset.do, ...(button.dataset.by ? {by: Number(button.dataset.by)} : {})});
    });
  one("#reset").addEventListener("click", () => {
    send({do: "load", query: ""});
    note = "Points, conic, curvature, views and layers are as at the start. Undo brings yours back.";
  });
  let note = null; // said with the next answer
  let pointed = false; // whether the readout tells of a place
  one("#scatter").addEventListener("change", (event) => {
    const n = Number(event.target.value);
    if (n) send({do: "scatter", n, seed: Math.floor(Math.random() * 2 ** 31)});
    event.target.value = "";
  });
  for (const button of all("[data-tool]")) button.addEventListener("click", () => { send({do: "tool", name: button.dataset.tool}); openTools(false); });
  function openTools(open) {
    one("#tools").toggleAttribute("data-open", open);
    one("#tools-open").setAttribute("aria-expanded", String(open));
    if (open) one("#tools [aria-pressed=true]")?.focus();
  }
  one("#tools-open").addEventListener("click", () => openTools(!one("#tools").hasAttribute("data-open")));
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("#tools, #tools-open")) openTools(false); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") openTools(false); });
  one("#clear").addEventListener("click", () => { stop(); send({do: "load", query: "points=&shown=&chart=" + answer.state.chart + "&curvature=" + answer.state.curvature + "&second=" + answer.state.second + "&major=1&minor=1&angle=0"}); });
  one("#candidates").addEventListener("change", (event) => event.target.value && send({do: "take", name: event.target.value}));
  const tile = (edge) => {
    const [p, q] = (one("#tiling").value || "0,3").split(",").map(Number);
    send({do: "tile", p, q, depth: Number(one("#tile-depth").value) || 4, edge}, "tile");
  };
  one("#tiling").addEventListener("change", () => tile(0));
  one("#tile-depth").addEventListener("input", () => tile(answer.tiling?.edge ?? 0));
  one("#tile-edge").addEventListener("input", (event) => tile(Number(event.target.value)));
  one("#undo").addEventListener("click", () => travel(-1));
  one("#redo").addEventListener("click", () => travel(1));
  for (const button of all("[data-zoom]")) button.addEventListener("click", () => active.zoom(Number(button.dataset.zoom)));
  const fit = () => { for (const view of views) view.fit(view.points); };
  one("#fit").addEventListener("click", fit);
  one("#copy").addEventListener("click", () => copy(`${location.origin}/?${answer.query}`, "The link is copied.", "The link is in the address bar."));
  one("#png").addEventListener("click", savePicture);

  function show(name, value) {
    const decimals = {order: 0, angle: 0, turn: 0, tilt: 0}[name] ?? 2;
    const text = value.toFixed(decimals).replace("-", "−");
    for (const output of all(`[data-value="${name}"]`)) if (output.textContent !== text) output.textContent = text;
  }

  // -- playing: K goes back and forth, one step for each answer

  one("#play").addEventListener("click", () => playing ? stop() : play());

  function play() {
    playing = answer.state.curvature >= 1 ? -1 : 1;
    showPlaying();
    step();
  }
  function stop() {
    if (!playing) return;
    playing = 0;
    showPlaying();
    showLinks();
    keepAddress();
  }
  function showPlaying() {
    one("#play").setAttribute("aria-pressed", String(playing !== 0));
    one("#play").textContent = playing ? "❚❚ Pause" : "▶ Play";
    one("#play").setAttribute("aria-label", playing ? "Pause: K stands still" : "Play: K moves");
  }
  const BREATH = 16000; // milliseconds of the first picture from K to -K and back
  const HIGHEST = 0.9;
  let breathing = null; // when the first picture began to move

  function touched() {
    if (breathing === null) return;
    breathing = null;
    stop();
  }
  for (const kind of ["pointerdown", "keydown", "wheel", "input"]) document.addEventListener(kind, touched, {capture: true, passive: true});
  function breathe() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    breathing = performance.now();
    playing = 1;
    showPlaying();
    step();
  }
  explorer.breathe = breathe;

  let stepping = null; // one step at a time, whatever else is answered meanwhile
  function stepLater(wait = breathing === null ? 30 : 40) {
    stepping ??= setTimeout(() => { stepping = null; step(); }, wait);
  }

  function step() {
    if (!playing) return;
    if (document.hidden) return stepLater(500);
    if (breathing !== null) {
      const part = (performance.now() - breathing) / BREATH;
      return set("curvature", Math.round(-100 * HIGHEST * Math.cos(2 * Math.PI * part)) / 100, "set curvature");
    }
    const K = Math.round(100 * answer.state.curvature) / 100;
    if (Math.abs(K + 0.02 * playing) > 1) playing = -playing;
    set("curvature", Math.round(100 * K + 2 * playing) / 100, "set curvature");
  }

  // -- answers

  listeners.push((news) => {
    if (news.state === undefined) return say(news.errors);
    answer = news;
    news.pictures?.forEach((picture, i) => {
      const view = views[i], follow = view.chart !== picture.chart || view.box.every((v, j) => v === view.home[j]);
      Object.assign(view, picture);
      view.host.hidden = false;
      view.host.setAttribute("aria-label", picture.description);
      view.host.querySelector(".badge").textContent = picture.title;
      view.over = news.pointer?.[i] ?? [];
      view.drawn = () => frameLater(i);
      if (follow) view.reframe(picture.window); // else keep where the visitor has moved to
      else { view.home = picture.window; view.draw(); }
    });
    if (refit && news.pictures && !ahead()) { refit = false; fit(); }
    if (news.pictures?.length === 1) views[1].host.hidden = true;
    one("#views").dataset.count = views[1].host.hidden ? "1" : "2";
    if (news.pointer && !news.pictures) views.forEach((view, i) => { view.over = news.pointer[i] ?? []; view.drawOver(); });
    if (news.pictures && moved !== null) timePaint();
    showControls(news);
    keepAddress();
    if (playing) stepLater();
  });
  if (location.search === "" && location.hash === "" && !facts.embedded) {
    const first = () => { if (document.body.dataset.ready === "yes") breathe(); else setTimeout(first, 60); };
    first();
  }

  function timePaint() {
    const since = moved;
    moved = null;
    requestAnimationFrame(() => {
      const {port1, port2} = new MessageChannel(); // runs after the frame is painted
      port1.onmessage = () => { latencies.push(performance.now() - since); if (latencies.length > 999) latencies.shift(); };
      port2.postMessage(0);
    });
  }

  function showControls(news) {
    if (playing) for (const input of [one("#curvature"), one("#k")]) input.value = news.state.curvature;
    // while something is on its way the controls are ahead of the server, and keep what was chosen
    if (!ahead()) {
      for (const input of all("[data-number]")) {
        input.value = news.state[input.dataset.number];
        show(input.dataset.number, Number(input.value));
      }
      for (const input of all("input[name=chart]")) input.checked = input.value === news.state.chart;
      if (document.activeElement !== one("#k") || playing) one("#k").value = news.state.curvature;
      one("#second").value = news.state.second;
      for (const input of all("[data-layer]")) input.checked = news.shown.includes(input.dataset.layer);
      one("#label").value = news.label;
    }
    if (drag === null && !playing) showLinks();
    write("#geometry", news.geometry);
    const chosen = [...new Set(news.chosen)].map((i) => i + 1).join(" and ");
    write("#count", news.count ? `${news.count}, chosen ${chosen}` : "none yet");
    write("#headline", news.headline);
    const last = news.objects.findLast(({group, kind}) => group !== "points" && kind !== "note" && kind !== "number"); // told while nothing is pointed at
    const idle = last ? `${last.name}: ${last.measure}` : "Point at the drawing for distances.";
    if (news.readout !== undefined) pointed = news.readout !== "";
    if (news.readout !== undefined || !pointed) write("#readout", news.readout || idle);
    write("#cross", news.cross);
    write("#notes", news.notes.join(" "));
    say(news.errors.length ? news.errors : note ? [note] : news.said);
    showTool(news.tool);
    showTiling(news.tiling);
    if (!ahead()) note = null;
  }

  // labels keep clear of each other in the part of a view that is shown, whatever its size

  const framed = [null, null], frameTimers = [null, null];
  function frameLater(i) {
    clearTimeout(frameTimers[i]);
    frameTimers[i] = setTimeout(() => {
      const view = views[i], width = view.host.clientWidth, height = view.host.clientHeight;
      if (!width || view.host.hidden) return;
      const [x0, y0] = view.toData(0, height), [x1, y1] = view.toData(width, 0);
      if (view.angle || x1 <= x0 || y1 <= y0) return;
      const box = [x0, y0, x1, y1], key = [...box.map((v) => v.toPrecision(3)), width].join();
      if (framed[i] === key) return;
      framed[i] = key;
      send({do: "frame", view: i, box, width}, `frame ${i}`);
    }, 120);
  }

  // a hint next to the pointer tells what the next click takes

  const hint = element("div", "", {className: "pointer-hint", hidden: true});
  hint.setAttribute("aria-hidden", "true");
  const NEXT = {P: "a point", L: "a line", C: "a circle", O: "a line or circle", W: "a line or circle", N: "a slider, or here for a new one", G: "a point on an object"};
  function hintAt(view, px, py) {
    const needs = answer.tool?.needs;
    hint.hidden = !needs;
    if (!needs) return;
    hint.textContent = `${answer.tool.picked.length ? "now" : "click"} ${NEXT[needs]}`;
    if (hint.parentElement !== view.host) view.host.append(hint);
    hint.style.left = `${Math.min(px + 14, view.host.clientWidth - hint.offsetWidth - 4)}px`;
    hint.style.top = `${Math.min(py + 16, view.host.clientHeight - hint.offsetHeight - 4)}px`;
  }
  for (const view of views) view.host.addEventListener("pointerleave", () => { hint.hidden = true; });

  // -- tools and objects

  function showTool(tool) {
    for (const button of all("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool.name));
    if (!document.activeElement?.closest(".construct")) for (const button of buttons) button.tabIndex = button.dataset.tool === tool.name ? 0 : -1;
    one("#prompt-row").hidden = !tool.needs;
    if (!tool.needs) hint.hidden = true;
    write("#tool-name", one(`.construct [data-tool=${tool.name}] span`)?.textContent ?? "Drag");
    write("#prompt", tool.prompt);
    const select = one("#candidates"), wanted = tool.candidates.join();
    select.parentElement.hidden = tool.candidates.length === 0;
    if (select.dataset.names !== wanted) {
      select.dataset.names = wanted;
      select.replaceChildren(new Option("…", ""), ...tool.candidates.map((name) => new Option(name, name)));
    }
    select.value = "";
    for (const view of views) view.host.style.cursor = tool.needs ? "crosshair" : tool.name === "hand" ? view.host.style.cursor : "move";
  }

  const buttons = all(".construct [data-tool]"); // one stop of the Tab key; arrows go along them
  one(".construct").addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const by = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
    if (at < 0 || !by) return;
    event.preventDefault();
    const next = buttons[(at + by + buttons.length) % buttons.length];
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  function showTiling(tiling) {
    write("#tiling-about", tiling ? "K follows from the edge" : "");
    for (const name of ["depth", "edge"]) {
      const slider = one(`#tile-${name}`), told = slider.nextElementSibling;
      slider.disabled = !tiling;
      if (tiling && !ahead()) slider.value = tiling[name];
      told.textContent = tiling ? tiling[name].toFixed(name === "depth" ? 0 : 2) : "";
    }
    if (!ahead()) one("#tiling").value = tiling ? `${tiling.p},${tiling.q}` : "";
  }

  const exportAddress = (file) => `/export/${file}?${answer.query}&theme=${theme()}`;
  function showLinks() { // long addresses, so not at every step of a drag
    for (const link of all("[data-export]")) link.href = exportAddress(link.dataset.export);
    one("#learn").href = `/learn?data=points&points=${new URLSearchParams(answer.query).get("points")}`;
  }
  explorer.themed.push(showLinks);

  async function savePicture() {
    const image = new Image();
    try {
      const text = await (await fetch(exportAddress("plane.svg"))).text();
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
      await image.decode();
    } catch { return say(["The picture could not be made: the server does not answer."]); }
    const canvas = Object.assign(document.createElement("canvas"), {width: 2 * image.width, height: 2 * image.height});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const link = Object.assign(document.createElement("a"), {download: "plane.png", href: canvas.toDataURL("image/png")});
    link.click();
  }

  Object.assign(explorer, {plane: {
    get answer() { return answer; }, get playing() { return playing !== 0; },
    stop, play, showWhole: () => { refit = true; },
  }});
})();
