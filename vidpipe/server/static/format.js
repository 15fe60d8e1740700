// Numbers, units and times as the viewer writes them.

const seconds = new Intl.NumberFormat(undefined, {
  style: "unit", unit: "second", unitDisplay: "short", maximumFractionDigits: 1, minimumFractionDigits: 1,
});
const wholeSeconds = new Intl.NumberFormat(undefined, {
  style: "unit", unit: "second", unitDisplay: "short", maximumFractionDigits: 0,
});
const minutes = new Intl.NumberFormat(undefined, { style: "unit", unit: "minute", unitDisplay: "short" });
const hours = new Intl.NumberFormat(undefined, { style: "unit", unit: "hour", unitDisplay: "short" });
const milliseconds = new Intl.NumberFormat(undefined, {
  style: "unit", unit: "millisecond", unitDisplay: "short", maximumFractionDigits: 0,
});
const count = new Intl.NumberFormat();
const rate = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, {
  weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit",
});

/** An age or a span, as short as is still true. */
export function spanText(span_s) {
  if (span_s < 10) return seconds.format(Math.max(span_s, 0));
  if (span_s < 120) return wholeSeconds.format(span_s);
  if (span_s < 7200) return minutes.format(Math.floor(span_s / 60));
  return hours.format(Math.floor(span_s / 3600));
}

export const agoText = (span_s) => `${spanText(span_s)} ago`;

export const millisecondsText = (value) => (value === null ? "–" : milliseconds.format(value));

export const countText = (value) => count.format(value);

export const rateText = (value) => rate.format(value);

export const shareText = (value) => share.format(value);

export const clockText = (date) => clock.format(date);

/** A moment: its time of day, and its date too where that isn't today's. */
export function momentText(date) {
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? time.format(date) : day.format(date);
}

/** How many there are of all kinds together. */
export const totalOf = (counts) => Object.values(counts).reduce((sum, number) => sum + number, 0);

/** `2 person, 1 car`, the most frequent first. */
export function countsText(counts) {
  return Object.entries(counts ?? {})
    .filter(([, number]) => number > 0)
    .sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
    .map(([label, number]) => `${count.format(number)} ${label}`)
    .join(", ");
}

export const sizeText = (size) => (size ? `${size.width}×${size.height}` : "");
