// The wall, put together: what one part tells another passes through here.

import { Address } from "./address.js";
import { Announcer } from "./announcer.js";
import { Attention } from "./attention.js";
import { Banner } from "./banner.js";
import { Bar } from "./bar.js";
import { Chime } from "./chime.js";
import { startClock } from "./clock.js";
import { Connection } from "./connection.js";
import { Detail } from "./detail.js";
import { healthOf, summaryOf } from "./health.js";
import { Helping } from "./helping.js";
import { listenToKeys } from "./keys.js";
import { Overview } from "./overview.js";
import { Panel } from "./panel.js";
import { ackMessage } from "./protocol.js";
import { toggleFullScreen, WakeLock } from "./screen.js";
import { Streams } from "./streams.js";
import { Tour } from "./tour.js";
import { Wall } from "./wall.js";
import { Watch } from "./watch.js";

/** Ages run on between two messages. */
const TICK_MS = 500;
const TOUR_S = 10;
const WALL_FPS = 10;

const at = (id) => document.getElementById(id);
const sections = { wall: at("wall"), stream: at("detail"), overview: at("overview") };

const address = new Address();
const connection = new Connection("/ws/wall");
const streams = new Streams();
const wall = new Wall(sections.wall, connection);
const detail = new Detail(sections.stream, connection);
const overview = new Overview(sections.overview, streams);
const watch = new Watch(connection);
const banner = new Banner(at("banner"));
const attention = new Attention();
const announcer = new Announcer(at("announcer"));
const chime = new Chime();
const panel = new Panel();
const helping = new Helping();
const tour = new Tour();
const awake = new WakeLock();

const server = { fps: WALL_FPS, groups: {}, role: "viewer", version: null, isKnown: false };
let tour_s = address.place.tour ?? TOUR_S;

// ---- What is shown ---------------------------------------------------------------------------

/** The streams of the group in the address, those to look at first where that is wished. */
function shownStreams() {
  const { group, front } = address.place;
  const all = streams.all();
  const members = group ? (server.groups[group] ?? []) : null;
  const shown = members ? members.map((id) => streams.get(id)).filter(Boolean) : all;
  return front && attention.isOn ? attention.sorted(shown) : shown;
}

function emptyText() {
  const { group } = address.place;
  if (!server.isKnown || streams.isLoading === null) return "Connecting to the server …";
  if (streams.isLoading) return "The models are being loaded …";
  if (group && !server.groups[group]) return `There is no group “${group}”.`;
  return "There is no camera here.";
}

function render() {
  const { place } = address;
  for (const [view, section] of Object.entries(sections)) section.hidden = view !== place.view;
  attention.classes = place.attention;
  tour.seconds = place.tour;
  if (place.view === "wall") {
    wall.show(shownStreams(), { ...place, emptyText: emptyText() });
  } else {
    wall.rest();
  }
  if (place.view === "stream") detail.open(place.stream);
  else detail.close();
  panel.update(place);
  tick();
  watch.renew();
}

/** Bring what runs on by itself up to date. */
function tick() {
  const { place } = address;
  const isLinked = connection.isOpen;
  const rows = streams.all().map((stream) => {
    const health = healthOf(stream, streams.age_s(stream.id), isLinked);
    announcer.take(stream, health);
    return { stream, health };
  });
  bar.update(Object.keys(server.groups), place, {
    page: wall.page,
    pages: wall.pages,
    isCut: wall.isCut,
    summary: summaryOf(rows.map(({ health }) => health)),
  });
  for (const tile of wall.tiles()) {
    const stream = streams.get(tile.id);
    if (stream) tile.update(stream, isLinked);
    tile.root.classList.toggle("is-marked", attention.isFresh(tile.id));
  }
  if (place.view === "stream") {
    const isKnown = streams.isLoading === false;
    detail.update(streams.get(place.stream), isLinked, server.role === "operator", isKnown);
  }
  if (place.view === "overview") overview.update(place.sort, rows);
}

let viewBefore = null;

address.onChange = (place) => {
  render();
  if (place.view !== viewBefore) {
    overview.isShown = place.view === "overview";
    if (place.view === "stream") detail.focus();
    if (place.view === "wall") wall.ask();
    viewBefore = place.view;
  }
};

// ---- Where one goes --------------------------------------------------------------------------

function toSpotlight(id) {
  address.go({ spotlight: id === address.place.spotlight ? null : id });
  tour.delay();
  wall.focus(id);
}

function toDetail(id) {
  if (id) address.go({ view: "stream", stream: id }, { isStep: true });
}

function toWall() {
  const { stream } = address.place;
  address.go({ view: "wall", stream: null });
  if (stream) wall.focus(stream);
}

function toPage(step) {
  const page = (wall.page + step + wall.pages) % wall.pages;
  address.go({ page });
  tour.delay();
}

function toOverview() {
  if (address.place.view === "overview") toWall();
  else address.go({ view: "overview" }, { isStep: true });
}

function toNeighbour(dx, dy) {
  const { view, spotlight, stream } = address.place;
  if (view === "stream") {
    const next = wall.following(stream, dx + dy);
    if (next) address.go({ stream: next });
  } else if (view === "wall" && spotlight) {
    const next = wall.following(spotlight, dx + dy);
    address.go({ spotlight: next });
    tour.delay();
    wall.focus(next);
  } else if (view === "wall") {
    const next = wall.neighbour(wall.focused, dx, dy);
    if (next) wall.focus(next);
  }
}

/** One step back, whatever is in front. */
function goBack() {
  const { view, spotlight, tour: isTouring } = address.place;
  if (panel.isOpen) togglePanel();
  else if (detail.stopReplay()) return;
  else if (view !== "wall") toWall();
  else if (isTouring) address.go({ tour: null, spotlight: null });
  else if (spotlight) toSpotlight(spotlight);
}

function toggleTour() {
  const isOn = address.place.tour !== null;
  address.go({ view: "wall", tour: isOn ? null : tour_s, ...(isOn ? { spotlight: null } : {}) });
  if (!isOn) step();
}

/** The tour's next: another page, or where there is but one, another camera that is up. */
function step() {
  if (address.place.view !== "wall" || document.visibilityState === "hidden") return;
  if (wall.pages > 1 && !address.place.spotlight) {
    address.go({ page: (wall.page + 1) % wall.pages });
    return;
  }
  const shown = shownStreams();
  let next = address.place.spotlight;
  for (let tried = 0; tried < shown.length; tried += 1) {
    next = wall.following(next, 1);
    if (streams.get(next)?.up) break;
  }
  if (next) address.go({ spotlight: next });
}

function toggleAttention() {
  const isOn = address.place.attention !== null;
  address.go({ attention: isOn ? null : panel.chosen });
}

function togglePanel() {
  panel.isOpen = !panel.isOpen;
  bar.isPanelOpen = panel.isOpen;
  if (!panel.isOpen) at("attention").focus();
}

const bar = new Bar({
  toGroup: (group) => address.go({ view: "wall", group, spotlight: null, page: 0 }, { isStep: true }),
  toPage,
  toOverview,
  toggleTour,
  togglePanel,
  fullScreen: toggleFullScreen,
  help: () => helping.open(tour_s),
});

listenToKeys({
  digit: (number) => {
    const tile = wall.tiles()[number - 1];
    if (tile && address.place.view === "wall") toSpotlight(tile.id);
  },
  ArrowLeft: () => toNeighbour(-1, 0),
  ArrowRight: () => toNeighbour(1, 0),
  ArrowUp: () => toNeighbour(0, -1),
  ArrowDown: () => toNeighbour(0, 1),
  PageUp: () => toPage(-1),
  PageDown: () => toPage(1),
  Escape: goBack,
  d: () => toDetail(wall.focused ?? address.place.spotlight ?? wall.tiles()[0]?.id),
  f: toggleFullScreen,
  t: toggleTour,
  a: toggleAttention,
  o: toOverview,
  "?": () => helping.open(tour_s),
});

wall.onChoose = toSpotlight;
wall.onMore = toDetail;
detail.onBack = toWall;
overview.onMore = toDetail;
overview.onSort = (sort) => address.go({ sort });
tour.onStep = step;
panel.onChoice = ({ classes, front }) => address.go({ attention: classes, front });
panel.onChime = (isOn) => {
  chime.isOn = isOn;
};
attention.onNews = () => chime.play();
helping.onTourSeconds = (seconds) => {
  tour_s = seconds;
  if (address.place.tour !== null) address.go({ tour: seconds });
};
awake.onChange = (text) => {
  helping.awake = text;
};

// ---- What is sent and what comes -------------------------------------------------------------

const acknowledge = (stream, seq) => connection.send(ackMessage(stream, seq));
wall.onDrawn = acknowledge;
detail.onDrawn = acknowledge;
wall.onLayout = () => {
  tick();
  watch.renew();
};
detail.onLayout = () => watch.renew();
watch.wanted = () => {
  const { view } = address.place;
  if (view === "stream") return detail.wanted();
  return view === "wall" ? wall.wanted(server.fps) : {};
};

streams.onChange = (isNewList) => {
  for (const stream of streams.all()) {
    if (stream.up) attention.take(stream.id, stream.counts);
    panel.offer(Object.keys(stream.counts ?? {}));
  }
  if (isNewList || address.place.front) render();
  else tick();
};

const takers = {
  hello: (message) => {
    // Another version of the server has other modules than this page was made of.
    if (server.version !== null && server.version !== message.version) location.reload();
    Object.assign(server, message, { isKnown: true });
    helping.version = `vidpipe ${message.version}, seen as ${message.role}`;
    render();
  },
  streams: (message) => streams.take(message),
  layout: (message) => wall.take(message),
  history: (message) => detail.takeHistory(message),
  replay: (message) => detail.takeReplay(message),
};

connection.onMessage = (message) => takers[message.type]?.(message);

connection.onPicture = (picture) => {
  const { stream, seq, counts, replay } = picture.header;
  if (!replay) {
    attention.take(stream, counts);
    panel.offer(Object.keys(counts ?? {}));
  }
  const { view } = address.place;
  const isSeen = document.visibilityState !== "hidden";
  if (isSeen && view === "stream" && detail.id === stream) detail.takePicture(picture);
  else if (isSeen && view === "wall" && wall.get(stream)) wall.get(stream).show(picture);
  else if (!replay) acknowledge(stream, seq); // it was on its way when its tile went
};

connection.onState = (state) => {
  banner.take(state);
  if (state.isOpen) {
    watch.restart();
    wall.ask();
  } else {
    detail.cutReplay();
  }
  tick();
};

connection.onRefused = () => {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
};

async function learnWhoThisIs() {
  try {
    const answer = await fetch("/api/me", { cache: "no-store" });
    if (answer.ok) helping.mayLeave = (await answer.json()).login;
  } catch {
    // the connection says the same, and comes back by itself
  }
}

// A hidden page is sent nothing: what it showed last is the past when it comes back.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  wall.rest();
  detail.tile?.forget();
});

startClock(at("clock"));
awake.start();
address.onChange(address.place);
connection.start();
learnWhoThisIs();
setInterval(tick, TICK_MS);
