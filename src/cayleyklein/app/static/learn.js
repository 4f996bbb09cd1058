// Learning: choices, the rows before and after a fit, and the course of the fit.
"use strict";

(() => {
  const {one, all, element, facts, send, listeners, ahead, say, Picture, color, short, copy, keepAddress} = explorer;
  const PLACES = ["before", "flat", "curved"], LIVE = ["loss", "curvature", "accuracy"];
  const SERIES = {flat: [6, 4], elliptic: [], hyperbolic: [2, 3], learned: [10, 3, 2, 3]}; // a dash for each
  const REACH = 14; // pixels from a row at which it is told
  const FIRST = {loss: [0, 1], curvature: [-1, 1], accuracy: [0.9, 1]};
  const pictures = Object.fromEntries(PLACES.map((name) => [name, new Picture(one(`#picture-${name}`), {axes: ["", ""], equal: false})]));
  const charts = Object.fromEntries(LIVE.map((name) => [name, new Picture(one(`#live-${name}`), {axes: ["iteration", ""], equal: false})]));
  const curves = Object.fromEntries(["calibration", "roc", "truth", "residuals"].map((name) => {
    const host = one(`#curve-${name}`);
    return [name, new Picture(host, {axes: [host.dataset.x, host.dataset.y], equal: false})];
  }));
  let series = {}, preview = {labels: [], classes: [], test: []};

  // -- controls

  for (const input of all("[data-choice]"))
    input.addEventListener("change", () => send({do: "choose", name: input.dataset.choice, value: input.value}));
  for (const button of all("[data-do]")) button.addEventListener("click", () => send({do: button.dataset.do}));
  one("#copycode").addEventListener("click", () => copy(one("#code").textContent, "The code is copied.", "Select the code and copy it."));
  one("#all").addEventListener("click", () => send({do: "choose", name: "drop", value: ""}));
  async function upload(file) {
    const most = Number(one("#csv").dataset.most);
    if (!file) return;
    if (file.size > most) say([`${file.name} has ${file.size} bytes; ${most} are the most that is read here.`]);
    else send(kept = {do: "upload", name: file.name, content: packed(await file.arrayBuffer())});
  }
  let kept = null; // the last table that was given, for a server that is started again
  explorer.afterRestart((query) => {
    const own = new URLSearchParams(query).get("data") === "upload" && kept;
    const commands = own ? [kept, {do: "load", query}] : [];
    if (document.body.dataset.fitted || document.body.dataset.running === "yes") commands.push({do: "fit"});
    return [own ? "?" : `?${query}`, commands];
  });
  one("#csv").addEventListener("change", (event) => { one("#columns-box").open = true; upload(event.target.files[0]); event.target.value = ""; });
  let over = 0; // elements that a dragged file has entered and not left
  document.addEventListener("dragenter", () => { over += 1; document.body.dataset.dropping = "yes"; });
  document.addEventListener("dragleave", () => { over -= 1; if (over <= 0) delete document.body.dataset.dropping; });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    over = 0;
    delete document.body.dataset.dropping;
    one("#columns-box").open = true;
    upload(event.dataTransfer?.files[0]);
  });
  const packed = (buffer) => { // bytes as text, whatever their encoding
    const bytes = new Uint8Array(buffer), parts = [];
    for (let i = 0; i < bytes.length; i += 30000) parts.push(String.fromCharCode(...bytes.subarray(i, i + 30000)));
    return btoa(parts.join(""));
  };
  one("#predict").addEventListener("click", () => send({do: "predict", content: packed(new TextEncoder().encode(`${one("#rows").value}\n`))}));
  one("#rows-file").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (file) send({do: "predict", content: packed(await file.arrayBuffer())});
    event.target.value = "";
  });

  // a field for each column that the model reads; a row of the table is copied there when it is clicked
  function showFields({fields, first}) {
    one("#fields").replaceChildren(...fields.map(({name, choices}, i) => {
      const label = element("label", "", {className: "field"}), input = element("input", "", {type: "text", name, value: first[name] ?? "", maxLength: 200});
      label.append(element("span", name, {title: name}), input);
      if (choices.length) {
        const list = element("datalist", "", {id: `choices${i}`});
        list.append(...choices.map((text) => new Option(text)));
        input.setAttribute("list", list.id);
        label.append(list);
      }
      return label;
    }));
  }
  const fillFields = (cells) => all("#fields input").forEach((input) => { input.value = cells[input.name] ?? ""; });
  one("#try").addEventListener("submit", (event) => {
    event.preventDefault();
    send({do: "try", cells: Object.fromEntries(all("#fields input").map((input) => [input.name, input.value]))});
  });
  one("#like-first").addEventListener("click", () => fillFields(preview.first));

  function fill(select, options, value) {
    const wanted = JSON.stringify(options);
    if (select.dataset.options !== wanted) {
      select.dataset.options = wanted;
      select.replaceChildren(...options.map(([key, label]) => new Option(label, key)));
    }
    select.value = value;
  }

  function showColumns(columns, kinds) {
    const wanted = JSON.stringify(columns), place = one("#columns");
    one("#columns-count").textContent = `(${columns.filter((c) => c[2]).length} of ${columns.length})`;
    if (place.dataset.columns === wanted) return;
    place.dataset.columns = wanted;
    const had = document.activeElement?.value;
    place.replaceChildren(...columns.map(([index, name, used, kind, said, chosen]) => {
      const row = element("div", "", {className: "column"}), label = element("label"), box = element("input", "", {type: "checkbox", value: index, checked: used});
      box.addEventListener("change", () => {
        const dropped = [...place.querySelectorAll("input:not(:checked)")].map((b) => b.value);
        send({do: "choose", name: "drop", value: dropped.join(",")});
      });
      label.append(box, ` ${name}`);
      const select = element("select");
      select.setAttribute("aria-label", `Kind of ${name}`);
      const known = kinds.includes(kind) ? kinds : [kind, ...kinds];
      select.append(...known.map((one) => new Option(one === "unused" ? "left out" : one, one, false, one === kind)));
      select.addEventListener("change", () => {
        const wanted = columns.filter(([other, , , , , by]) => by && other !== index).map(([other, , , of]) => `${other}.${of}`);
        send({do: "choose", name: "kinds", value: [...wanted, `${index}.${select.value}`].join(",")});
      });
      row.append(label, select);
      if (!used) row.append(element("small", "left out by you"));
      else if (said) row.append(element("small", `${said}${chosen ? ", as you chose" : ""}`));
      return row;
    }));
    [...place.querySelectorAll("input")].find((box) => box.value === had)?.focus();
  }

  // -- answers

  listeners.push((news) => {
    if (news.choices === undefined) return say(news.errors ?? []);
    if (!ahead()) { // an answer to what was sent before must not undo a choice
      for (const select of all("select[data-choice]"))
        fill(select, news.options[select.dataset.choice], news.choices[select.dataset.choice]);
      showColumns(news.columns, news.kinds);
    }
    for (const button of all("[data-do=fit], [data-do=model]")) button.disabled = news.running;
    one("[data-do=cancel]").disabled = !news.running;
    for (const [id, text] of Object.entries(news.texts)) {
      const place = document.getElementById(id);
      if (place.textContent !== text) place.textContent = text;
    }
    for (const name of ["flat", "curved"]) one(`.panel-${name}`).hidden = news.texts[`about-${name}`].startsWith("Not fitted");
    if (news.preview) showPreview(news.preview);
    for (const [place, picture] of Object.entries(news.pictures)) showPicture(pictures[place], picture);
    if (news.pictures.before && !news.pictures.before.neighbors) series = {};
    addSteps(news.steps);
    showResults(news.results);
    if (news.model) save(news.model);
    document.body.dataset.running = news.running ? "yes" : "no";
    if (news.fitted) document.body.dataset.fitted = "yes"; else delete document.body.dataset.fitted;
    showWhy(news.explanation);
    one("#progress").hidden = !news.running;
    if (Number(news.texts.share)) one("#progress").value = Number(news.texts.share);
    else one("#progress").removeAttribute("value");
    showPredictions(news.predictions);
    say(news.notes);
    keepAddress();
  });

  function save({name, content}) {
    const link = element("a", "", {download: name, href: URL.createObjectURL(new Blob([content]))});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // -- the table

  const row = (cells) => { const tr = element("tr"); tr.append(...cells); return tr; };
  const cell = (kind, text, scope) => { const td = element(kind, text); if (scope) td.scope = scope; return td; };

  function showPreview(news) {
    preview = news;
    const head = element("thead"), body = element("tbody");
    head.append(row(news.names.map((name) => { const th = cell("th", name, "col"); if (name === news.target) th.className = "target"; return th; })));
    body.append(...news.rows.map((cells) => row(cells.map((text) => cell("td", text)))));
    one("#preview").replaceChildren(head, body);
    one("#column-notes").replaceChildren(...news.notes.map((note) => element("li", note)));
    showLegend();
    showFields(news);
  }

  function showLegend() {
    one("#legend").dataset.long = preview.classes.some(([name]) => name.length > 12) ? "1" : "0";
    one("#legend").replaceChildren(...preview.classes.map(([name, count, hue, marker]) => {
      const item = element("li"), key = element("canvas", "", {width: 32, height: 32}), ink = key.getContext("2d");
      ink.fillStyle = color(hue);
      ink.beginPath();
      facts.markers[marker].forEach(([x, y], i) => ink[i ? "lineTo" : "moveTo"](16 + 12 * x, 16 + 12 * y));
      ink.fill();
      item.append(key, element("span", name, {className: "name", title: name}), element("span", String(count), {className: "soft"}));
      return item;
    }));
  }
  explorer.themed.push(showLegend);

  // -- pictures of the rows

  function showPicture(picture, news) {
    Object.assign(picture, news);
    if (!news.neighbors) picture.neighbors = null;
    picture.over = [];
    picture.reframe(news.window);
  }

  function hover(picture, event) {
    const box = picture.host.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let best = -1, least = REACH;
    for (let i = 0; picture.points && 2 * i < picture.points.length; i += 1) {
      const [x, y] = picture.toPixel(picture.points[2 * i], picture.points[2 * i + 1]), gap = Math.hypot(x - px, y - py);
      if (gap < least) [best, least] = [i, gap];
    }
    if (best === picture.told) return;
    picture.told = best;
    const text = best < 0 ? "Point at a row for the training rows nearest to it." : tell(picture, best);
    picture.over = best < 0 ? [] : lit(picture, best);
    picture.drawOver();
    one("#row").textContent = text;
  }

  const nameOf = (index) => preview.classes[preview.labels[index]]?.[0] ?? "?";

  function tell(picture, i) {
    const index = picture.rows[i], kind = preview.test[index] ? "test" : "training";
    const start = `Row ${index + 1}, ${kind}, class ${nameOf(index)}${picture.wrong?.[i] ? ", predicted wrong" : ""}`;
    if (!picture.neighbors) return start;
    const found = picture.neighbors[i], k = found.length;
    if (found[0] < 0) return `${start}: outside the domain of the metric.`;
    const near = found.map((other, j) => `row ${other + 1} (${nameOf(other)}, d = ${picture.distances[i * k + j].toPrecision(3)})`);
    return `${start}. Nearest training rows: ${near.join(", ")}.`;
  }

  function lit(picture, i) {
    const at = [picture.points[2 * i], picture.points[2 * i + 1]];
    const shapes = [{kind: "marks", xy: at, color: "", edge: "gold", size: 9, edge_width: 2.4, marker: "circle", alpha: 1}];
    if (!picture.neighbors || picture.neighbors[i][0] < 0) return shapes;
    const k = picture.neighbors[i].length, ends = [...picture.places.slice(2 * i * k, 2 * (i + 1) * k)], path = [];
    for (let j = 0; j < k; j += 1) path.push(...at, ends[2 * j], ends[2 * j + 1], NaN, NaN);
    return [{kind: "line", xy: path, color: "gold", size: 2, dash: [], alpha: 1}, ...shapes];
  }

  for (const picture of Object.values(pictures)) {
    picture.host.addEventListener("click", () => { if (picture.told >= 0 && document.body.dataset.fitted) explain(picture.rows[picture.told]); });
    picture.host.addEventListener("pointermove", (event) => hover(picture, event));
    picture.host.addEventListener("pointerleave", () => { picture.told = -1; picture.over = []; picture.drawOver(); });
  }

  // -- the course of the fit

  const keys = Object.keys(SERIES).map((name) => {
    const key = element("canvas", "", {width: 60, height: 8}), span = element("span", {flat: "flat LMNN", learned: "learned K"}[name] ?? name, {className: "key"});
    span.prepend(key);
    return [name, key, span];
  });
  one("#lines").prepend(...keys.map(([, , span]) => span));
  function paintKeys() {
    for (const [name, key] of keys) {
      const ink = key.getContext("2d");
      ink.clearRect(0, 0, 60, 8);
      Object.assign(ink, {strokeStyle: color(name), lineWidth: 4});
      ink.setLineDash(SERIES[name].map((v) => 2 * v));
      ink.beginPath();
      ink.moveTo(0, 4);
      ink.lineTo(60, 4);
      ink.stroke();
    }
  }
  paintKeys();
  explorer.themed.push(paintKeys);

  function addSteps(steps) {
    for (const [name, ...values] of steps) {
      const mine = series[name] ??= {count: 0, loss: [], curvature: [], accuracy: []};
      if (values[0] !== null || values[1] !== null) mine.count += 1;
      LIVE.forEach((key, i) => values[i] === null ? mine[key].push(NaN, NaN) : mine[key].push(mine.count, values[i]));
    }
    const last = Math.max(10, ...Object.values(series).map((mine) => mine.count));
    for (const key of LIVE) {
      let [low, high] = FIRST[key];
      for (const mine of Object.values(series)) for (let i = 1; i < mine[key].length; i += 2) {
        if (mine[key][i] < low) low = mine[key][i];
        if (mine[key][i] > high) high = mine[key][i];
      }
      const room = 0.06 * (high - low);
      charts[key].shapes = Object.entries(series).map(([name, mine]) =>
        ({kind: "line", xy: mine[key], color: name, size: 2, dash: SERIES[name] ?? [], alpha: 1}));
      charts[key].reframe([0, low - room, 1.03 * last, high + room]);
    }
  }

  // -- results

  // -- why a row is predicted so

  const explain = (row) => send({do: "explain", row}, "explain");
  one("#why-row").addEventListener("change", (event) => Number(event.target.value) > 0 && explain(Number(event.target.value) - 1));

  function bars(pairs, format) { // longest first as they come; those below 0 in another colour
    const most = Math.max(...pairs.map(([, value]) => Math.abs(value)), 1e-12);
    return pairs.map(([name, value]) => {
      const line = element("div", "", {className: "bar"}), bar = element("span", "", {className: "fill"});
      bar.style.width = `${100 * Math.abs(value) / most}%`;
      bar.dataset.sign = value < 0 ? "-" : "+";
      const track = element("span", "", {className: "track"});
      track.append(bar);
      line.append(element("span", name, {className: "name", title: name}), track, element("span", format(value)));
      return line;
    });
  }
  const signed = (value) => `${value < 0 ? "" : "+"}${short(value)}`;

  function showWhy(why) {
    const place = one("#why-said"), wanted = JSON.stringify(why);
    if (place.dataset.shown === wanted) return;
    place.dataset.shown = wanted;
    const typed = why && why.row === null;
    one("#try-said").textContent = typed ? `${preview.target}: ${why.prediction}. ${why.trust[0]}` : "";
    if (!why) return place.replaceChildren();
    one("#why-row").value = typed ? "" : why.row + 1;
    if (!typed) fillFields(why.whole);
    const column = (title, ...inner) => { const made = element("div"); made.append(element("h3", title), ...inner); return made; };
    const list = (rows) => { const made = element("ul"); made.append(...rows.map(([row, value, label]) => element("li", `row ${row + 1} (${label}) ${signed(value)}`))); if (!rows.length) made.append(element("li", "no row")); return made; };
    const grid = element("div", "", {className: "why"});
    if (why.parts.length) grid.append(column("Parts", ...bars(why.parts, signed)));
    grid.append(column("Columns", ...bars(why.columns, signed)));
    const rows = column("Rows for it", list(why.for));
    rows.append(element("h3", "Rows against it"), list(why.against));
    grid.append(rows);
    const told = typed ? `The row that you typed is predicted ${why.prediction}. ${why.trust.slice(1).join(" ")}` : `Row ${why.row + 1} is predicted ${why.prediction}; it is ${why.true}. ${why.trust.join(" ")}`;
    const cells = element("table"), scroll = element("div", "", {className: "scroll", tabIndex: 0});
    cells.append(row(why.names.map((name) => cell("th", name, "col"))), row(why.cells.map((text) => cell("td", text))));
    scroll.append(cells);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Cells of the row");
    place.replaceChildren(element("p", `${told} Effects are on ${why.unit}.`, {className: "figures"}), scroll, grid);
    if (why.change === null) return; // of a number
    const change = element("p", why.change, {id: "change", className: "figures"}), ask = element("button", "What would have to change?", {type: "button", id: "ask-change"});
    ask.addEventListener("click", () => { ask.disabled = true; change.textContent = "Looking for the smallest change …"; send({do: "change"}, "explain"); });
    if (!why.change) place.append(ask);
    place.append(change);
  }

  function showResults({confusion, weights, parts, trials, planes, suspicious, curves: told}) {
    showSuspicious(suspicious);
    showConfusion(confusion);
    one("#curves").hidden = !told.roc;
    one("#errors").hidden = !told.truth;
    one("#confusion-card").hidden = Boolean(told.truth);
    one("#parts-card").hidden = parts.length === 0;
    one("#parts").replaceChildren(...bars([...parts].sort((a, b) => b[1] - a[1]), (value) => `${(100 * value).toFixed(0)} %`));
    for (const [name, {shapes, text, box}] of Object.entries(told)) {
      if (one(`#about-${name}`).textContent === text && curves[name].shapes.length) continue;
      one(`#about-${name}`).textContent = text;
      curves[name].shapes = shapes;
      curves[name].reframe(box);
    }
    one("#weights-card").hidden = weights.length === 0;
    one("#weights").replaceChildren(...bars(weights.slice(0, 20), (weight) => `${(100 * weight).toFixed(1)} %`));
    one("#trials-card").hidden = trials.length === 0;
    const head = row(["candidate", "neighbours", ...(trials[0]?.[2] ?? []).map(([name]) => name)].map((name) => cell("th", name, "col")));
    one("#trials").replaceChildren(head, ...trials.map(([name, k, scores]) =>
      row([cell("th", name, "row"), cell("td", k), ...scores.map(([, value]) => cell("td", value.toFixed(3)))])));
    one("#planes").replaceChildren(...(planes.length ? ["Open in the plane: "] : []), ...planes.flatMap(([name, query]) =>
      [element("a", name, {href: `/?${query}`, className: "open", target: "_blank", rel: "noopener"}), " "]));
  }

  function showSuspicious(found) {
    const card = one("#suspicious"), wanted = JSON.stringify(found);
    card.hidden = !found?.rows.length;
    if (card.dataset.shown === wanted) return;
    card.dataset.shown = wanted;
    if (!found) return;
    one("#suspicious-said").textContent = `${found.said}.`;
    one("#suspicious-rows").replaceChildren(...found.rows.map(([index, given, likely, sure]) => {
      const item = element("li"), show = element("button", `Row ${index + 1}`, {type: "button"});
      show.addEventListener("click", () => { explain(index); one("#why").scrollIntoView({block: "nearest"}); });
      item.append(show, ` is given as ${given}; ${likely} is likely (${sure} sure that it is wrong or rare)`);
      return item;
    }));
  }

  function showPredictions(found) {
    const place = one("#predictions"), wanted = JSON.stringify(found);
    if (place.dataset.shown === wanted) return;
    place.dataset.shown = wanted;
    place.replaceChildren(...(found ? [element("caption", found.notes.join(" ")), row(found.names.map((name) => cell("th", name, "col"))), ...found.rows.map((cells) => row(cells.map((text) => cell("td", text))))] : []));
  }

  function showConfusion(table) {
    const place = one("#confusion");
    if (!table) return place.replaceChildren(element("caption", "After a fit: how many test rows of each class were given which class."));
    const most = Math.max(1, ...table.counts.flat());
    const longest = Math.max(...table.names.map((name) => name.length));
    place.className = table.names.length > 6 || longest > 10 ? (longest > 3 ? "many tall" : "many") : "";
    const head = element("thead"), body = element("tbody");
    const title = (th, name) => { th.title = name; th.className = "name"; return th; };
    head.append(row([cell("th", "true \\ predicted", "col"), ...table.names.map((name) => title(cell("th", name, "col"), name))]));
    table.counts.forEach((counts, i) => {
      const cells = counts.map((count, j) => {
        const td = cell("td", count);
        td.style.setProperty("--part", count / most);
        td.className = i === j ? "right" : "wrong";
        return td;
      });
      body.append(row([title(cell("th", table.names[i], "row"), table.names[i]), ...cells]));
    });
    place.replaceChildren(element("caption", table.caption), head, body);
  }

  // a page without an address shows an example that is fitted
  if (location.search === "") send({do: "fit"});
})();
