// Shared by both pages: messages to and from the server, pictures on a canvas, light and dark, help.
// The geometry is computed on the server; this draws the shapes that it sends.
"use strict";

const explorer = (() => {
  const RETRY = 2000; // milliseconds between two looks for a server that is gone
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const element = (tag, text = "", values = {}) => {
    const made = Object.assign(document.createElement(tag), values);
    made.textContent = text;
    return made;
  };
  const write = (selector, text) => { // a new text, even the same, lays out the page again
    const place = one(selector);
    if (place.textContent !== text) place.textContent = text;
  };
  const facts = JSON.parse(one("#facts").textContent);
  const page = document.body.dataset.page;

  // -- messages: one batch at a time, so that a slow answer thins out a drag and does not delay it

  let socket = null, number = 0, waiting = true, gone = false, query = location.search.slice(1);
  const pending = []; // [kind, command]
  const listeners = [];

  // Of one kind only the last is worth sending, but none is moved past a command without a kind:
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
    if (waiting || gone || pending.length === 0) return;
    waiting = true;
    number += 1;
    socket.send(JSON.stringify({number, commands: pending.splice(0).map(([, command]) => command)}));
  }

  function unpack(buffer) {
    const length = new DataView(buffer).getUint32(0, true), start = 4 + length;
    const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
    return JSON.parse(text, (_key, value) => value === null || value.$ === undefined ? value
      : value.$ === "f" ? new Float32Array(buffer, start + value.at, value.n) : new Int8Array(buffer, start + value.at, value.n));
  }

  function connect(start = location.search) {
    if (facts.embedded) return connectCell();
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/${page}`);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => socket.send(JSON.stringify({number, commands: start})));
    socket.addEventListener("message", (event) => {
      const answer = unpack(event.data);
      if (answer.number === number) waiting = false;
      if (answer.query !== undefined) query = answer.query;
      for (const listener of listeners) listener(answer);
      document.body.dataset.ready = "yes";
      flush();
    });
    socket.addEventListener("close", lost);
  }

  // in a notebook the page is in a frame of its cell, which passes messages on
  function connectCell() {
    document.body.dataset.embedded = "yes";
    socket = {send: (text) => parent.postMessage(text, "*")};
    addEventListener("message", (event) => {
      if (event.source !== parent || !(event.data instanceof ArrayBuffer)) return;
      const answer = unpack(event.data);
      if (answer.number === number) waiting = false;
      if (answer.query !== undefined) query = answer.query;
      for (const listener of listeners) listener(answer);
      document.body.dataset.ready = "yes";
      flush();
    });
    setTimeout(() => socket.send(JSON.stringify({number, commands: ""})));
  }

  // The session ends with its connection. The address has all of a plane, which is loaded again. A page
  // that cannot be loaded again without a loss says what a new session is told instead.
  let again = null;
  function lost(event) {
    if (gone) return;
    gone = true;
    const button = element("button", "Try now", {type: "button"});
    button.addEventListener("click", () => comeBackWhenServed(false));
    one("#status").replaceChildren(`${event?.reason || "The connection to the server is lost"}. The page comes back with it. `, button);
    setTimeout(comeBackWhenServed, RETRY);
  }

  async function comeBackWhenServed(retry = true) {
    try { if ((await fetch("/assets/explorer.css", {cache: "no-store"})).ok) return comeBack(); } catch { /* not yet */ }
    if (retry) setTimeout(comeBackWhenServed, RETRY);
  }

  function comeBack() {
    if (!gone) return;
    if (again === null) return location.replace(`?${query}`);
    const [start, commands] = again(query);
    gone = false;
    waiting = true;
    pending.splice(0, Infinity, ...commands.map((command) => [undefined, command]));
    one("#status").replaceChildren();
    connect(start);
  }
  const ahead = () => waiting || pending.length > 0;

  function say(notes) {
    if (gone) return;
    write("#status", notes.join(" "));
  }

  // -- the address: each settled state is an entry of the history, so Back is Undo

  // with a step of the tour where one is shown, so that its text stays with its picture
  let at = history.state?.at ?? 0, timer = null, busy = () => false;
  const tour = {step: () => null, restore: () => {}}; // what an entry keeps beside the address
  const entry = () => ({at, step: tour.step()});
  let top = history.state ? Math.max(at, Number(stored("top", "sessionStorage") ?? 0)) : 0; // a new address has no way forward
  let loading = true; // the address is being read, and is not a new state

  function stored(name, where = "localStorage") {
    try { return window[where].getItem(name); } catch { return null; }
  }
  function store(name, value, where = "localStorage") {
    try { window[where].setItem(name, value); } catch { /* not kept */ }
  }

  function keepAddress() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      if (busy() || ahead()) return keepAddress();
      const wanted = `?${query}`;
      if (facts.embedded) return keepEntry();
      if (loading || !history.state) history.replaceState(entry(), "", wanted);
      else if (location.search !== wanted) {
        at = top = at + 1;
        store("top", top, "sessionStorage");
        history.pushState(entry(), "", wanted);
      } else if (String(history.state.step) !== String(tour.step())) history.replaceState(entry(), "");
      loading = false;
      showHistory();
    }, loading ? 0 : 300);
  }

  const entries = []; // of a page in a notebook, which has no address
  function keepEntry() {
    if (entries[at] !== query) {
      if (entries.length) at += 1;
      entries.splice(at, Infinity, query);
      top = at;
    }
    showHistory();
  }

  function showHistory() {
    if (!one("#undo")) return;
    one("#undo").disabled = at === 0;
    one("#redo").disabled = at >= top;
  }

  function travel(by) {
    if (at + by < 0 || at + by > top) return;
    if (facts.embedded) {
      at += by;
      return send({do: "load", query: entries[at]});
    }
    history.go(by);
  }

  addEventListener("popstate", (event) => {
    at = event.state?.at ?? 0;
    loading = true;
    tour.restore(event.state?.step ?? null);
    send({do: "load", query: location.search.slice(1)});
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const by = key === "z" ? (event.shiftKey ? 1 : -1) : key === "y" ? 1 : 0;
    if (!by || !one("#undo")) return;
    event.preventDefault();
    travel(by);
  });

  // -- light and dark

  const pictures = [];
  const theme = () => document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const color = (name) => facts.palette[theme()][name] ?? name;

  function showTheme() {
    one("#theme").setAttribute("aria-pressed", String(theme() === "dark"));
    for (const picture of pictures) picture.draw();
    for (const change of themed) change();
  }
  const themed = [];
  const kept = stored("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  one("#theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    store("theme", theme());
    showTheme();
  });
  one("#theme").setAttribute("aria-pressed", String(theme() === "dark"));

  // -- help: while it is on, whatever is pointed at, clicked or focused tells what it is

  let helping = false;
  function help(on) {
    helping = on;
    one("#help").setAttribute("aria-pressed", String(on));
    one("#help-text").hidden = !on;
    if (on) document.body.dataset.helping = "yes"; else delete document.body.dataset.helping;
    tellHelp(null);
  }
  function tellHelp(place) {
    for (const told of all("[data-told]")) delete told.dataset.told;
    if (place) place.dataset.told = "yes";
    write("#help-text", place ? place.dataset.help : "Point at anything with a dashed frame, or click it. Escape ends the help.");
  }
  const helped = (event) => event.target.closest?.("[data-help]");
  one("#help").addEventListener("click", () => help(!helping));
  for (const kind of ["pointerover", "focusin"])
    document.addEventListener(kind, (event) => helping && helped(event) && tellHelp(helped(event)));
  for (const kind of ["click", "pointerdown", "mousedown"])
    document.addEventListener(kind, (event) => {
      if (!helping || event.target.closest("#help, #theme, nav, #more")) return;
      event.preventDefault();
      event.stopPropagation();
      if (helped(event)) tellHelp(helped(event));
    }, {capture: true});
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && helping) { help(false); one("#help").focus(); } });

  // -- the menu of a small screen

  const more = one("#more");
  const openMenu = (open) => {
    one("#menu").toggleAttribute("data-open", open);
    more?.setAttribute("aria-expanded", String(open));
  };
  more?.addEventListener("click", () => openMenu(!one("#menu").hasAttribute("data-open")));
  one("#menu").addEventListener("change", () => openMenu(false));
  document.addEventListener("click", (event) => { if (!event.target.closest("#menu, #more") || event.target.closest("#menu button")) openMenu(false); });

  // -- pictures

  class Picture {
    // axes: names of the two axes, or null; equal: the same scale along both
    constructor(host, {axes = null, equal = true} = {}) {
      Object.assign(this, {host, axes, equal, shapes: [], over: [], home: [-1, -1, 1, 1], box: [-1, -1, 1, 1], angle: 0});
      [this.base, this.top] = [0, 1].map(() => host.insertBefore(element("canvas"), host.firstChild));
      [this.top, this.base] = [this.base, this.top];
      // kept, since asking for it while a picture changes lays out the page at once
      new ResizeObserver(() => { this.measure(); this.draw(); }).observe(host);
      this.measure();
      pictures.push(this);
    }

    measure() { this.size = [this.host.clientWidth, this.host.clientHeight]; }

    reframe(home) { this.home = home; this.box = [...home]; this.draw(); }

    place() { // pixels of a place: (ox + xx x + xy y, oy + yx x + yy y)
      const [width, height] = this.size;
      const [x0, y0, x1, y1] = this.box;
      // room for the numbers of the vertical axis, some 7 pixels a letter
      const letters = this.axes ? Math.max(...ticks(y0, y1).map((v) => short(v).length), 3) : 0;
      const [left, bottom] = this.axes ? [26 + 7 * letters, 34] : [0, 0];
      let sx = (width - left) / (x1 - x0), sy = (height - bottom) / (y1 - y0);
      if (this.equal) sx = sy = Math.min(sx, sy);
      const middle = [(left + width) / 2, (height - bottom) / 2];
      const c = Math.cos(this.angle), s = Math.sin(this.angle), mx = (x0 + x1) / 2, my = (y0 + y1) / 2;
      const [xx, xy, yx, yy] = [sx * c, -sx * s, -sy * s, -sy * c];
      return {sx, sy, xx, xy, yx, yy, ox: middle[0] - xx * mx - xy * my, oy: middle[1] - yx * mx - yy * my, width, height, left, bottom};
    }

    toPixel(x, y) { const t = this.place(); return [t.ox + t.xx * x + t.xy * y, t.oy + t.yx * x + t.yy * y]; }
    toData(px, py) {
      const t = this.place(), dx = px - t.ox, dy = py - t.oy, size = t.xx * t.yy - t.xy * t.yx;
      return [(t.yy * dx - t.xy * dy) / size, (t.xx * dy - t.yx * dx) / size];
    }

    turn(angle, px, py) { // around a place of the screen
      const before = this.toData(px, py);
      this.angle += angle;
      const after = this.toData(px, py);
      this.box = this.box.map((v, i) => v + before[i % 2] - after[i % 2]);
      this.draw();
    }

    zoom(factor, px = this.host.clientWidth / 2, py = this.host.clientHeight / 2) {
      const [x, y] = this.toData(px, py), wide = this.home[2] - this.home[0];
      const width = (this.box[2] - this.box[0]) / factor;
      if (width > 8 * wide || width < wide / 200) return;
      this.box = this.box.map((v, i) => (i % 2 ? y : x) + (v - (i % 2 ? y : x)) / factor);
      this.draw();
    }

    pan(dx, dy) {
      const [x0, y0] = this.toData(0, 0), [x1, y1] = this.toData(dx, dy);
      this.box = this.box.map((v, i) => v - (i % 2 ? y1 - y0 : x1 - x0));
      this.draw();
    }

    fit(points = []) { // the first window, and all points
      const box = [...this.home], room = 0.05 * (box[2] - box[0]);
      for (let i = 0; i + 1 < points.length; i += 2) {
        box[0] = Math.min(box[0], points[i] - room); box[2] = Math.max(box[2], points[i] + room);
        box[1] = Math.min(box[1], points[i + 1] - room); box[3] = Math.max(box[3], points[i + 1] + room);
      }
      this.box = box;
      this.angle = 0;
      this.draw();
    }

    draw() {
      this.paintAll(this.base, this.shapes, true);
      this.drawOver();
      this.drawn?.();
    }
    drawOver() { this.paintAll(this.top, this.over, false); }

    paintAll(canvas, shapes, withAxes) {
      const t = this.place(), ratio = devicePixelRatio || 1;
      if (!t.width || !t.height) return;
      const [w, h] = [Math.round(t.width * ratio), Math.round(t.height * ratio)];
      if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      const ink = canvas.getContext("2d");
      ink.setTransform(ratio, 0, 0, ratio, 0, 0);
      ink.clearRect(0, 0, t.width, t.height);
      if (withAxes && this.axes) this.paintAxes(ink, t);
      ink.save();
      if (this.axes) {
        ink.beginPath();
        ink.rect(t.left, 0, t.width - t.left, t.height - t.bottom);
        ink.clip();
      }
      for (const shape of shapes) PAINT[shape.kind](ink, shape, t);
      ink.restore();
    }

    paintAxes(ink, t) {
      ink.font = "12px system-ui, sans-serif";
      ink.fillStyle = ink.strokeStyle = color("soft");
      ink.lineWidth = 1;
      const [x0, y0] = this.toData(t.left, t.height - t.bottom), [x1, y1] = this.toData(t.width, 0);
      ink.globalAlpha = 0.25;
      ink.strokeRect(t.left, 0.5, t.width - t.left - 0.5, t.height - t.bottom);
      ink.globalAlpha = 1;
      ink.textAlign = "center";
      for (const v of ticks(x0, x1)) ink.fillText(short(v), Math.min(t.ox + t.sx * v, t.width - ink.measureText(short(v)).width / 2 - 1), t.height - t.bottom + 13);
      ink.textAlign = "right";
      for (const v of ticks(y0, y1)) ink.fillText(short(v), t.left - 4, Math.max(t.oy - t.sy * v + 4, 10));
      ink.textAlign = "center";
      ink.fillText(this.axes[0], (t.left + t.width) / 2, t.height - 4);
      ink.save();
      ink.translate(11, (t.height - t.bottom) / 2);
      ink.rotate(-Math.PI / 2);
      ink.fillText(this.axes[1], 0, 0);
      ink.restore();
    }
  }

  const compact = new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3});
  const short = (v) => (Math.abs(v) < 1e4 ? String(Number(v.toPrecision(3))) : compact.format(v)).replace("-", "−");

  function ticks(low, high) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough, found = [];
    for (let v = Math.ceil(low / step) * step; v <= high && found.length < 12; v += step) found.push(v);
    return found;
  }

  function trace(ink, xy, t, close) {
    ink.beginPath();
    let pen = false;
    for (let i = 0; i < xy.length; i += 2) {
      if (Number.isNaN(xy[i])) {
        if (close && pen) ink.closePath();
        pen = false;
      } else {
        const x = t.ox + t.xx * xy[i] + t.xy * xy[i + 1], y = t.oy + t.yx * xy[i] + t.yy * xy[i + 1];
        if (pen) ink.lineTo(x, y); else ink.moveTo(x, y);
        pen = true;
      }
    }
    if (close && pen) ink.closePath();
  }

  const PAINT = {
    area(ink, shape, t) {
      trace(ink, shape.xy, t, true);
      ink.globalAlpha = shape.alpha;
      ink.fillStyle = color(shape.color);
      ink.fill();
      ink.globalAlpha = 1;
    },
    line(ink, shape, t) {
      trace(ink, shape.xy, t, false);
      ink.globalAlpha = shape.alpha;
      ink.lineWidth = shape.size;
      ink.lineJoin = "round";
      ink.setLineDash(shape.dash);
      ink.strokeStyle = color(shape.color);
      ink.stroke();
      ink.setLineDash([]);
      ink.globalAlpha = 1;
    },
    marks(ink, shape, t) {
      const corners = facts.markers[shape.marker], {xy, size} = shape;
      ink.beginPath();
      for (let i = 0; i < xy.length; i += 2) {
        const x = t.ox + t.xx * xy[i] + t.xy * xy[i + 1], y = t.oy + t.yx * xy[i] + t.yy * xy[i + 1];
        if (shape.marker === "circle") { ink.moveTo(x + size, y); ink.arc(x, y, size, 0, 7); continue; }
        corners.forEach(([dx, dy], j) => ink[j ? "lineTo" : "moveTo"](x + size * dx, y + size * dy));
        ink.closePath();
      }
      ink.globalAlpha = shape.alpha;
      if (shape.color) { ink.fillStyle = color(shape.color); ink.fill(); }
      if (shape.edge) { ink.strokeStyle = color(shape.edge); ink.lineWidth = shape.edge_width; ink.stroke(); }
      ink.globalAlpha = 1;
    },
    words(ink, shape, t) { // centred, with a rim of the ground around the letters
      ink.font = "italic 18px serif";
      ink.textAlign = "center";
      ink.textBaseline = "middle";
      ink.lineWidth = 3;
      ink.lineJoin = "round";
      ink.strokeStyle = color("paper");
      ink.fillStyle = color(shape.color);
      const {xy, shift} = shape;
      shape.text.forEach((text, i) => {
        const x = t.ox + t.xx * xy[2 * i] + t.xy * xy[2 * i + 1] + shift[2 * i];
        const y = t.oy + t.yx * xy[2 * i] + t.yy * xy[2 * i + 1] + shift[2 * i + 1];
        ink.strokeText(text, x, y);
        ink.fillText(text, x, y);
      });
      ink.textBaseline = "alphabetic";
    },
    raster(ink, shape, t) { // class numbers on a grid of rows from the lowest, -1 for none
      const [x0, y0, x1, y1] = shape.box;
      ink.imageSmoothingQuality = "high";
      ink.drawImage(painted(shape), t.ox + t.sx * x0, t.oy - t.sy * y1, t.sx * (x1 - x0), t.sy * (y1 - y0));
    },
  };

  function painted(shape) {
    if (shape.theme === theme()) return shape.image;
    const [rows, columns] = shape.size, image = new ImageData(columns, rows), tint = [];
    const hues = Object.keys(facts.palette.light).filter((name) => name.startsWith("class")).length;
    for (let c = 0; c < 20; c += 1) {
      const hex = color(`class${c % hues}`), strength = facts.strengths[Math.floor(c / hues) % facts.strengths.length];
      tint.push([1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).concat(Math.round(255 * strength)));
    }
    for (let row = 0; row < rows; row += 1) for (let column = 0; column < columns; column += 1) {
      const code = shape.codes[row * columns + column];
      if (code >= 0) image.data.set(tint[code % 20], 4 * ((rows - 1 - row) * columns + column));
    }
    shape.image = Object.assign(document.createElement("canvas"), {width: columns, height: rows});
    shape.image.getContext("2d").putImageData(image, 0, 0);
    shape.theme = theme();
    return shape.image;
  }

  async function copy(text, done, failed) {
    try { await navigator.clipboard.writeText(text); say([done]); } catch { say([failed]); }
  }

  const idle = () => document.body.dataset.ready === "yes" && !ahead();
  connect();
  return {
    one, all, element, write, facts, send, listeners, ahead, say, Picture, color, short, theme, themed, stored, store, copy, keepAddress, travel, tour, pictures,
    idle, settled: () => idle() && timer === null, query: () => query, whileBusy: (test) => { busy = test; }, afterRestart: (told) => { again = told; },
  };
})();
window.explorer = explorer;
