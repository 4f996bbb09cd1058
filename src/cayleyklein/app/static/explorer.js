// Carries what a visitor does to the server and shows what it answers. The geometry is computed there.
"use strict";

const explorer = (() => {
  const REACH = 16; // pixels from a point at which it is grabbed
  const STEP = 0.02; // of the view, for an arrow key
  const RETRY = 2000; // milliseconds between two looks for a server that is gone
  let wire = null, said = null, number = 0, waiting = false, gone = false, answer = {};
  const pending = []; // [kind, command]
  const listeners = [];

  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // -- to the server, one batch at a time: a slow answer thins out a drag and does not delay it

  // Of one kind only the last is worth sending, but none is moved past a command that has no kind:
  // where a drag ended must not be lost when another begins before the server has answered.
  function send(command, kind) {
    if (kind !== undefined) {
      const barrier = pending.findLastIndex(([other]) => other === undefined);
      const same = pending.findLastIndex(([other]) => other === kind);
      if (same > barrier) pending.splice(same, 1);
    }
    pending.push([kind, command]);
    flush();
  }

  function flush() {
    if (waiting || gone || wire === null || pending.length === 0) return;
    waiting = true;
    number += 1;
    const commands = JSON.stringify(pending.splice(0).map(([, command]) => command));
    wire.data = {number: [number], commands: [commands]};
  }

  function hear() {
    answer = JSON.parse(said.data.answer[0]);
    if (answer.number === number) waiting = false;
    for (const listener of listeners) listener(answer);
    flush();
  }

  function connect(to, from) {
    if (wire !== null) return;
    [wire, said] = [to, from];
    said.connect(said.properties.data.change, hear);
    hear();
    leaveOut(document);
    send({do: "theme", value: theme()}, "theme");
    document.body.dataset.ready = "yes";
  }

  // Bokeh's layers take the focus of the Tab key and have no name; what is around them has both
  function leaveOut(root) {
    for (const element of root.querySelectorAll("*")) {
      if (element.classList.contains("bk-events")) element.tabIndex = -1;
      if (element.shadowRoot) leaveOut(element.shadowRoot);
    }
  }

  // The session ends with its connection. The address has all of a plane, which comes back by itself;
  // a fit and its results would be lost by a reload that nobody asked for.
  function lost() {
    if (gone) return;
    gone = true;
    const plane = document.body.dataset.page === "plane", button = document.createElement("button");
    button.type = "button";
    button.textContent = "Reload";
    button.addEventListener("click", comeBack);
    one("#status").replaceChildren(
      `The connection to the server is lost. ${plane ? "The page comes back with it." : "Reloading begins anew, without results."} `,
      button);
    if (plane) setTimeout(comeBackWhenServed, RETRY);
    else one("#progress").hidden = true;
  }

  async function comeBackWhenServed() {
    try { if ((await fetch("/assets/explorer.css", {cache: "no-store"})).ok) return comeBack(); } catch { /* not yet */ }
    setTimeout(comeBackWhenServed, RETRY);
  }

  const comeBack = () => location.replace(`?${answer.query}`);

  const ahead = () => waiting || pending.length > 0;

  function say(notes) {
    if (gone) return;
    const status = one("#status"), text = notes.join(" ");
    if (status.textContent !== text) status.textContent = text;
  }

  // -- light and dark

  function theme() {
    const kept = document.documentElement.dataset.theme;
    return kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  function paint(name, keep) {
    if (keep) {
      document.documentElement.dataset.theme = name;
      try { localStorage.setItem("theme", name); } catch { /* not kept */ }
    }
    const button = one("#theme");
    if (button) button.setAttribute("aria-pressed", String(name === "dark"));
    if (wire) send({do: "theme", value: name}, "theme");
  }

  try {
    const kept = localStorage.getItem("theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch { /* none kept */ }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(theme(), false));

  // -- the plane

  function point(kind, event, plot) {
    if (kind === "leave") return send({do: "leave"}, "hover");
    const {x, y} = event;
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    if (kind === "hover") {
      one("#readout").setAttribute("aria-live", "off"); // said all the time it helps nobody
      return send({do: "hover", x, y}, "hover");
    }
    if (kind === "drag") return send({do: "drag", x, y}, "drag");
    if (kind === "drop") return send({do: "drop"});
    if (kind === "add") return send({do: "add", x, y});
    const pixel = (plot.x_range.end - plot.x_range.start) / one("#canvas").clientWidth;
    send({do: kind, x, y, reach: REACH * pixel});
  }

  const KEYS = {
    ArrowLeft: {do: "nudge", dx: -STEP, dy: 0}, ArrowRight: {do: "nudge", dx: STEP, dy: 0},
    ArrowUp: {do: "nudge", dx: 0, dy: STEP}, ArrowDown: {do: "nudge", dx: 0, dy: -STEP},
    "+": {do: "step", name: "curvature", by: 0.05}, "=": {do: "step", name: "curvature", by: 0.05},
    "-": {do: "step", name: "curvature", by: -0.05},
    Delete: {do: "delete"}, Backspace: {do: "delete"}, a: {do: "add"},
    n: {do: "next", by: 1}, p: {do: "next", by: -1},
    1: {do: "label", value: 0}, 2: {do: "label", value: 1}, 3: {do: "label", value: 2}, 4: {do: "label", value: 3},
  };

  // what hovering tells, for those who come by the keyboard: the distances from the chosen point
  function readChosen() {
    one("#readout").setAttribute("aria-live", "polite");
    send({do: "hover"}, "hover");
  }

  function wirePlane() {
    one("#canvas").addEventListener("keydown", (event) => {
      if (event.key === "0") return Bokeh.documents[0].get_model_by_name("plot").reset.emit();
      const command = KEYS[event.key];
      if (!command || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      send(command);
      readChosen();
    });
    one("#canvas").addEventListener("focus", () => one("#canvas").matches(":focus-visible") && readChosen());
    for (const input of all("[data-number]"))
      input.addEventListener("input", () => {
        show(input.dataset.number, Number(input.value));
        send({do: "set", name: input.dataset.number, value: Number(input.value)}, `set ${input.dataset.number}`);
      });
    for (const input of all("input[name=chart]"))
      input.addEventListener("change", () => send({do: "set", name: "chart", value: input.value}));
    for (const input of all("[data-layer]"))
      input.addEventListener("change", () => send({do: "toggle", name: input.dataset.layer, value: input.checked}));
    for (const input of all("input[name=label]"))
      input.addEventListener("change", () => send({do: "label", value: Number(input.value)}));
    for (const button of all("[data-do]"))
      button.addEventListener("click", () =>
        send({do: button.dataset.do, ...(button.dataset.by ? {by: Number(button.dataset.by)} : {})}));
    one("#scatter").addEventListener("change", (event) => {
      const n = Number(event.target.value);
      if (n) send({do: "scatter", n, seed: Math.floor(Math.random() * 2 ** 31)});
      event.target.value = "";
    });
    one("#copy").addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(location.href); say(["The link is copied."]); }
      catch { say(["The link is in the address bar."]); }
    });
    one("#png").addEventListener("click", savePicture);
    listeners.push(showPlane);
  }

  function show(name, value) {
    const decimals = {order: 0, angle: 0}[name] ?? 2;
    for (const output of all(`[data-value="${name}"]`)) output.textContent = value.toFixed(decimals).replace("-", "−");
  }

  function showPlane(news) {
    // while something is on its way the controls are ahead of the server, and keep what was chosen
    if (!ahead()) {
      for (const input of all("[data-number]")) {
        input.value = news.state[input.dataset.number];
        show(input.dataset.number, Number(input.value));
      }
      for (const input of all("input[name=chart]")) input.checked = input.value === news.state.chart;
      for (const input of all("[data-layer]")) input.checked = news.shown.includes(input.dataset.layer);
      for (const input of all("input[name=label]")) input.checked = Number(input.value) === news.label;
    }
    for (const link of all("[data-export]")) link.href = exportAddress(link.dataset.export, news.query);
    one("#geometry").textContent = news.geometry;
    one("#title").textContent = news.title;
    one("#count").textContent = news.points ? `${news.points}, chosen ${news.chosen.join(" and ")}` : "none yet";
    one("#canvas").setAttribute("aria-label", news.description);
    if (news.readout !== undefined) one("#readout").textContent = news.readout || "Point at the drawing for distances.";
    one("#notes").textContent = news.notes.join(" ");
    say(news.errors);
    keepAddress(news.query);
  }

  function exportAddress(file, query) {
    return `/export/${file}?${query}&theme=${theme()}`;
  }

  let addressTimer = null;
  function keepAddress(query) { // browsers limit how often the address may change
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => {
      addressTimer = null;
      history.replaceState(null, "", `?${query}`);
    }, 250);
  }

  async function savePicture() {
    const image = new Image();
    try {
      const text = await (await fetch(exportAddress("plane.svg", answer.query))).text();
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
      await image.decode();
    } catch { return say(["The picture could not be made: the server does not answer."]); }
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1440;
    canvas.getContext("2d").drawImage(image, 0, 0, 1440, 1440);
    const link = document.createElement("a");
    link.download = "plane.png";
    link.href = canvas.toDataURL("image/png");
    link.click();
  }

  // -- learning

  function wireLearn() {
    const MOST = Number(document.body.dataset.mostBytes ?? one("#csv").dataset.most);
    for (const input of all("[data-choice]"))
      input.addEventListener("change", () => send({do: "choose", name: input.dataset.choice, value: input.value}));
    for (const button of all("[data-do]")) button.addEventListener("click", () => send({do: button.dataset.do}));
    one("#csv").addEventListener("change", async (event) => {
      const file = event.target.files[0];
      if (!file) return;
      if (file.size > MOST) say([`${file.name} has ${file.size} bytes; ${MOST} are the most that is read here.`]);
      else send({do: "upload", name: file.name, text: await file.text()});
      event.target.value = "";
    });
    listeners.push(showLearn);
  }

  function fillChoices(select, options, value) {
    const wanted = JSON.stringify(options);
    if (select.dataset.options !== wanted) {
      select.dataset.options = wanted;
      select.replaceChildren(...options.map(([key, label]) => new Option(label, key)));
    }
    select.value = value;
  }

  function showLearn(news) {
    if (news.number === undefined) return;
    if (!ahead()) { // as on the plane: an answer to what was sent before must not undo a choice
      for (const select of all("select[data-choice]"))
        fillChoices(select, news.options[select.dataset.choice], news.choices[select.dataset.choice]);
      for (const name of ["x", "y"]) one(`[data-choice=${name}]`).disabled = news.choices.plane !== "columns";
      one("[data-do=fit]").disabled = news.running;
      one("[data-do=cancel]").disabled = !news.running;
    }
    for (const [id, text] of Object.entries(news.texts)) {
      const place = document.getElementById(id);
      if (place.textContent !== text) place.textContent = text;
    }
    if (news.confusion !== undefined) showConfusion(news.confusion);
    document.body.dataset.running = news.running ? "yes" : "no";
    one("#progress").hidden = !news.running;
    say(news.notes);
    keepAddress(news.query);
  }

  function showConfusion(table) {
    const place = one("#confusion");
    if (!table) return place.replaceChildren();
    const row = (cells) => { const tr = document.createElement("tr"); tr.append(...cells); return tr; };
    const cell = (kind, text, scope) => {
      const td = document.createElement(kind);
      td.textContent = text;
      if (scope) td.scope = scope;
      return td;
    };
    const most = Math.max(1, ...table.counts.flat());
    const caption = document.createElement("caption");
    caption.textContent = table.caption;
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.append(row([cell("th", "true \\ said", "col"), ...table.names.map((name) => cell("th", name, "col"))]));
    table.counts.forEach((counts, i) => {
      const cells = counts.map((count, j) => {
        const td = cell("td", count);
        td.style.setProperty("--part", count / most);
        td.className = i === j ? "right" : "wrong";
        return td;
      });
      body.append(row([cell("th", table.names[i], "row"), ...cells]));
    });
    place.replaceChildren(caption, head, body);
  }

  document.addEventListener("DOMContentLoaded", () => {
    one("#theme").addEventListener("click", () => paint(theme() === "dark" ? "light" : "dark", true));
    one("#theme").setAttribute("aria-pressed", String(theme() === "dark"));
    if (document.body.dataset.page === "plane") wirePlane();
    else wireLearn();
    const code = one("#copycode");
    if (code) code.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(one("#code").textContent); say(["The code is copied."]); }
      catch { say(["Select the code and copy it."]); }
    });
  });

  const idle = () => wire !== null && !ahead();
  const kept = () => idle() && addressTimer === null;

  return {connect, lost, point, send, idle, kept};
})();
window.explorer = explorer;
