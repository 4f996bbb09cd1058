// Lessons on the plane: worksheets and the tour.
"use strict";

(() => {
  const {one, all, element, facts, send, listeners, say, stored, store, copy, keepAddress, tour, views, plane} = explorer;
  const {stop, play} = plane;

  // -- worksheets

  let sheet = null, opened = "", at_step = 0; // what is open, under which name, and its step
  one("#sheets").append(...Object.entries(facts.sheets).map(([name, title]) => new Option(title, name)));
  one("#sheets").addEventListener("change", (event) => event.target.value && open(event.target.value));

  function open(name) {
    hideTour();
    opened = name;
    send({do: "sheet", name});
  }

  listeners.push((news) => {
    if (news.sheet) {
      sheet = news.sheet;
      plane.showWhole();
      showSheetStep(0);
    }
    if (news.verdict) showVerdict(news.verdict);
  });

  function showSheetStep(index) {
    at_step = index;
    const {title, question, hint, choices, checks} = sheet.steps[index], many = sheet.steps.length > 1;
    one("#sheet").hidden = false;
    one("#hint").hidden = true;
    one("#sheets").value = opened in facts.sheets ? opened : "";
    one("#sheet-title").textContent = `${sheet.title}${many ? ` (${index + 1} of ${sheet.steps.length})` : ""}${title ? `: ${title}` : ""}`;
    one("#sheet-question").textContent = question;
    one("#sheet-hint").textContent = hint;
    one("#sheet-help").hidden = !hint;
    one("#sheet-help").open = false;
    one("#sheet-next").hidden = index + 1 === sheet.steps.length && nextSheet() === undefined;
    one("#sheet-link").hidden = opened !== "" || !own || kind === "own_tree" || Boolean(facts.embedded);
    one("#sheet-check").hidden = choices.length > 0 || !checks;
    one("#verdict").textContent = "";
    one("#verdict").dataset.right = "";
    one("#sheet-choices").replaceChildren(...choices.map((text) => {
      const button = element("button", text, {type: "button"});
      button.addEventListener("click", () => send({do: "check", step: at_step, answer: text}));
      return button;
    }));
    one("#sheet-title").focus({preventScroll: true});
    one("#sheet").scrollIntoView({block: "nearest"});
  }

  const names = Object.keys(facts.sheets);
  const nextSheet = () => names[names.indexOf(opened) + 1 || names.length];

  function showVerdict([right, text]) {
    one("#verdict").textContent = text;
    one("#verdict").dataset.right = right ? "yes" : "no";
  }

  function closeSheet() {
    sheet = null;
    one("#sheet").hidden = true;
    one("#sheets").value = "";
  }

  one("#sheet-check").addEventListener("click", () => send({do: "check", step: at_step, answer: ""}));
  one("#sheet-again").addEventListener("click", () => opened ? open(opened) : send({do: kind, content: own}));
  one("#sheet-next").addEventListener("click", () => at_step + 1 < sheet.steps.length ? showSheetStep(at_step + 1) : open(nextSheet()));
  one("#sheet-close").addEventListener("click", closeSheet);

  let kind = "own_sheet"; // of what was dropped
  let own = ""; // the text of a worksheet that was dropped, or came with the address

  // a link that holds a whole worksheet, after #, which no server is sent
  const packed = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const unpacked = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0)));
  one("#sheet-link").addEventListener("click", () => copy(`${location.origin}/#worksheet=${packed(own)}`, "The link is copied; it holds the worksheet.", "The link could not be copied."));
  function openFromAddress() {
    const found = /^#worksheet=([\w-]+)$/.exec(location.hash);
    if (!found) return;
    try { own = unpacked(found[1]); } catch { return say(["The worksheet in the address is not whole; copy the link again."]); }
    opened = "";
    hideTour();
    kind = "own_sheet";
    send({do: kind, content: own});
  }
  addEventListener("hashchange", openFromAddress);

  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    const tree = /\.(nwk|newick|tree|tre)$/i.test(file.name);
    if (!tree && !file.name.endsWith(".md")) return say(["A worksheet is a Markdown file, .md, and a tree a Newick file, .nwk. Tables go to the page Learn."]);
    own = await file.text();
    kind = tree ? "own_tree" : "own_sheet";
    opened = "";
    send({do: kind, content: own});
  });

  // -- the tour

  let at = null, scene = false; // the step that is shown, and whether its scene is the one after

  function showStep(index) {
    tellStep(index);
    showScene(false);
    one("#tour-title").focus({preventScroll: true});
    one("#tour").scrollIntoView({block: "nearest"});
  }

  function tellStep(index) {
    at = index;
    plane.showWhole();
    stop();
    closeSheet();
    const tour = facts.tour[index];
    one("#tour").hidden = false;
    one("#hint").hidden = true;
    store("tour", "seen");
    one("#tour-title").textContent = tour.title;
    one("#tour-text").textContent = tour.text;
    one("#tour-formula").textContent = tour.formula;
    one("#tour-count").textContent = `${index + 1} of ${facts.tour.length}`;
    one("#tour-back").disabled = index === 0;
    one("#tour-next").textContent = index + 1 < facts.tour.length ? "Next" : "Finish";
    one("#tour-before").hidden = one("#tour-after").hidden = !tour.after;
    one("#tour-play").hidden = !tour.play;
    one("#tour-paper").textContent = `Paper, section ${tour.section}`;
    one("#tour-paper").href = `https://arxiv.org/pdf/1609.07082#${tour.anchor}`;
    one("#tour-reference").textContent = `Reference: ${tour.reference}`;
    one("#tour-reference").href = `/reference/${tour.reference}`;
  }

  function tellScene(after) {
    scene = after;
    one("#tour-before").setAttribute("aria-pressed", String(!after));
    one("#tour-after").setAttribute("aria-pressed", String(after));
  }

  function showScene(after) {
    tellScene(after);
    send({do: "load", query: facts.tour[at].scene + (after ? `&${facts.tour[at].after}` : "")});
  }

  function hideTour() {
    at = null;
    one("#tour").hidden = true;
    stop();
  }

  function closeTour() {
    hideTour();
    views[0].host.focus();
    keepAddress();
  }

  tour.step = () => at === null ? null : [at, scene];
  tour.restore = (step) => {
    if (step === null) return hideTour();
    if (step[0] !== at) tellStep(step[0]);
    tellScene(step[1]);
  };
  tour.restore(history.state?.step ?? null);

  one("#start-tour").addEventListener("click", () => showStep(0));
  one("#hint-tour").addEventListener("click", () => showStep(0));
  one("#hint-close").addEventListener("click", () => { one("#hint").hidden = true; store("tour", "seen"); });
  one("#tour-back").addEventListener("click", () => showStep(at - 1));
  one("#tour-next").addEventListener("click", () => at + 1 < facts.tour.length ? showStep(at + 1) : closeTour());
  one("#tour-close").addEventListener("click", closeTour);
  one("#tour-before").addEventListener("click", () => showScene(false));
  one("#tour-after").addEventListener("click", () => showScene(true));
  one("#tour-play").addEventListener("click", () => plane.playing ? stop() : play());
  one("#tour").addEventListener("keydown", (event) => { if (event.key === "Escape") closeTour(); });
  one("#hint").hidden = stored("tour") !== null;
  const asked = new URLSearchParams(location.search).get("sheet");
  if (asked) open(asked);
  else openFromAddress();
})();
